"""The engine of one process: nudges are calls, threads are driven by tasks of this loop.

After a crash nothing is here: the first sweep finds all.
"""

from __future__ import annotations

import asyncio
from functools import partial

from bullpen.ending import end
from bullpen.engine.nudges import Nudge
from bullpen.engine.worker import Worker
from bullpen.storage import Transaction


class EmbeddedEngine(Worker):
    _sweeper: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.open and self._sweeper is not None and not self._sweeper.done()

    def nudge(self, tx: Transaction, nudge: Nudge) -> None:
        tx.after_commit(partial(self._take, nudge))

    def _take(self, nudge: Nudge) -> None:
        self.offer(nudge.thread_id, nudge.epoch)

    async def start(self) -> None:
        self.open = True
        self._sweeper = asyncio.create_task(self.sweep_forever())

    async def stop(self) -> None:
        """Take nothing more, and end what is under way. Stopping twice is harmless."""
        self.open = False
        if self._sweeper is not None:
            await end(self._sweeper)
        await self.let_go()
