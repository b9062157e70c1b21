"""Exclusivity: one driver per thread, and a token that outlives no takeover.

A driver claims the thread's lease and gets a fencing token; every transaction of its run checks, under the lease row's
lock, that the token is still its own. A process that slept through its lease (SIGSTOP, a long pause) finds
another token there and writes nothing. Time is the database's, which all workers share.

A process has at most one drive for each thread, and renews only what one of its drives holds (`Holdings`), by thread
and token. A lease that names a process which does not drive the thread is an orphan: a commit that was lost on its way
back, or a drive that failed. Its own process takes it over at once, the others when it has run out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Text, bindparam, delete, exists, insert, literal_column, or_, select, update

from bullpen.errors import Fenced
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.paused import held_back, is_paused
from bullpen.storage.statements import now_millis
from bullpen.storage.tables import leases, pending_calls, threads

_INSERT = Statement(insert(leases))
_LOCK = Statement(
    select(leases.c.token, leases.c.owner, leases.c.until, now_millis())
    .where(leases.c.thread_id == bindparam("thread_id"))
    .with_for_update()
)
_LOCK_TOKEN = Statement(select(leases.c.token).where(leases.c.thread_id == bindparam("thread_id")).with_for_update())
# Calls that were approved after their run had gone on: they come before whatever else there is to do.
_APPROVED = exists().where(
    pending_calls.c.thread_id == threads.c.id,
    # Written out, not bound: only then is it seen to be the condition of the index on undelivered results.
    pending_calls.c.status == literal_column("'resolved'"),
    pending_calls.c.delivered_via.is_(None),
    pending_calls.c.execution != "inline",
)
_LOCK_STATE = Statement(
    select(threads.c.state, threads.c.epoch, held_back, _APPROVED)
    .where(threads.c.id == bindparam("thread_id"))
    .with_for_update(of=threads)
)
# In the order of their ids: whoever locks several of them locks them in this one.
_LOCK_AWAKE = Statement(
    select(leases.c.thread_id, leases.c.owner, leases.c.until, now_millis())
    .select_from(leases.join(threads, threads.c.id == leases.c.thread_id))
    .where(
        # Written out, not bound: see engine/worker.py.
        threads.c.state != literal_column("'idle'"),
        or_(bindparam("agent_id", type_=Text).is_(None), threads.c.agent_id == bindparam("agent_id", type_=Text)),
        ~is_paused(threads.c.agent_id),
    )
    .order_by(leases.c.thread_id)
    .with_for_update(of=leases)
)
_TAKE = Statement(
    update(leases)
    .where(leases.c.thread_id == bindparam("id_"))
    .values(
        owner=bindparam("owner_"),
        epoch=bindparam("epoch_"),
        token=leases.c.token + 1,
        until=now_millis() + bindparam("millis", type_=leases.c.until.type),
        since=now_millis(),
    )
)
# In the order of their ids, as in _LOCK_AWAKE.
_LOCK_OWNED = Statement(
    select(leases.c.thread_id, leases.c.token)
    .where(any_of(leases.c.thread_id, "ids"), leases.c.owner == bindparam("owner"))
    .order_by(leases.c.thread_id)
    .with_for_update()
)
_RENEW = Statement(
    update(leases)
    .where(any_of(leases.c.thread_id, "ids"))
    .values(until=now_millis() + bindparam("millis", type_=leases.c.until.type))
)
_RELEASE = Statement(update(leases).where(leases.c.thread_id == bindparam("id_")).values(owner=None, until=0))
_SEIZE = Statement(
    update(leases).where(leases.c.thread_id == bindparam("id_")).values(owner=None, until=0, token=leases.c.token + 1)
)
_RELEASE_ALL = Statement(update(leases).where(leases.c.owner == bindparam("owner_")).values(owner=None, until=0))


@dataclass(slots=True)
class Lease:
    thread_id: str
    token: int
    rested: bool = False  # the last transaction put the thread to rest, or aside: this drive is over
    paused: bool = False  # the last look at the agent found it paused: no further pass begins
    approved: bool = False  # calls of it were approved after their run had gone on, and are to be carried out first


class Holdings:
    """The leases that drives of this process hold, by thread. Only these are renewed."""

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}

    @contextmanager
    def hold(self, lease: Lease) -> Iterator[None]:
        """While this lasts, somebody here drives the thread."""
        self._leases[lease.thread_id] = lease
        try:
            yield
        finally:
            del self._leases[lease.thread_id]

    @property
    def thread_ids(self) -> set[str]:
        return set(self._leases)

    def tokens(self) -> dict[str, int]:
        return {id: lease.token for id, lease in self._leases.items() if not lease.rested}


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody else drives it, for so long at most."""

    millis: int


