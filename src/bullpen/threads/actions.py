"""Make a thread, wake it, put it to rest."""

from __future__ import annotations

from functools import partial

from bullpen import ids
from bullpen.engine import leases
from bullpen.errors import Broken
from bullpen.storage import Stage, Transaction
from bullpen.threads import rows


async def ensure(tx: Transaction, agent_id: str, scope: str, space_id: str | None) -> str:
    """The thread of an agent in a space (scope `space`), or its one mind (scope `agent`); made when first needed."""
    anchor = "" if scope == "agent" else (space_id or "")
    id = ids.thread()
    home = space_id if scope == "space" else None
    if await rows.insert_thread(tx, id=id, agent_id=agent_id, scope=scope, anchor=anchor, space_id=home):
        await leases.insert_lease(tx, id)
        return id
    found = await rows.select_id(tx, agent_id=agent_id, scope=scope, anchor=anchor)
    if found is None:
        raise Broken(f"The thread of {agent_id} ({scope} {anchor}) is neither new nor there.")
    return found


async def create_fresh(tx: Transaction, agent_id: str, space_id: str | None) -> str:
    """A thread with no history: an isolated piece of work."""
    id = ids.thread()
    await rows.insert_thread(tx, id=id, agent_id=agent_id, scope="fresh", anchor=id, space_id=space_id)
    await leases.insert_lease(tx, id)
    return id


def wake(tx: Transaction, thread_id: str) -> None:
    """Queue the thread if it is idle. Runs last in the transaction: thread states are the last locks taken."""
    tx.defer(Stage.THREADS, thread_id, partial(_wake, thread_id=thread_id))


async def _wake(tx: Transaction, thread_id: str) -> None:
    # Lock it even when it is not idle: a driver that is about to rest must either see our item or be seen by us.
    if await rows.lock_state(tx, thread_id) != "idle":
        return
    epoch = await rows.update_queued(tx, thread_id)
    if tx.store.nudge_port is not None:
        await tx.store.nudge_port.nudge(tx, thread_id, epoch)


def enter(tx: Transaction, thread_id: str, space_id: str | None) -> None:
    """Be in a space, or in none, from the end of this transaction on."""
    tx.defer(Stage.THREADS, thread_id, partial(rows.update_active_space, id=thread_id, space_id=space_id))
