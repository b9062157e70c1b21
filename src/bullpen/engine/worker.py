"""Driving threads: what both engines share.

A worker is given its `Callbacks`: `drive` does everything for one thread, `give_up` ends a run that cannot go on,
and `break_off` one that cannot even be ended.
It has at most one drive for each thread. A nudge for a thread that is being driven is kept until that drive ends, since
the drive may have put the thread to rest just before.
It sweeps: threads that are queued but that nobody drives, and idle ones with an item that is due, are nudged again.
Exceptions of a drive end here.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice

from sqlalchemy import and_, bindparam, func, literal_column, or_, select

from bullpen.engine.leases import Holdings
from bullpen.engine.nudges import DUE, NUDGED, Nudge
from bullpen.errors import Fenced
from bullpen.observe import counts, logs
from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.paused import all_paused, held_back
from bullpen.storage.statements import now_millis
from bullpen.storage.tables import inbox_items, pending_calls, runs, threads
from bullpen.storage.tables import leases as leases_table

logger = logging.getLogger("bullpen.engine")

GRACE_SECONDS = 3.0
TICK_MS = 10  # moments that are nearer to each other are one

# How long to wait before somebody else's lease may be asked for again; None: done.
Drive = Callable[[str, int], Awaitable["float | None"]]
GiveUp = Callable[[str, Exception], Awaitable[None]]
Wake = Callable[[Transaction, str], None]
Undriven = tuple[str, int, str | None]  # a thread, its epoch, and whose lease it has
Moment = tuple[str, int]  # a thread, and when it has something to do, in milliseconds

# Written out, not bound: only then is it seen to be the condition of the index on threads that are not idle.
_NOT_IDLE = and_(threads.c.state != literal_column("'idle'"), threads.c.state == literal_column("'queued'"))
_SELECT_ABANDONED = Statement(
    select(threads.c.id, threads.c.epoch, leases_table.c.owner)
    .select_from(threads.join(leases_table, leases_table.c.thread_id == threads.c.id))
    .where(
        _NOT_IDLE,
        or_(
            leases_table.c.owner.is_(None),
            leases_table.c.owner == bindparam("me"),
            leases_table.c.until < now_millis(),
        ),
        ~held_back,
    )
)
_SELECT_QUEUED = Statement(select(threads.c.id, threads.c.epoch, literal_column("NULL")).where(_NOT_IDLE, ~held_back))
_SELECT_DUE = Statement(
    select(threads.c.id, func.min(inbox_items.c.due_at))
    .select_from(inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id))
    .where(
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at <= bindparam("soon"),
        threads.c.state == "idle",
        # While all are paused nobody is late: whoever waits for a turn still has it when they go on.
        ~all_paused,
    )
    .group_by(threads.c.id)
)
# Threads whose run waits, and until when; and those that wait for what is there by now, since a nudge was lost. Two
# questions, each with an index of its own: one for both would look at every call there ever was.
_OF_CALLS = pending_calls.join(threads, threads.c.id == pending_calls.c.thread_id)
_SELECT_WAITED = Statement(
    select(threads.c.id, pending_calls.c.deadline_at)
    .select_from(_OF_CALLS)
    .where(
        pending_calls.c.status == literal_column("'waiting'"),
        pending_calls.c.deadline_at <= bindparam("soon"),
        threads.c.state == "waiting",
    )
)
_SELECT_ANSWERED = Statement(
    select(threads.c.id, literal_column("0"))
    .distinct()
    .select_from(_OF_CALLS)
    .where(
        pending_calls.c.status == literal_column("'resolved'"),
        pending_calls.c.delivered_via.is_(None),
        threads.c.state == literal_column("'waiting'"),
    )
)


# Threads whose run leaves its provider alone, and until when.
_SELECT_AWAY = Statement(
    select(threads.c.id, runs.c.retry_at)
    .select_from(runs.join(threads, threads.c.id == runs.c.thread_id))
    .where(runs.c.retry_at <= bindparam("soon"), threads.c.state == "waiting")
)


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What an engine calls and does not import: `app.py` gives it."""

    drive: Drive
    give_up: GiveUp
    break_off: GiveUp
    wake: Wake
    go_on: Wake
    hurry: Callable[[], None]
    tidy: Callable[[], Awaitable[None]]
    look: Callable[[], Awaitable[None]]  # whether something that is driven here is to end


