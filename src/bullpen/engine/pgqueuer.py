"""The engine of many processes: PgQueuer carries the nudges.

A nudge is a job, enqueued on our own connection in our own transaction, so it exists if and only if the change does.
Its key is thread and epoch: the same nudge twice is one job. A killed worker's jobs are claimed again when its
heartbeat has been silent for a lease. Exclusivity is not the queue's business: the lease and its token are ours, and
are kept alive here while drives run. Nor does a drive belong to its job: after the database was away the queue begins
anew, and may hand out the job of a thread that is still driven here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import Any

from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.errors import FailingListenerError
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bullpen.ending import end
from bullpen.engine import leases
from bullpen.engine.leases import Holdings
from bullpen.engine.nudges import Nudge
from bullpen.engine.worker import Callbacks, Worker
from bullpen.errors import Unavailable
from bullpen.observe import counts
from bullpen.settings import EngineSettings
from bullpen.storage import Stage, Store, Transaction
from bullpen.storage.store import Body, T

logger = logging.getLogger("bullpen.engine")

ENTRYPOINT = "drive"
# How often to look for jobs of workers that fell silent: nobody tells of those. Work resumes within a lease and this.
LOOK_SECONDS = 0.8
BATCH = 10
# When stopping: a database that does not answer must not keep us. Our leases then run out by themselves.
RELEASE_SECONDS = 2.0


class Jobs(QueueManager):
    """PgQueuer's queue, which says at once when it has failed.

    By itself it first waits until every job is done that it has begun, and takes no other meanwhile: one model that
    thinks for ten minutes would keep all other threads waiting when the database has been away for a moment.
    """

    failed: asyncio.Event

    @contextmanager
    def _watch(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self.failed.set()
            raise

    async def fetch_jobs(self, *how: Any, **more: Any) -> AsyncGenerator[Job, None]:
        with self._watch():
            async for job in super().fetch_jobs(*how, **more):
                yield job

    async def _effective_dequeue_timeout(self, dequeue_timeout: timedelta) -> timedelta:
        with self._watch():
            return await super()._effective_dequeue_timeout(dequeue_timeout)

    async def _maybe_health_shutdown(self, *how: Any, **more: Any) -> None:
        with self._watch():
            await super()._maybe_health_shutdown(*how, **more)


class PgQueuerEngine(Worker):
    def __init__(
        self, store: Store, settings: EngineSettings, owner: str, holdings: Holdings, callbacks: Callbacks
    ) -> None:
        super().__init__(store, settings, owner, holdings, callbacks)
        self.room = max(2 * BATCH, settings.concurrent_runs)  # PgQueuer wants to have two batches under way
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._queue: Jobs | None = None

    @property
    def running(self) -> bool:
        return self.open and not any(task.done() for task in self._tasks)

    def nudge(self, tx: Transaction, nudge: Nudge) -> None:
        tx.defer(Stage.THREADS, nudge.thread_id, partial(_enqueue, nudge=nudge))

    async def start(self) -> None:
        self.open = True
        self._tasks = [
            asyncio.create_task(self._serve_forever()),
            asyncio.create_task(self.renew_forever()),
            asyncio.create_task(self.sweep_forever()),
        ]

    async def stop(self) -> None:
        """Take nothing more, and end what is under way; the queue by itself would wait for models and tools."""
        if self._stopping:
            return
        self._stopping = True
        if self._queue is not None:
            self._queue.shutdown.set()
        await self.let_go()
        await end(*self._tasks)
        # Nothing of ours is driven any more, so nobody need wait until our leases have run out.
        await self.survive(self._write(partial(leases.release_all, owner=self.owner), RELEASE_SECONDS))

    async def _write(self, body: Body[T], seconds: float) -> T:
        async with asyncio.timeout(seconds):
            return await self.store.transact(body)

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
            queue = self._queue = Jobs(Queries(AsyncpgPoolDriver(pool)))
            queue.failed = asyncio.Event()
            queue.entrypoint(ENTRYPOINT)(partial(self._handle, failed=queue.failed))
            await queue.run(
                dequeue_timeout=timedelta(seconds=min(self.settings.lease_seconds / 2, LOOK_SECONDS)),
                batch_size=BATCH,
                max_concurrent_tasks=self.room,
                shutdown_on_listener_failure=True,
                heartbeat_timeout=timedelta(seconds=self.settings.lease_seconds),
                log_aggregation_interval=timedelta(0),
            )
        except FailingListenerError as error:
            raise Unavailable("The queue no longer hears of new jobs.") from error
        finally:
            pool.terminate()

    async def _handle(self, job: Job, failed: asyncio.Event) -> None:
        """See to it that the thread is driven, and keep the job until it is done, or until its queue has failed.

        A drive goes on without its job: the lease is what counts, and a queue that begins anew hands the job out again.
        """
        thread_id, _, epoch = (job.payload or b"").decode().partition("|")
        ending = self.offer(thread_id, int(epoch))
        failing = asyncio.create_task(failed.wait())
        either: set[asyncio.Future[Any]] = {ending, failing}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            failing.cancel()

    async def renew_forever(self) -> None:
        """Keep what is driven here ours. What could not be kept for a whole lease is somebody else's by now."""
        renewed = monotonic()
        while True:
            await asyncio.sleep(self.settings.lease_seconds / 4)
            held = self.holdings.tokens()
            # Not longer than what is left of the lease: a connection that says nothing must not hide that it ran out.
            left = max(0.1, renewed + self.settings.lease_seconds - monotonic())
            if not held or await self.survive(self._renew(held, left)):
                renewed = monotonic()
                if held:  # whoever cancelled has told us, but that may have got lost
                    await self.survive(self.callbacks.look())
            elif monotonic() - renewed >= self.settings.lease_seconds:
                logger.warning("the database cannot be reached for a whole lease; others may drive our threads now")
                self._lose(held)
                renewed = monotonic()

    async def _renew(self, held: dict[str, int], seconds: float) -> None:
        body = partial(leases.renew, held=held, owner=self.owner, millis=self.lease_millis)
        kept = await self._write(body, seconds)
        for thread_id in self._lose({id: token for id, token in held.items() if id not in kept}):
            counts.FENCED.add()
            logger.info("%s", leases.describe_loss(thread_id))

    def _lose(self, lost: dict[str, int]) -> list[str]:
        """Stop drives whose lease has run out or is somebody else's: nothing that they would write would be kept.

        Which these are: others have put their thread to rest meanwhile, by themselves.
        """
        stopped = [id for id, token in self.holdings.tokens().items() if lost.get(id) == token]
        for thread_id in stopped:
            self.drives[thread_id].cancel()
        return stopped


async def _enqueue(tx: Transaction, nudge: Nudge) -> None:
    connection: Any = tx.connection  # type: ignore[attr-defined]
    key = f"{nudge.thread_id}|{nudge.epoch}"
    await Queries(AsyncpgDriver(connection)).enqueue(ENTRYPOINT, key.encode(), dedupe_key=key, on_conflict="skip")
