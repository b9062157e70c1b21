"""SQL for threads."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select, update

from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.statements import insert_or_ignore, now_millis
from bullpen.storage.tables import agents, threads

_INSERT = insert_or_ignore(threads)
_SELECT_BY_ANCHOR = Statement(
    select(threads.c.id).where(
        threads.c.agent_id == bindparam("agent_id"),
        threads.c.scope == bindparam("scope"),
        threads.c.anchor == bindparam("anchor"),
    )
)
_SELECT = Statement(
    select(
        threads.c.agent_id,
        threads.c.scope,
        threads.c.space_id,
        threads.c.active_space_id,
        threads.c.run_count,
        threads.c.grants,
    ).where(threads.c.id == bindparam("id"))
)
_SELECT_LIVING = Statement(
    select(threads.c.id)
    .join(agents, agents.c.id == threads.c.agent_id)
    .where(any_of(threads.c.id, "ids"), agents.c.deleted_at.is_(None))
)
_LOCK = Statement(select(threads.c.state).where(threads.c.id == bindparam("id")).with_for_update())
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


async def insert_thread(
    tx: Transaction,
    *,
    id: str,
    agent_id: str,
    scope: str,
    anchor: str,
    space_id: str | None,
    cause_kind: str | None = None,
    cause_id: str | None = None,
    grants: str | None = None,
    parent_id: str | None = None,
    scoped_names: str | None = None,
) -> bool:
    touched = await tx.run(
        _INSERT,
        id=id,
        agent_id=agent_id,
        scope=scope,
        anchor=anchor,
        space_id=space_id,
        active_space_id=space_id,
        state="idle",
        epoch=0,
        run_count=0,
        created_at=tx.clock.now(),
        cause_kind=cause_kind,
        cause_id=cause_id,
        grants=grants,
        parent_id=parent_id,
        scoped_names=scoped_names,
        queued_at=0,
    )
    return touched > 0


async def select_id(tx: Transaction, *, agent_id: str, scope: str, anchor: str) -> str | None:
    row = await tx.one(_SELECT_BY_ANCHOR, agent_id=agent_id, scope=scope, anchor=anchor)
    return None if row is None else str(row[0])


async def select_thread(tx: Transaction, id: str) -> Row | None:
    """agent id, scope, space id, active space id, run count, grants (None: as far as each cause's go)."""
    return await tx.one(_SELECT, id=id)


async def select_living(tx: Transaction, ids: Sequence[str]) -> set[str]:
    """Which of these are threads of agents that are still there."""
    return {str(row[0]) for row in await tx.all(_SELECT_LIVING, ids=list(ids))}


async def lock_state(tx: Transaction, id: str) -> str | None:
    row = await tx.one(_LOCK, id=id)
    return None if row is None else str(row[0])


async def update_queued(tx: Transaction, id: str) -> int:
    row = await tx.one(_QUEUE, id_=id)
    assert row is not None
    return int(row[0])


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
