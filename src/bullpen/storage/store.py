"""The store: what both databases promise.

`transact(body)` runs `body(tx)` and commits; when it returns, the change is durable. A body may run more than once
(a deadlock, a serialisation failure, a unique key taken meanwhile), so it must build what it returns anew each time
and touch nothing but its transaction. A body never waits for anything but its own statements. A caller that is
cancelled while its change is being committed takes nothing back: the commit and its `after_commit` happen all the same.

Lock order, in every transaction: lease row → space counters (by id) → thread states (by id). Bodies keep it without
thinking: they only `defer` numbering and waking, and the store does both last, sorted, just before it commits.
"""

from __future__ import annotations

import abc
import asyncio
import heapq
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from time import monotonic, perf_counter
from typing import Any, Protocol, TypeAlias, TypeVar

from bullpen.clock import Clock
from bullpen.errors import Broken, BullpenError, DiskFull, Unavailable
from bullpen.observe import counts
from bullpen.storage.outage import Outage
from bullpen.storage.statements import Statement
from bullpen.storage.topics import Topic

logger = logging.getLogger("bullpen.storage")

# Somebody waits: after so long the answer is that it cannot be done just now, however few the attempts.
PATIENCE_SECONDS = 5.0

T = TypeVar("T")
Row: TypeAlias = Sequence[Any]
Body: TypeAlias = Callable[["Transaction"], Awaitable[T]]
Deferred: TypeAlias = Body[None]
Place: TypeAlias = tuple["Stage", str]
Listener: TypeAlias = Callable[["Transaction", Any], None]


class Stage(IntEnum):
    """When deferred work runs. The order is the lock order; events come when everything has its number."""

    SPACES = 1
    THREADS = 2
    EVENTS = 3
    AUDIT = 4  # its head is one row that all who write here wait for: the last lock taken


class RetryTransaction(Unavailable):
    """The database asks for the transaction to be run again. Leaves this package only when that has not helped.

    `instead` is what the caller then gets in its place, `attempts` how often to try. `lost`: the database is not there.
    """

    code = "busy"

    def __init__(
        self, message: str, *, instead: BullpenError | None = None, attempts: int = 12, lost: bool = False
    ) -> None:
        super().__init__(message)
        self.instead = instead
        self.attempts = attempts
        self.lost = lost


class Transaction(abc.ABC):
    """One unit of change. Statements take parameters by name and give rows as tuples."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = store.clock
        self._deferred: dict[Place, list[Deferred]] = {}
        self._order: list[Place] = []  # a heap of the keys of _deferred
        self._place: Place | None = None
        self._after: list[Callable[[], None]] = []
        # What the layers above collect until the end of the transaction, each under its own name.
        self.notes: dict[str, Any] = {}

    @abc.abstractmethod
    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]: ...

    @abc.abstractmethod
    async def one(self, statement: Statement, **params: Any) -> Row | None: ...

    async def value(self, statement: Statement, **params: Any) -> Any:
        """The first column of the row that `one` gives; None: there is no row, or it holds NULL."""
        row = await self.one(statement, **params)
        return None if row is None else row[0]

    async def values(self, statement: Statement, **params: Any) -> list[Any]:
        """The first column of all rows."""
        return [row[0] for row in await self.all(statement, **params)]

    @abc.abstractmethod
    async def run(self, statement: Statement, **params: Any) -> int:
        """Run for its effect; the number of rows it touched."""

    @abc.abstractmethod
    async def many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def defer(self, stage: Stage, key: str, work: Deferred) -> None:
        """Do this at the end: by stage, then by key, then in the order asked for."""
        place = (stage, key)
        if self._place is not None and place < self._place:
            raise Broken(
                f"Work for {place} was deferred while {self._place} is being done: that breaks the lock order."
            )
        if place not in self._deferred:
            self._deferred[place] = []
            heapq.heappush(self._order, place)
        self._deferred[place].append(work)

    def after_commit(self, work: Callable[[], None]) -> None:
        """Call this soon after the change is durable, perhaps just after `transact` has returned.

        It is a hint to somebody: a crash may lose it.
        """
        self._after.append(work)

    def tell(self, topic: Topic[T], value: T) -> None:
        """Say this to whoever listens in this process. In a command that opens no office, nobody does."""
        if (listener := self.store.listeners.get(topic)) is not None:
            listener(self, value)

    async def settle(self) -> None:
        """Do what was deferred. It may defer more, at the same place or a later one."""
        while self._order:
            self._place = heapq.heappop(self._order)
            for work in self._deferred.pop(self._place):
                await work(self)

    def committed(self) -> None:
        # By way of the loop: a hint that fails must not look like a commit that failed.
        for work in self._after:
            asyncio.get_running_loop().call_soon(work)


class Transacts(Protocol):
    """Where transactions are opened: a store, or one request's way to it (api/timely.py)."""

    async def transact(self, body: Body[T]) -> T: ...

    async def read(self, body: Body[T]) -> T: ...


