"""SQL for inbox items."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Table, Text, and_, bindparam, delete, exists, literal, or_, select, update

from bullpen.access import rules as access
from bullpen.inbox import rules
from bullpen.inbox.types import Cause, Item
from bullpen.replacing import replace
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.checked import Checked
from bullpen.storage.mapped import FLAG, JSON, Mapped
from bullpen.storage.statements import insert_or_ignore, inside
from bullpen.storage.tables import agents, inbox_items, members, people, runs, threads


def cause_in(table: Table) -> Mapped[Cause]:
    """The columns in which a table keeps on whose behalf something is done."""
    return Mapped(Cause, table, others={"kind": table.c.cause_kind, "id": table.c.cause_id})


ITEMS = Checked(
    Item,
    inbox_items,
    instead={"kind": "message", "payload": "{}"},
    cause=cause_in(inbox_items),
    payload=JSON,
    addressed=FLAG,
)
_INSERT = insert_or_ignore(inbox_items)
_SELECT_UNDER_WAY = Statement(
    select(runs.c.id).where(
        runs.c.thread_id == bindparam("thread_id"),
        runs.c.finished_at.is_(None),
        runs.c.cause_kind == bindparam("cause_kind"),
        runs.c.cause_id == bindparam("cause_id"),
    )
)
# With who caused each, as far as they are still there.
_SELECT_UNCLAIMED = Statement(
    select(*ITEMS.columns, people.c.role, agents.c.id)
    .select_from(
        inbox_items.outerjoin(
            people,
            and_(
                people.c.id == inbox_items.c.cause_id,
                inbox_items.c.cause_kind == "person",
                people.c.disabled_at.is_(None),
                people.c.erased_at.is_(None),
            ),
        ).outerjoin(
            agents,
            and_(
                agents.c.id == inbox_items.c.cause_id,
                inbox_items.c.cause_kind == "agent",
                agents.c.deleted_at.is_(None),
            ),
        )
    )
    .where(inbox_items.c.thread_id == bindparam("thread_id"), inbox_items.c.claimed_by.is_(None))
    .order_by(inbox_items.c.id)
    .limit(bindparam("limit"))
)
_SELECT_HELD = Statement(
    select(
        select(people.c.role)
        .where(
            people.c.id == bindparam("id"),
            bindparam("kind", type_=Text) == "person",
            people.c.disabled_at.is_(None),
            people.c.erased_at.is_(None),
        )
        .scalar_subquery(),
        select(agents.c.id)
        .where(agents.c.id == bindparam("id"), bindparam("kind", type_=Text) == "agent", agents.c.deleted_at.is_(None))
        .scalar_subquery(),
    )
)
_HAS_UNCLAIMED = Statement(
    select(inbox_items.c.id)
    .where(inbox_items.c.thread_id == bindparam("thread_id"), inbox_items.c.claimed_by.is_(None))
    .limit(1)
)
_CLAIM = Statement(update(inbox_items).where(any_of(inbox_items.c.id, "ids")).values(claimed_by=bindparam("run_id")))
_SELECT_PAYLOADS = Statement(
    select(inbox_items.c.payload).where(inbox_items.c.claimed_by == bindparam("run_id")).order_by(inbox_items.c.id)
)
_SELECT_CLAIMED = Statement(
    select(*ITEMS.columns).where(inbox_items.c.claimed_by == bindparam("run_id")).order_by(inbox_items.c.id)
)
_SELECT_BY_KEY = Statement(
    select(*ITEMS.columns).where(
        inbox_items.c.thread_id == bindparam("thread_id"), inbox_items.c.key == bindparam("key")
    )
)
_SELECT_ITEM = Statement(
    select(*ITEMS.columns).where(inbox_items.c.id == bindparam("id"), inbox_items.c.claimed_by.is_(None))
)
_SELECT_PEOPLE = Statement(
    select(inbox_items.c.cause_id)
    .distinct()
    .where(inbox_items.c.claimed_by == bindparam("run_id"), inbox_items.c.cause_kind == "person")
)
_SELECT_BATCHES = Statement(
    select(inbox_items.c.batch)
    .distinct()
    .where(inbox_items.c.claimed_by == bindparam("run_id"), inbox_items.c.batch.is_not(None))
)
_SELECT_BATCHES_OF = Statement(
    select(inbox_items.c.batch)
    .distinct()
    .select_from(inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id))
    .where(
        threads.c.agent_id == bindparam("agent_id"),
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.batch.is_not(None),
    )
)
_SELECT_WAITING = Statement(
    select(inbox_items.c.thread_id, agents.c.paused_at.is_not(None))
    .select_from(
        inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id).join(
            agents, agents.c.id == threads.c.agent_id
        )
    )
    .where(inbox_items.c.batch == bindparam("batch"), inbox_items.c.claimed_by.is_(None))
    .order_by(inbox_items.c.rank)
)
# Whoever is paused is not at it.
_BATCH_IS_BUSY = Statement(
    select(runs.c.id)
    .select_from(
        inbox_items.join(runs, runs.c.id == inbox_items.c.claimed_by).join(agents, agents.c.id == runs.c.agent_id)
    )
    .where(
        inbox_items.c.batch == bindparam("batch"),
        runs.c.finished_at.is_(None),
        runs.c.id != bindparam("run_id"),
        agents.c.paused_at.is_(None),
    )
    .limit(1)
)
_SELECT_DUE = Statement(
    select(threads.c.id)
    .distinct()
    .select_from(inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id))
    .where(
        threads.c.agent_id == bindparam("agent_id"),
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at <= bindparam("now"),
    )
)
_SET_DUE = Statement(
    update(inbox_items)
    .where(inbox_items.c.claimed_by.is_(None), inbox_items.c.batch.is_not(None), inbox_items.c.rank > 0)
    .values(
        due_at=bindparam("now", type_=inbox_items.c.due_at.type)
        + inbox_items.c.rank * bindparam("wait", type_=inbox_items.c.due_at.type)
    )
)
_BRING_FORWARD = Statement(
    update(inbox_items)
    .where(
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at
        > bindparam("now", type_=inbox_items.c.due_at.type)
        + inbox_items.c.rank * bindparam("wait", type_=inbox_items.c.due_at.type),
    )
    .values(
        due_at=bindparam("now", type_=inbox_items.c.due_at.type)
        + inbox_items.c.rank * bindparam("wait", type_=inbox_items.c.due_at.type)
    )
)
_SELECT_AGENTS_ITEMS = Statement(
    select(*ITEMS.columns)
    .select_from(inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id))
    .where(
        threads.c.agent_id == bindparam("agent_id"),
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.id < bindparam("before"),
    )
    .order_by(inbox_items.c.id.desc())
    .limit(bindparam("limit"))
)
# Somebody for whom a run works who is not in the space. Its items may be forgotten by now; then its cause is known.
_SELECT_STRANGER = Statement(
    select(literal(1)).where(
        or_(
            ~exists().where(members.c.space_id == bindparam("space_id"), members.c.member_id == bindparam("cause_id")),
            exists().where(
                inbox_items.c.claimed_by == bindparam("run_id"),
                ~exists().where(
                    members.c.space_id == bindparam("space_id"), members.c.member_id == inbox_items.c.cause_id
                ),
            ),
        )
    )
)
_DROP = Statement(
    delete(inbox_items).where(
        inbox_items.c.claimed_by.is_(None),
        exists().where(threads.c.id == inbox_items.c.thread_id, threads.c.agent_id == bindparam("agent_id")),
    )
)


async def insert_item(tx: Transaction, item: Item, *, key: str, rank: int, due_at: int) -> bool:
    touched = await tx.run(
        _INSERT,
        **ITEMS.write(replace(item, created_at=tx.clock.now())),
        key=key,
        rank=rank,
        due_at=due_at,
        claimed_by=None,
    )
    return touched > 0


async def select_unclaimed(tx: Transaction, thread_id: str, limit: int) -> list[Item]:
    """Oldest first. Each cause with what is left by now of the grants it had."""
    found = []
    for *row, role, agent_id in await tx.all(_SELECT_UNCLAIMED, thread_id=thread_id, limit=limit):
        item = ITEMS.read(row)
        held = rules.held_now(item.cause.kind, role, there=agent_id is not None)
        grants = access.written(access.parsed(item.cause.grants) & held)
        found.append(replace(item, cause=replace(item.cause, grants=grants)))
    return found


async def select_held(tx: Transaction, cause: Cause) -> str:
    """What is left by now of the grants that whoever caused something had then."""
    role, agent_id = await tx.one(_SELECT_HELD, kind=cause.kind, id=cause.id) or (None, None)
    held = rules.held_now(cause.kind, role, there=agent_id is not None)
    return access.written(access.parsed(cause.grants) & held)


async def select_under_way(tx: Transaction, thread_id: str, cause: Cause) -> str | None:
    """The run that goes on in a thread, if this is who caused it."""
    run_id: str | None = await tx.value(
        _SELECT_UNDER_WAY, thread_id=thread_id, cause_kind=cause.kind, cause_id=cause.id
    )
    return run_id


async def select_payloads(tx: Transaction, run_id: str) -> list[dict[str, Any]]:
    """All that a run was told, in its order."""
    return [orjson.loads(payload) for payload in await tx.values(_SELECT_PAYLOADS, run_id=run_id)]


async def select_claimed(tx: Transaction, run_id: str) -> list[Item]:
    """The same, with who caused each."""
    return ITEMS.read_all(await tx.all(_SELECT_CLAIMED, run_id=run_id))


async def select_by_key(tx: Transaction, thread_id: str, key: str) -> Item | None:
    return ITEMS.read_one(await tx.one(_SELECT_BY_KEY, thread_id=thread_id, key=key))


async def select_waiting_item(tx: Transaction, id: str) -> Item | None:
    """One that no run has looked at yet."""
    return ITEMS.read_one(await tx.one(_SELECT_ITEM, id=id))


async def select_people(tx: Transaction, run_id: str) -> list[str]:
    """On whose behalf a run was told something."""
    return await tx.values(_SELECT_PEOPLE, run_id=run_id)


async def has_unclaimed(tx: Transaction, thread_id: str) -> bool:
    return await tx.one(_HAS_UNCLAIMED, thread_id=thread_id) is not None


async def claim(tx: Transaction, ids: list[str], run_id: str) -> None:
    await tx.run(_CLAIM, ids=ids, run_id=run_id)


async def select_batches(tx: Transaction, run_id: str) -> list[str]:
    return await tx.values(_SELECT_BATCHES, run_id=run_id)


async def select_batches_of(tx: Transaction, agent_id: str) -> list[str]:
    """Groups in which the agent has yet to answer."""
    return await tx.values(_SELECT_BATCHES_OF, agent_id=agent_id)


async def select_waiting(tx: Transaction, batch: str) -> list[tuple[str, bool]]:
    """Threads of the group that have yet to answer, in their order, and whether each one's agent is paused."""
    return [(thread_id, bool(paused)) for thread_id, paused in await tx.all(_SELECT_WAITING, batch=batch)]


