"""The engine of one process: nudges are calls, threads are driven by tasks of this loop.

A thread is driven by at most one task. A nudge for a thread that is being driven is kept until that drive ends, since
the drive may have put the thread to rest just before. After a crash nothing is here: the first sweep finds all.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from itertools import islice

from bullpen.ending import end
from bullpen.engine.worker import Worker
from bullpen.settings import EngineSettings
from bullpen.storage import Store, Transaction


class EmbeddedEngine(Worker):
    def __init__(self, store: Store, settings: EngineSettings, owner: str) -> None:
        super().__init__(store, settings, owner)
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._open = False

    @property
    def running(self) -> bool:
        return self._open and self._sweeper is not None and not self._sweeper.done()

    async def nudge(self, tx: Transaction, thread_id: str, epoch: int) -> None:
        tx.after_commit(lambda: self._offer(thread_id, epoch))

    async def remind(self, tx: Transaction, thread_id: str, due_at: int) -> None:
        tx.after_commit(lambda: self.sweep_at(due_at))

    async def start(self) -> None:
        self._open = True
        self._sweeper = asyncio.create_task(self.sweep_forever(self.nudge))

    async def stop(self) -> None:
        """Take nothing more, and end what is under way. Stopping twice is harmless."""
        self._open = False
        if self._sweeper is not None:
            await end(self._sweeper)
        await self.let_go(set(self._tasks))

    def _offer(self, thread_id: str, epoch: int) -> None:
        if not self._open:
            return  # whoever opens the office to drive will find the thread by its row
        if thread_id in self.driving or len(self.driving) >= self.settings.concurrent_runs:
            self._waiting[thread_id] = epoch
            return
        self.driving.add(thread_id)
        task = asyncio.create_task(self.drive_one(thread_id, epoch))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        free = self.settings.concurrent_runs - len(self.driving)
        ready = (thread_id for thread_id in self._waiting if thread_id not in self.driving)
        for thread_id in list(islice(ready, max(0, free))):
            self._offer(thread_id, self._waiting.pop(thread_id))
