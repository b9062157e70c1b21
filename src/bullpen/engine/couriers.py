"""Couriers: one task for each receiver that something is due for, at most so many at once.

They look when somebody says that there is something new, and with every sweep of the engine; in between there is
nothing of them in memory. A receiver that is slow keeps nobody else waiting. What is due, and how it is brought, is
given by webhooks/sender.py and bridges/sender.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Final

from bullpen.ending import end
from bullpen.engine.worker import survive
from bullpen.storage import Store

GRACE_SECONDS: Final = 3.0


class Couriers:
    """`find_due` names the receivers, `bring` does everything for one of them. Neither is called before `start`."""

    def __init__(
        self,
        store: Store,
        find_due: Callable[[], AsyncIterator[str]],
        bring: Callable[[str], Awaitable[None]],
        *,
        at_once: int,
    ) -> None:
        self._store = store
        self._find_due = find_due
        self._bring = bring
        self._at_once = at_once
        self._asked = False
        self._full = False
        self._looking: asyncio.Task[None] | None = None
        self.is_open = False
        self.working: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        self.is_open = True

    async def stop(self) -> None:
        """Begin nothing more; what is under way may end, for a moment."""
        self.is_open = False
        under_way = [*self.working.values(), *([self._looking] if self._looking is not None else [])]
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=GRACE_SECONDS)
            await end(*late)

    def hurry(self) -> None:
        """Something may be due: look for it soon."""
        self._asked = True
        if self.is_open and (self._looking is None or self._looking.done()):
            self._looking = asyncio.get_running_loop().create_task(self._look_while_asked())

    async def _look_while_asked(self) -> None:
        while self._asked and self.is_open:
            self._asked = False
            await survive(self._store, self.look())

    async def look(self) -> None:
        """Begin with whatever is due. Waits for no receiver."""
        if not self.is_open:
            return
        async for receiver in self._find_due():
            if receiver in self.working:
                continue
            if len(self.working) >= self._at_once:
                self._full = True  # whoever ends will look again
                return
            task = asyncio.create_task(self._work(receiver))
            self.working[receiver] = task
            task.add_done_callback(partial(self._ended, receiver))

    async def _work(self, receiver: str) -> None:
        await survive(self._store, self._bring(receiver))

    def _ended(self, receiver: str, task: asyncio.Task[None]) -> None:
        del self.working[receiver]
        if self._full:
            self._full = False
            self.hurry()
