"""What was said in a space of a real server, and waiting for more without asking again and again."""

from __future__ import annotations

import asyncio

from bullpen.client import Bullpen
from tests.waits import BOUND


async def texts(bp: Bullpen, space: str) -> list[str]:
    return [message.text for message in (await bp.spaces(space).messages()).items]


async def until_said(bp: Bullpen, space: str, count: int) -> list[str]:
    """The texts of a space, once there are so many of them. Looks again whenever something was said anywhere."""
    async with asyncio.timeout(BOUND), bp.events() as events:
        found = await texts(bp, space)
        while len(found) < count:
            if (await anext(events)).type == "message_created":
                found = await texts(bp, space)
    return found