async def insert_lease(tx: Transaction, thread_id: str) -> None:
    await tx.run(_INSERT, thread_id=thread_id, owner=None, epoch=0, token=0, until=0, since=0)


async def claim(tx: Transaction, thread_id: str, epoch: int, *, owner: str, millis: int) -> Lease | Held | None:
    """Take the thread for one drive. None: there is nothing to do, the nudge is stale or the agent is paused.

    A lease of this very owner is taken over: the one who asks is its only drive, so nobody drives with that one.
    """
    row = await tx.one(_LOCK, thread_id=thread_id)
    if row is None:
        return None
    token, holder, until, now = row
    if holder != owner and _is_held(tx, holder, until, now):
        return Held(until - now)
    thread = await tx.one(_LOCK_STATE, thread_id=thread_id)
    if thread is None:
        return None
    state, newest, put_aside, approved = thread
    if state != "queued" or newest != epoch or put_aside:
        return None
    await tx.run(_TAKE, id_=thread_id, owner_=owner, epoch_=epoch, millis=millis)
    return Lease(thread_id, token + 1, approved=bool(approved))


def _is_held(tx: Transaction, holder: str | None, until: int, now: int) -> bool:
    # One process owns a SQLite file, so a holder there is this very process in an earlier life: dead.
    return tx.store.shared and holder is not None and until > now


async def is_driven(tx: Transaction, thread_id: str) -> bool:
    """Locks the lease: it stays so until the end of the transaction."""
    row = await tx.one(_LOCK, thread_id=thread_id)
    if row is None:
        return False
    _, holder, until, now = row
    return _is_held(tx, holder, until, now)


async def lock_undriven(tx: Transaction, agent_id: str | None) -> list[str]:
    """Threads that are queued and that nobody drives, of an agent or of all who are not paused.

    Locks the leases: a driver that is about to put its thread aside has done so, or will look once more.
    """
    awake = await tx.all(_LOCK_AWAKE, agent_id=agent_id)
    return [id for id, holder, until, now in awake if not _is_held(tx, holder, until, now)]


async def check(tx: Transaction, lease: Lease) -> None:
    """First statement of every transaction of a run. Locks the lease row: see the lock order in storage/store.py."""
    lease.rested = False  # a transaction that is run again may end otherwise
    if await tx.value(_LOCK_TOKEN, thread_id=lease.thread_id) != lease.token:
        raise Fenced(describe_loss(lease.thread_id))


def describe_loss(thread_id: str) -> str:
    return f"Thread {thread_id} is driven by somebody else now; this driver stops."


async def renew(tx: Transaction, held: Mapping[str, int], *, owner: str, millis: int) -> set[str]:
    """Keep these leases, tokens by thread. Those that are still the owner's, under that very token."""
    owned = await tx.all(_LOCK_OWNED, ids=sorted(held), owner=owner)
    kept = [thread_id for thread_id, token in owned if held[thread_id] == token]
    if kept:
        await tx.run(_RENEW, ids=kept, millis=millis)
    return set(kept)


async def release(tx: Transaction, lease: Lease) -> None:
    await tx.run(_RELEASE, id_=lease.thread_id)
    lease.rested = True


async def release_all(tx: Transaction, owner: str) -> None:
    await tx.run(_RELEASE_ALL, owner_=owner)


async def seize(tx: Transaction, thread_id: str) -> Lease | None:
    """Take the thread from whoever drives it, at once: their next write is refused. None: there is no such thread."""
    token = await tx.value(_LOCK_TOKEN, thread_id=thread_id)
    if token is None:
        return None
    await tx.run(_SEIZE, id_=thread_id)
    return Lease(thread_id, token + 1)


async def select_mine(tx: Transaction, thread_id: str, owner: str) -> Lease | None:
    row = await tx.one(_LOCK, thread_id=thread_id)
    if row is None:
        return None
    token, holder, _, _ = row
    return Lease(thread_id, token) if holder == owner else None


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_RELEASE_EVERY = Statement(update(leases).values(owner=None, until=0))
_DELETE = Statement(delete(leases).where(leases.c.thread_id == bindparam("id_")))


async def release_every(tx: Transaction) -> None:
    """Nobody drives anything: the office was restored."""
    await tx.run(_RELEASE_EVERY)


async def lock(tx: Transaction, thread_id: str) -> None:
    """Its driver's next write waits for the end of this transaction."""
    await tx.one(_LOCK_TOKEN, thread_id=thread_id)


async def delete_lease(tx: Transaction, thread_id: str) -> None:
    """The thread is gone: its driver's next write is refused."""
    await tx.run(_DELETE, id_=thread_id)