class Worker(abc.ABC):
    def __init__(
        self, store: Store, settings: EngineSettings, owner: str, holdings: Holdings, callbacks: Callbacks
    ) -> None:
        self.store = store
        self.settings = settings
        self.owner = owner
        self.holdings = holdings
        self.callbacks = callbacks
        store.listen(NUDGED, self.nudge)
        store.listen_after(DUE, self.sweep_at)
        self.open = False  # may a drive begin?
        self.room = settings.concurrent_runs  # drives at the same time
        self.drives: dict[str, asyncio.Task[None]] = {}
        self._waiting: OrderedDict[str, int] = OrderedDict()  # epochs of threads that are to be driven, or once more
        self._endings: dict[str, asyncio.Future[None]] = {}
        self._sweep_now = asyncio.Event()
        self._moments: set[int] = set()  # at which there will be a sweep besides the regular ones

    @property
    @abc.abstractmethod
    def running(self) -> bool:
        """Is it doing its work? False before it has started, after it has stopped, and when it has died."""

    @abc.abstractmethod
    def nudge(self, tx: Transaction, nudge: Nudge) -> None:
        """Have the thread driven by somebody, if and when `tx` commits."""

    @abc.abstractmethod
    async def start(self) -> None: ...

    @abc.abstractmethod
    async def stop(self) -> None:
        """Take nothing more, and end what is under way. Stopping twice is harmless."""

    @property
    def lease_millis(self) -> int:
        return int(self.settings.lease_seconds * 1000)

    @property
    def driving(self) -> set[str]:
        """Threads that are driven here: whose lease is in our hands."""
        return self.holdings.thread_ids

    # ── one drive for each thread ────────────────────────────────────────────────────────────────

    def offer(self, thread_id: str, epoch: int) -> asyncio.Future[None]:
        """Drive a thread; later, if that is being done or if there is no room.

        The future is done when there is nothing left to be done for it here.
        """
        ending = self._endings.setdefault(thread_id, asyncio.get_running_loop().create_future())
        if not self.open:
            self._settle(thread_id)  # whoever opens the office to drive will find the thread by its row
        elif thread_id in self.drives or len(self.drives) >= self.room:
            self._waiting[thread_id] = max(epoch, self._waiting.get(thread_id, epoch))
        else:
            self._begin(thread_id, epoch)
        return ending

    def _begin(self, thread_id: str, epoch: int) -> None:
        drive = self.drives[thread_id] = asyncio.create_task(self._drive_one(thread_id, epoch))
        drive.add_done_callback(partial(self._ended, thread_id))

    def _ended(self, thread_id: str, drive: asyncio.Task[None]) -> None:
        del self.drives[thread_id]
        self._settle(thread_id)
        free = max(0, self.room - len(self.drives)) if self.open else 0
        ready = (waiting for waiting in self._waiting if waiting not in self.drives)
        for next_id in list(islice(ready, free)):
            self._begin(next_id, self._waiting.pop(next_id))

    def _settle(self, thread_id: str) -> None:
        if thread_id not in self.drives and thread_id not in self._waiting:
            ending = self._endings.pop(thread_id, None)
            if ending is not None and not ending.done():
                ending.set_result(None)

    async def _drive_one(self, thread_id: str, epoch: int) -> None:
        """Drive a thread until it rests. Never raises: what goes wrong is told to the run, or left to the sweep."""
        with logs.alone_about(thread_id=thread_id):
            await self._drive_patiently(thread_id, epoch)

    async def _drive_patiently(self, thread_id: str, epoch: int) -> None:
        try:
            # Another process may hold the lease; only time ends that.
            while (wait := await self.callbacks.drive(thread_id, epoch)) is not None:  # noqa: ASYNC110
                await asyncio.sleep(wait)
        except Fenced as error:
            counts.FENCED.add()
            logger.info("%s", error)
        except Exception as error:
            if isinstance(error, self.store.connection_errors):
                self.store.notice(error)  # the sweep will bring the thread back
            else:
                logger.exception("a thread cannot go on")
                if not await self.survive(self.callbacks.give_up(thread_id, error)):
                    await self.survive(self.callbacks.break_off(thread_id, error))

    async def let_go(self) -> None:
        """Take nothing more, and end drives where they stand, each at a commit: a run goes on from there.

        Those who wait for a model stop at once. A tool that is under way may end, for a moment: nobody would ever
        know what became of an effect that was cut off. One that does not let itself be ended is left behind.
        """
        self.open = False
        waiting = list(self._waiting)
        self._waiting.clear()
        for thread_id in waiting:
            self._settle(thread_id)
        self.callbacks.hurry()
        drives = set(self.drives.values())
        if drives:
            _, late = await asyncio.wait(drives, timeout=GRACE_SECONDS)
            for drive in late:
                drive.cancel()
            if late:
                await asyncio.wait(late, timeout=1)

    # ── the sweep ────────────────────────────────────────────────────────────────────────────

    async def sweep_forever(self) -> None:
        while True:
            await self.survive(self.sweep())
            await self.survive(self.callbacks.tidy())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.lease_seconds / 2):
                    await self._sweep_now.wait()
            self._sweep_now.clear()

    async def sweep(self) -> None:
        """Nudge whatever has been forgotten. Looks first: an office at rest writes nothing."""
        now = self.store.clock.millis()
        found, due, waited = await self.store.read(partial(self._forgotten, soon=now + self.lease_millis))
        for thread_id, epoch, owner in found:
            if owner == self.owner:  # nobody here drives it: it needs no nudge, nor time to run out
                self.offer(thread_id, epoch)
        abandoned = [(thread_id, epoch) for thread_id, epoch, owner in found if owner != self.owner]
        for _, moment in (*due, *waited):
            if moment > now:
                self.sweep_at(moment)

        async def body(tx: Transaction) -> None:
            for thread_id, epoch in abandoned:
                self.nudge(tx, Nudge(thread_id, epoch))
            for thread_id in late_items:
                self.callbacks.wake(tx, thread_id)
            for thread_id in late_answers:
                self.callbacks.go_on(tx, thread_id)

        late_items = [thread_id for thread_id, moment in due if moment <= now]
        late_answers = [thread_id for thread_id, moment in waited if moment <= now]
        if abandoned or late_items or late_answers:
            await self.store.transact(body)

    async def _forgotten(self, tx: Transaction, soon: int) -> tuple[list[Undriven], list[Moment], list[Moment]]:
        """Threads that nobody drives; those with an item, and those with a deadline, that is due until then."""
        due, waited = await tx.all(_SELECT_DUE, soon=soon), await tx.all(_SELECT_WAITED, soon=soon)
        waited = [*waited, *await tx.all(_SELECT_ANSWERED), *await tx.all(_SELECT_AWAY, soon=soon)]
        return await self._abandoned(tx), [(id, at) for id, at in due], [(id, at) for id, at in waited]

    async def _abandoned(self, tx: Transaction) -> list[Undriven]:
        found = await (tx.all(_SELECT_ABANDONED, me=self.owner) if tx.store.shared else tx.all(_SELECT_QUEUED))
        return [(id, epoch, owner) for id, epoch, owner in found if id not in self.drives]

    def sweep_at(self, due_at: int) -> None:
        """Look for what is due then, besides the regular sweeps.

        Each sweep looks ahead further than the next one, so what is due later than that needs no timer here, however
        many wait; nor is it missed if whoever asked for this has died.
        """
        now = self.store.clock.millis()
        moment = -(-due_at // TICK_MS) * TICK_MS
        if due_at <= now:
            self._sweep_now.set()
        elif due_at <= now + self.lease_millis and moment not in self._moments:
            self._moments.add(moment)
            asyncio.get_running_loop().call_later((moment - now) / 1000, self._moment_came, moment)

    def _moment_came(self, moment: int) -> None:
        self._moments.discard(moment)
        self._sweep_now.set()

    async def survive(self, work: Awaitable[None]) -> bool:
        return await survive(self.store, work)


async def survive(store: Store, work: Awaitable[None]) -> bool:
    """Whatever goes wrong in a round, there is a next one: without it, what is forgotten stays forgotten.

    True if nothing did.
    """
    try:
        await work
        return True
    except Exception as error:
        if isinstance(error, store.connection_errors):
            store.notice(error)
        else:
            logger.exception("a round of the engine failed; trying again")
    return False