class Store(abc.ABC):
    """A database. `shared` says whether other processes may be using it at the same time."""

    shared: bool
    location: str  # for people: holds no password
    # What may be raised when the database goes away under somebody's hands; trying again later may help.
    connection_errors: tuple[type[Exception], ...] = (Unavailable,)
    # What the driver raises inside a body; the store explains it, or runs the body again.
    driver_errors: tuple[type[Exception], ...] = ()

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.outage = Outage()
        self.listeners: dict[Topic[Any], Listener] = {}
        # Called after every durable commit; tests kill the process here.
        self.on_commit: Callable[[int], None] = lambda number: None
        self.commits = 0
        self.full = False  # was a change refused for want of room, and none kept since?

    def listen(self, topic: Topic[T], work: Callable[[Transaction, T], None]) -> None:
        """From now on `work` is called in every transaction that tells of the topic. A topic has one listener."""
        self.listeners[topic] = work

    def listen_after(self, topic: Topic[T], work: Callable[[T], None]) -> None:
        """The same, soon after the commit. A crash may lose it."""
        self.listen(topic, lambda tx, value: tx.after_commit(partial(work, value)))

    @abc.abstractmethod
    async def open(self) -> None: ...

    @abc.abstractmethod
    async def close(self) -> None: ...

    async def shred(self) -> None:
        """Leave nothing of what was deleted in files of ours. A database server looks after its own."""
        return

    @abc.abstractmethod
    async def size(self) -> int:
        """How many bytes the database takes on its disk."""

    @abc.abstractmethod
    async def faults(self) -> list[str]:
        """What the database's own check of its files finds. Slow, and on SQLite it stops the loop: for operators."""

    @abc.abstractmethod
    async def version(self) -> tuple[int, ...]:
        """The version of the database's own program."""

    @property
    def broken(self) -> bool:
        """True: nothing can be written until this process is started again."""
        return False

    @abc.abstractmethod
    async def transact_once(self, body: Body[T]) -> T: ...

    @abc.abstractmethod
    async def read(self, body: Body[T]) -> T:
        """Run `body` on one consistent, committed view. It cannot write."""

    async def transact(self, body: Body[T]) -> T:
        """Run `body` and commit. Unavailable: nothing was changed, unless the sentence says that nobody knows."""
        began = perf_counter()
        try:
            result = await self.patiently(self.transact_once, body)
        except DiskFull:
            self.full = True
            raise
        counts.TRANSACTION_SECONDS.observe(perf_counter() - began)
        return result

    async def patiently(self, once: Callable[[Body[T]], Awaitable[T]], body: Body[T]) -> T:
        attempt = 0
        give_up = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                result = await once(body)
                self.outage.end()
                return result
            except RetryTransaction as error:
                attempt += 1
                counts.RETRIES.add()
                if attempt >= error.attempts or monotonic() > give_up:
                    if error.instead is not None:
                        raise error.instead from error
                    raise
            await asyncio.sleep(random.uniform(0, 0.005 * 2 ** min(attempt, 6)))

    def notice(self, error: Exception) -> None:
        """Somebody's work has failed with one of `connection_errors`, and will be tried again: say so in the log."""
        if isinstance(error, RetryTransaction) and not error.lost:
            logger.info("the database is busy; the next round will do it")
        else:
            self.outage.notice(error)

    def count_commit(self) -> None:
        self.commits += 1
        self.full = False
        self.on_commit(self.commits)
