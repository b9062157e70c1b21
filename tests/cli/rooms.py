"""An office in another process, watched through its socket: say something, wait for calm, read what happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from bullpen.client import Bullpen, Event
from tests.waits import BOUND, until

MARK = "🏁"
Story = dict[str, list[str]]


@asynccontextmanager
async def inside(data: Path) -> AsyncIterator[Bullpen]:
    """The server of this folder, as its owner."""
    async with Bullpen("http://localhost", transport=httpx.AsyncHTTPTransport(uds=str(data / "bullpen.sock"))) as bp:
        yield bp


async def calm(bp: Bullpen) -> None:
    """Until every agent rests. An agent is `queued` from the commit that wakes it, so this cannot come too early."""

    async def idle() -> bool:
        return all(agent.state == "idle" for agent in await bp.agents.list(limit=200))

    await until(idle)


async def tell(bp: Bullpen, space: str, text: str, **more: Any) -> Story:
    """Say something and let it play out. What each space saw of it, in order."""
    story: Story = {}
    async with asyncio.timeout(BOUND), bp.events() as events:
        message = await bp.spaces(space).send(text, **more)
        await calm(bp)
        # Our own reaction comes after everything that happened until now: reading up to it is reading all of it.
        await bp.messages(message.id).react(MARK)
        async for event in events:
            if event.type == "reaction_added" and event["reaction"]["emoji"] == MARK:
                return story
            if (line := in_words(event)) is not None:
                story.setdefault(event.space_id or "", []).append(line)
    raise AssertionError("the stream ended")


def in_words(event: Event) -> str | None:
    if event.type == "message_created" and (message := event.message) is not None:
        return None if message.author_kind == "person" else f"{message.author_id}: {message.text}"
    if event.type == "reaction_added":
        return f"{event['reaction']['memberId']} {event['reaction']['emoji']}"
    if event.type == "run_finished" and (run := event.run) is not None:
        if run.outcome == "silent":
            return f"{run.agent_id} is silent"
        return None if run.status == "completed" else f"{run.agent_id} {run.status}"
    return "the chain stops" if event.type == "chain_stopped" else None