async def select_due(tx: Transaction, agent_id: str, now: int) -> list[str]:
    return await tx.values(_SELECT_DUE, agent_id=agent_id, now=now)


async def update_due(tx: Transaction, *, now: int, wait: int) -> None:
    await tx.run(_SET_DUE, now=now, wait=wait)


async def bring_forward(tx: Transaction, wait: int) -> int:
    """The clock was put back: nobody waits longer for a turn than from now on. How many did?"""
    return await tx.run(_BRING_FORWARD, now=tx.clock.millis(), wait=wait)


async def batch_is_busy(tx: Transaction, batch: str, *, but_for: str) -> bool:
    return await tx.one(_BATCH_IS_BUSY, batch=batch, run_id=but_for) is not None


async def select_of_agent(tx: Transaction, agent_id: str, *, before: str, limit: int) -> list[tuple[Item, str]]:
    """What waits for an agent, newest first, and since when."""
    found = await tx.all(_SELECT_AGENTS_ITEMS, agent_id=agent_id, before=before, limit=limit)
    return [(item, item.created_at) for item in ITEMS.read_those(found)]


async def are_members(tx: Transaction, space_id: str, run_id: str, cause_id: str) -> bool:
    """Is everybody for whom the run works a member of this space? It may have taken what several people said."""
    return await tx.one(_SELECT_STRANGER, space_id=space_id, run_id=run_id, cause_id=cause_id) is None


