"""Make a thread, wake it, put it to rest."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from bullpen import ids
from bullpen.engine import leases, nudges
from bullpen.errors import Broken
from bullpen.replacing import replace
from bullpen.storage import Stage, Transaction
from bullpen.threads import rows, rules
from bullpen.threads.rules import SCOPES
from bullpen.threads.types import Thread
from bullpen.wire.nouns import ThreadScope


async def ensure(tx: Transaction, agent_id: str, scope: ThreadScope, space_id: str | None) -> str:
    """The thread of an agent in a space (scope `space`), or its one mind (scope `agent`); made when first needed."""
    thread = _build_thread(tx, ids.thread(), agent_id, scope, space_id)
    if await rows.insert_thread(tx, thread):
        await leases.insert_lease(tx, thread.id)
        return thread.id
    found = await rows.select_id(tx, agent_id=agent_id, scope=scope, anchor=thread.anchor)
    if found is None:
        raise Broken(f"The thread of {agent_id} ({scope} {thread.anchor}) is neither new nor there.")
    return found


async def create_fresh(
    tx: Transaction,
    agent_id: str,
    space_id: str | None,
    *,
    cause_kind: str,
    cause_id: str,
    grants: str,
    id: str | None = None,
) -> str:
    """A thread with no history: an isolated piece of work. Nothing in it ever has more rights than what it is for."""
    thread = _build_thread(tx, id or ids.thread(), agent_id, "fresh", space_id, grants)
    await rows.insert_thread(tx, replace(thread, cause_kind=cause_kind, cause_id=cause_id))
    await leases.insert_lease(tx, thread.id)
    return thread.id


def _build_thread(
    tx: Transaction, id: str, agent_id: str, scope: ThreadScope, space_id: str | None, grants: str | None = None
) -> Thread:
    if SCOPES[scope].has_own_grants != (grants is not None):
        raise Broken(f"A thread of scope {scope} was to be made {'without' if grants is None else 'with'} grants.")
    home = rules.home_of(scope, space_id)
    anchor = rules.anchor_of(scope, id=id, space_id=space_id)
    return Thread(id, agent_id, scope, anchor, home, home, tx.clock.now(), grants=grants)


def wake(tx: Transaction, thread_id: str) -> None:
    """Queue the thread if it is idle. Runs last in the transaction: thread states are the last locks taken."""
    tx.defer(Stage.THREADS, thread_id, partial(_wake, thread_id=thread_id))


async def _wake(tx: Transaction, thread_id: str) -> None:
    # Lock it even when it is not idle: a driver that is about to rest must either see our item or be seen by us.
    # A state that nobody knows is none: somebody has been at the database, and what comes in must not wait for ever.
    if await rows.lock_state(tx, thread_id) in (None, "queued", "waiting"):
        return
    await nudge(tx, thread_id)


def go_on_waiting(tx: Transaction, thread_id: str) -> None:
    """What the thread waits for is there, or will not come. One that does not wait is left alone."""
    tx.defer(Stage.THREADS, thread_id, partial(_go_on_waiting, thread_id=thread_id))


async def _go_on_waiting(tx: Transaction, thread_id: str) -> None:
    if await rows.lock_state(tx, thread_id) == "waiting":
        await nudge(tx, thread_id)


def look_again(tx: Transaction, thread_id: str) -> None:
    """There is something to do in the thread, whether it rests or waits. One that is driven looks before it rests."""
    tx.defer(Stage.THREADS, thread_id, partial(_look_again, thread_id=thread_id))


async def _look_again(tx: Transaction, thread_id: str) -> None:
    if await rows.lock_state(tx, thread_id) in ("idle", "waiting"):
        await nudge(tx, thread_id)


def nudge_again(tx: Transaction, thread_ids: Iterable[str]) -> None:
    """Queued threads that nobody drives may be driven now. Their leases are locked, so nobody has begun meanwhile."""
    for thread_id in thread_ids:
        tx.defer(Stage.THREADS, thread_id, partial(_nudge_again, thread_id=thread_id))


async def _nudge_again(tx: Transaction, thread_id: str) -> None:
    if await rows.lock_state(tx, thread_id) in ("queued", "waiting"):
        await nudge(tx, thread_id)


async def nudge(tx: Transaction, thread_id: str) -> None:
    """Queue the thread, whose state is locked.

    A new epoch each time: a queue that is just done with the last nudge must not take this one for the same.
    """
    nudges.nudge(tx, thread_id, await rows.update_queued(tx, thread_id))


async def go_on(tx: Transaction, agent_id: str | None) -> None:
    """An agent is not paused any more, or all are not: what waited for that begins at once."""
    nudge_again(tx, await leases.lock_undriven(tx, agent_id))


def enter(tx: Transaction, thread_id: str, space_id: str | None) -> None:
    """Be in a space, or in none, from the end of this transaction on."""
    tx.defer(Stage.THREADS, thread_id, partial(rows.update_active_space, id=thread_id, space_id=space_id))
