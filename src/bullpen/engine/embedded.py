"""The engine of one process: nudges are calls, threads are driven by tasks of this loop.

After a crash nothing is here: the first sweep finds all.
"""

from __future__ import annotations

import asyncio

from bullpen.ending import end
from bullpen.engine.worker import Worker
from bullpen.settings import EngineSettings
from bullpen.storage import Store, Transaction


class EmbeddedEngine(Worker):
    def __init__(self, store: Store, settings: EngineSettings, owner: str) -> None:
        super().__init__(store, settings, owner)
        self._sweeper: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.open and self._sweeper is not None and not self._sweeper.done()

    async def nudge(self, tx: Transaction, thread_id: str, epoch: int) -> None:
        tx.after_commit(lambda: self._take(thread_id, epoch))

    def _take(self, thread_id: str, epoch: int) -> None:
        self.offer(thread_id, epoch)

    async def remind(self, tx: Transaction, thread_id: str, due_at: int) -> None:
        tx.after_commit(lambda: self.sweep_at(due_at))

    async def start(self) -> None:
        self.open = True
        self._sweeper = asyncio.create_task(self.sweep_forever(self.nudge))

    async def stop(self) -> None:
        """Take nothing more, and end what is under way. Stopping twice is harmless."""
        self.open = False
        if self._sweeper is not None:
            await end(self._sweeper)
        await self.let_go()
