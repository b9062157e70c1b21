"""Turns: who may use the one writer, and what it means to have the turn.

Knows nothing of databases. Whoever has the turn must give it away, whatever happens to them, and must not wait for
anything meanwhile: everybody else is waiting for them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

from bullpen.errors import Broken

T = TypeVar("T")


class Turns:
    """One at a time, first come, first served."""

    def __init__(self) -> None:
        self.taken = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def awaited(self) -> bool:
        return bool(self._waiting)

    async def take(self, refuse: Callable[[], None]) -> None:
        """Wait for the turn. `refuse` is called if it comes in the very moment in which the caller gives up."""
        if not self.taken:
            self.taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if not turn.cancel() and not turn.cancelled():
                refuse()
            raise

    def pass_on(self) -> bool:
        """Give the turn to whoever waits longest. False: nobody does, and the turn is still taken."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False


async def at_once(work: Awaitable[T]) -> T:
    """Run something that must not wait. Where it would, it gets the exception, so the traceback shows the place."""
    assert isinstance(work, Coroutine)
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    complaint = Broken("A transaction body waited for something while it held the writer's turn.")
    try:
        work.throw(complaint)
    except StopIteration:
        pass
    finally:
        work.close()
    raise complaint
