"""Waiting for something to become true, with a bound. Nothing in a test waits longer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

BOUND = 60.0  # seconds, on a machine that may be busy with other things
PAUSE = 0.02
SHARE = 0.05  # whoever has waited for long asks less often: every question costs a server something


async def until(ask: Callable[[], Awaitable[T]], *, seconds: float = BOUND) -> T:
    """Ask again and again until the answer is something; that answer."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not (answer := await ask()):
            await asyncio.sleep(_pause(began))
    return answer


def wait_until(ask: Callable[[], T], *, seconds: float = BOUND) -> T:
    """The same in a plain function."""
    began = time.monotonic()
    while not (answer := ask()):
        assert time.monotonic() < began + seconds, f"not true within {seconds} s"
        time.sleep(_pause(began))
    return answer


def _pause(began: float) -> float:
    return max(PAUSE, SHARE * (time.monotonic() - began))
