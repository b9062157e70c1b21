"""SQL for threads."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, case, delete, select, update
from sqlalchemy.sql import ColumnElement

from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.checked import Checked
from bullpen.storage.mapped import TUPLE
from bullpen.storage.statements import insert_or_ignore, now_millis
from bullpen.storage.tables import agents, threads
from bullpen.threads.rules import SCOPES
from bullpen.threads.types import Thread
from bullpen.wire.nouns import ThreadScope

THREADS = Checked(Thread, threads, instead={"scope": "fresh"}, scoped_names=TUPLE)
_INSERT = insert_or_ignore(threads)
_SELECT_BY_ANCHOR = Statement(
    select(threads.c.id).where(
        threads.c.agent_id == bindparam("agent_id"),
        threads.c.scope == bindparam("scope"),
        threads.c.anchor == bindparam("anchor"),
    )
)
_SELECT = Statement(select(*THREADS.columns).where(threads.c.id == bindparam("id")))
_SELECT_LIVING = Statement(
    select(threads.c.id)
    .join(agents, agents.c.id == threads.c.agent_id)
    .where(any_of(threads.c.id, "ids"), agents.c.deleted_at.is_(None))
)
_LOCK = Statement(select(threads.c.state).where(threads.c.id == bindparam("id")).with_for_update())
_SELECT_EPOCH = Statement(select(threads.c.epoch).where(threads.c.id == bindparam("id")))
_QUEUE = Statement(
    update(threads)
    .where(threads.c.id == bindparam("id_"))
    .values(state="queued", epoch=threads.c.epoch + 1, queued_at=now_millis())
    .returning(threads.c.epoch)
)
_REST = Statement(update(threads).where(threads.c.id == bindparam("id_")).values(state="idle"))
_WAIT = Statement(update(threads).where(threads.c.id == bindparam("id_")).values(state="waiting"))
_ENTER = Statement(
    update(threads).where(threads.c.id == bindparam("id_")).values(active_space_id=bindparam("space_id_"))
)
_BEGIN_RUN = Statement(
    update(threads)
    .where(threads.c.id == bindparam("id_"))
    .values(active_space_id=bindparam("space_id_"), run_count=threads.c.run_count + 1)
)


def anchor_in(scope: ColumnElement[str], space_id: ColumnElement[str]) -> ColumnElement[str]:
    """`rules.anchor_of` as SQL, for the scopes that hear messages."""
    spanning = [(scope == name, "") for name, each in SCOPES.items() if each.hears_messages and each.spans_spaces]
    return case(*spanning, else_=space_id)


async def insert_thread(tx: Transaction, thread: Thread) -> bool:
    """Did it become a new one? Otherwise there is one with that anchor."""
    return await tx.run(_INSERT, **THREADS.write(thread), state="idle", epoch=0, queued_at=0) > 0


async def select_id(tx: Transaction, *, agent_id: str, scope: ThreadScope, anchor: str) -> str | None:
    found: str | None = await tx.value(_SELECT_BY_ANCHOR, agent_id=agent_id, scope=scope, anchor=anchor)
    return found


async def select_thread(tx: Transaction, id: str) -> Thread | None:
    return THREADS.read_one(await tx.one(_SELECT, id=id))


async def select_living(tx: Transaction, ids: Sequence[str]) -> set[str]:
    """Which of these are threads of agents that are still there."""
    return set(await tx.values(_SELECT_LIVING, ids=list(ids)))


async def select_epoch(tx: Transaction, id: str) -> int | None:
    epoch: int | None = await tx.value(_SELECT_EPOCH, id=id)
    return epoch


async def lock_state(tx: Transaction, id: str) -> str | None:
    state: str | None = await tx.value(_LOCK, id=id)
    return state


async def update_queued(tx: Transaction, id: str) -> int:
    epoch: int | None = await tx.value(_QUEUE, id_=id)
    assert epoch is not None
    return epoch


async def update_idle(tx: Transaction, id: str) -> None:
    await tx.run(_REST, id_=id)


async def update_waiting(tx: Transaction, id: str) -> None:
    await tx.run(_WAIT, id_=id)


async def update_active_space(tx: Transaction, id: str, space_id: str | None) -> None:
    await tx.run(_ENTER, id_=id, space_id_=space_id)


async def update_for_run(tx: Transaction, id: str, space_id: str | None) -> None:
    await tx.run(_BEGIN_RUN, id_=id, space_id_=space_id)


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_IN_SPACE = Statement(select(threads.c.id).where(threads.c.space_id == bindparam("id")).order_by(threads.c.id))
_LEAVE = Statement(update(threads).where(threads.c.active_space_id == bindparam("id_")).values(active_space_id=None))
_DELETE = Statement(delete(threads).where(threads.c.id == bindparam("id_")))


async def select_in_space(tx: Transaction, space_id: str) -> list[str]:
    return await tx.values(_SELECT_IN_SPACE, id=space_id)


async def leave_space(tx: Transaction, space_id: str) -> None:
    """Threads of other spaces that are in this one just now."""
    await tx.run(_LEAVE, id_=space_id)


async def delete_thread(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE, id_=id)
