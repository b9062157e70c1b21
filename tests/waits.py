"""Waiting for something to become true, with a bound. Nothing in a test waits longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

BOUND = 60.0  # seconds, on a machine that may be busy with other things
PAUSE = 0.02


async def until(ask: Callable[[], Awaitable[T]], *, seconds: float = BOUND) -> T:
    """Ask again and again until the answer is something; that answer."""
    async with asyncio.timeout(seconds):
        while not (answer := await ask()):
            await asyncio.sleep(PAUSE)
    return answer


def wait_until(ask: Callable[[], T], *, seconds: float = BOUND) -> T:
    """The same in a plain function."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not true within {seconds} s"
        time.sleep(PAUSE)
    return answer
