"""The engine of many processes: PgQueuer carries the nudges.

A nudge is a job, enqueued on our own connection in our own transaction, so it exists if and only if the change does.
Its key is thread and epoch: the same nudge twice is one job. A killed worker's jobs are claimed again when its
heartbeat has been silent for a lease. Exclusivity is not the queue's business: the lease and its token are ours, and
are kept alive here while drives run.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any

from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bullpen.ending import end
from bullpen.engine import leases
from bullpen.engine.worker import Worker
from bullpen.settings import EngineSettings
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body

logger = logging.getLogger("bullpen.engine")

ENTRYPOINT = "drive"
# How often to look for jobs of workers that fell silent: nobody tells of those. Work resumes within a lease and this.
LOOK_SECONDS = 0.8
# When stopping: a database that does not answer must not keep us. Our leases then run out by themselves.
RELEASE_SECONDS = 2.0


class PgQueuerEngine(Worker):
    def __init__(self, store: Store, settings: EngineSettings, owner: str) -> None:
        super().__init__(store, settings, owner)
        self._tasks: list[asyncio.Task[None]] = []
        self._drives: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._queue: QueueManager | None = None

    @property
    def running(self) -> bool:
        return bool(self._tasks) and not self._stopping and not any(task.done() for task in self._tasks)

    async def nudge(self, tx: Transaction, thread_id: str, epoch: int) -> None:
        connection: Any = tx.connection  # type: ignore[attr-defined]
        key = f"{thread_id}|{epoch}"
        await Queries(AsyncpgDriver(connection)).enqueue(ENTRYPOINT, key.encode(), dedupe_key=key, on_conflict="skip")

    async def remind(self, tx: Transaction, thread_id: str, due_at: int) -> None:
        tx.after_commit(lambda: self.sweep_at(due_at))

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._serve_forever()),
            asyncio.create_task(self.renew_forever()),
            asyncio.create_task(self.sweep_forever(self.nudge)),
        ]

    async def stop(self) -> None:
        """Take nothing more, and end what is under way; the queue by itself would wait for models and tools."""
        if self._stopping:
            return
        self._stopping = True
        if self._queue is not None:
            self._queue.shutdown.set()
        await self.let_go(set(self._drives))
        await end(*self._tasks)
        # Nothing of ours is driven any more, so nobody need wait until our leases have run out.
        await self.survive(self._write(partial(leases.release_all, owner=self.owner), RELEASE_SECONDS))

    async def _write(self, body: Body[None], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await self.store.transact(body)

    async def _serve_forever(self) -> None:
        """Serve jobs; whatever ends that, begin again. An office that takes no more of them looks alive and is not."""
        while True:
            if await self.survive(self._serve()):
                return
            await asyncio.sleep(0.5)

    async def _serve(self) -> None:
        # A pool of its own: heartbeats must not wait behind transactions when the store's pool is busy.
        store: Any = self.store
        pool = await store.new_pool(4)
        try:
            queue = self._queue = QueueManager(Queries(AsyncpgPoolDriver(pool)))
            queue.entrypoint(ENTRYPOINT)(self._handle)
            await queue.run(
                dequeue_timeout=timedelta(seconds=min(self.settings.lease_seconds / 2, LOOK_SECONDS)),
                batch_size=10,
                max_concurrent_tasks=max(20, self.settings.concurrent_runs),
                heartbeat_timeout=timedelta(seconds=self.settings.lease_seconds),
                log_aggregation_interval=timedelta(0),
            )
        finally:
            pool.terminate()

    async def _handle(self, job: Job) -> None:
        thread_id, _, epoch = (job.payload or b"").decode().partition("|")
        drive = asyncio.create_task(self.drive_one(thread_id, int(epoch)))
        self._drives.add(drive)
        drive.add_done_callback(self._drives.discard)
        try:
            await drive
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._stopping and task is not None and task.cancelling():
                raise

    async def renew_forever(self) -> None:
        """Keep what is driven here ours. What could not be kept for a whole lease is somebody else's by now."""
        renewed = monotonic()
        while True:
            await asyncio.sleep(self.settings.lease_seconds / 4)
            held = sorted(self.driving)
            renew = partial(leases.renew, thread_ids=held, owner=self.owner, millis=self.lease_millis)
            # Not longer than what is left of the lease: a connection that says nothing must not hide that it ran out.
            left = max(0.1, renewed + self.settings.lease_seconds - monotonic())
            if not held or await self.survive(self._write(renew, left)):
                renewed = monotonic()
                if held and self.look is not None:  # whoever cancelled has told us, but that may have got lost
                    await self.survive(self.look())
            elif monotonic() - renewed >= self.settings.lease_seconds:
                logger.warning("the database cannot be reached for a whole lease; others may drive our threads now")
                self._lose()
                renewed = monotonic()

    def _lose(self) -> None:
        """Stop every drive: its lease has run out. Nothing that it would write would be kept."""
        for drive in self._drives:
            drive.cancel()