async def delete_unclaimed(tx: Transaction, agent_id: str) -> None:
    await tx.run(_DROP, agent_id=agent_id)


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_DELETE_CLAIMED = Statement(delete(inbox_items).where(any_of(inbox_items.c.claimed_by, "ids")))
_DELETE_WAITING_FOR = Statement(
    delete(inbox_items).where(
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.cause_kind == "person",
        inbox_items.c.cause_id == bindparam("id_"),
    )
)
_SELECT_FROM_SPACE = Statement(
    select(inbox_items.c.id, inbox_items.c.claimed_by).where(
        inside(inbox_items.c.id), inbox_items.c.space_id == bindparam("space_id")
    )
)
_DELETE_ITEMS = Statement(delete(inbox_items).where(any_of(inbox_items.c.id, "ids")))
_DELETE_WAITING_ITEMS = Statement(
    delete(inbox_items).where(any_of(inbox_items.c.id, "ids"), inbox_items.c.claimed_by.is_(None))
)
_DELETE_OF_THREAD = Statement(delete(inbox_items).where(inbox_items.c.thread_id == bindparam("id_")))


async def delete_claimed(tx: Transaction, run_ids: list[str]) -> None:
    """What these runs answered."""
    await tx.run(_DELETE_CLAIMED, ids=run_ids)


async def delete_waiting_for(tx: Transaction, person_id: str) -> None:
    """What a person caused and no run has looked at yet."""
    await tx.run(_DELETE_WAITING_FOR, id_=person_id)


async def select_from_space(tx: Transaction, space_id: str, after: str, upto: str) -> list[tuple[str, str | None]]:
    """Items that tell of a space, each with the run that claimed it."""
    found = await tx.all(_SELECT_FROM_SPACE, space_id=space_id, after=after, upto=upto)
    return [(id, claimed_by) for id, claimed_by in found]


async def delete_items(tx: Transaction, ids: list[str]) -> None:
    await tx.run(_DELETE_ITEMS, ids=ids)


async def delete_waiting_items(tx: Transaction, ids: list[str]) -> int:
    """Those of these that no run has claimed. How many were there?"""
    return await tx.run(_DELETE_WAITING_ITEMS, ids=ids)


async def delete_of_thread(tx: Transaction, thread_id: str) -> None:
    await tx.run(_DELETE_OF_THREAD, id_=thread_id)
