"""SQL for goals, memories and plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Text, bindparam, delete, exists, func, literal_column, or_, select, union
from sqlalchemy.sql import ColumnElement

from bullpen.clock import Clock
from bullpen.ids import Whose
from bullpen.inbox.rows import cause_in
from bullpen.memory.rules import Situation
from bullpen.mind import rules
from bullpen.mind.types import Goal, Memory, Plan, Shown
from bullpen.spaces import rows as space_rows
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, TUPLE_OR_NULL, Mapped
from bullpen.storage.statements import upsert
from bullpen.storage.tables import goals, memories, plans, task_firings
from bullpen.tasks import times
from bullpen.tasks.types import Firing, Schedule
from bullpen.wire import Agent, nouns


def _here(table: Any) -> tuple[ColumnElement[bool], ...]:
    return table.c.agent_id == bindparam("agent_id"), any_of(table.c.place, "places")


def _in(table: Any) -> ColumnElement[bool]:
    """Everything of an agent, or in a place. No space is named '', which is no place."""
    return or_(
        table.c.agent_id == bindparam("member_id"),
        (table.c.place == bindparam("space_id")) & (table.c.place != literal_column("''")),
    )


# ── goals ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_GOALS = Mapped(Goal, goals, outside=TUPLE_OR_NULL)
_UPSERT_GOAL = upsert(
    goals, ["agent_id", "place", "id"], ["description", "status", "priority", "outside", "updated_at"]
)
_SELECT_GOALS = Statement(select(*_GOALS.columns).where(*_here(goals)).order_by(goals.c.place, goals.c.id))
_SELECT_ALL_GOALS = Statement(
    select(*_GOALS.columns)
    .where(goals.c.agent_id == bindparam("agent_id"))
    .order_by(goals.c.place, goals.c.created_at, goals.c.id)
)
_COUNT_GOALS = Statement(select(func.count()).where(goals.c.agent_id == bindparam("agent_id")))
_DELETE_GOAL = Statement(
    delete(goals).where(
        goals.c.agent_id == bindparam("agent_id"),
        goals.c.place == bindparam("place"),
        goals.c.id == bindparam("id_"),
    )
)
_FORGET_GOALS = Statement(delete(goals).where(_in(goals)))
_EXPORT_GOALS = Statement(
    select(*_GOALS.columns).where(_in(goals)).order_by(goals.c.agent_id, goals.c.place, goals.c.id)
)


async def upsert_goal(tx: Transaction, goal: Goal) -> None:
    await tx.run(_UPSERT_GOAL, **_GOALS.write(goal))


async def select_goals(tx: Transaction, agent_id: str, places: Sequence[str]) -> list[Goal]:
    return _GOALS.read_all(await tx.all(_SELECT_GOALS, agent_id=agent_id, places=list(places)))


async def select_all_goals(tx: Transaction, agent_id: str) -> list[Goal]:
    return _GOALS.read_all(await tx.all(_SELECT_ALL_GOALS, agent_id=agent_id))


async def count_goals(tx: Transaction, agent_id: str) -> int:
    return int(await tx.value(_COUNT_GOALS, agent_id=agent_id))


async def delete_goal(tx: Transaction, goal: Goal) -> None:
    await tx.run(_DELETE_GOAL, agent_id=goal.agent_id, place=goal.place, id_=goal.id)


def goal_on_the_wire(goal: Goal) -> nouns.Goal:
    return nouns.Goal(
        id=goal.id,
        agent_id=goal.agent_id,
        description=goal.description,
        status=goal.status,
        priority=goal.priority,
        space_id=goal.place or None,
        outside=list(goal.outside),
        created_at=goal.created_at,
        updated_at=goal.updated_at,
    )


# ── memories ────────────────────────────────────────────────────────────────────────────────────────────────────────

_MEMORIES = Mapped(Memory, memories, outside=TUPLE_OR_NULL)
_UPSERT_MEMORY = upsert(memories, ["agent_id", "place", "key"], ["value", "outside", "updated_at"])
_SELECT_MEMORIES = Statement(
    select(*_MEMORIES.columns).where(*_here(memories)).order_by(memories.c.place, memories.c.key)
)
_SELECT_ALL_MEMORIES = Statement(
    select(*_MEMORIES.columns)
    .where(memories.c.agent_id == bindparam("agent_id"))
    .order_by(memories.c.place, memories.c.key)
)
_COUNT_MEMORIES = Statement(select(func.count()).where(memories.c.agent_id == bindparam("agent_id")))
_DELETE_MEMORY = Statement(
    delete(memories).where(
        memories.c.agent_id == bindparam("agent_id"),
        memories.c.place == bindparam("place"),
        memories.c.key == bindparam("key_"),
    )
)
_FORGET_MEMORIES = Statement(delete(memories).where(_in(memories)))
_EXPORT_MEMORIES = Statement(
    select(*_MEMORIES.columns).where(_in(memories)).order_by(memories.c.agent_id, memories.c.place, memories.c.key)
)


async def upsert_memory(tx: Transaction, memory: Memory) -> None:
    await tx.run(_UPSERT_MEMORY, **_MEMORIES.write(memory))


async def select_memories(tx: Transaction, agent_id: str, places: Sequence[str]) -> list[Memory]:
    return _MEMORIES.read_all(await tx.all(_SELECT_MEMORIES, agent_id=agent_id, places=list(places)))


async def select_all_memories(tx: Transaction, agent_id: str) -> list[Memory]:
    return _MEMORIES.read_all(await tx.all(_SELECT_ALL_MEMORIES, agent_id=agent_id))


async def count_memories(tx: Transaction, agent_id: str) -> int:
    return int(await tx.value(_COUNT_MEMORIES, agent_id=agent_id))


async def delete_memory(tx: Transaction, memory: Memory) -> None:
    await tx.run(_DELETE_MEMORY, agent_id=memory.agent_id, place=memory.place, key_=memory.key)


def memory_on_the_wire(memory: Memory) -> nouns.Memory:
    return nouns.Memory(
        key=memory.key,
        value=memory.value,
        agent_id=memory.agent_id,
        space_id=memory.place or None,
        outside=list(memory.outside),
        created_at=memory.created_at,
        updated_at=memory.updated_at,
    )


# ── plans ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_SCHEDULE = Mapped(Schedule, plans, others={"type": plans.c.schedule_type, "value": plans.c.schedule_value})
_PLANS = Mapped(Plan, plans, schedule=_SCHEDULE, cause=cause_in(plans), member=FLAG, outside=TUPLE_OR_NULL)
_UPSERT_PLAN = upsert(
    plans, ["id"], [column.name for column in plans.c if column.name not in ("id", "agent_id", "place", "created_at")]
)
_UNFINISHED = plans.c.status != literal_column("'completed'")
_SELECT_PLANS = Statement(select(*_PLANS.columns).where(*_here(plans), _UNFINISHED).order_by(plans.c.id))
_SELECT_ALL_PLANS = Statement(
    select(*_PLANS.columns)
    .where(
        plans.c.agent_id == bindparam("agent_id"),
        or_(plans.c.status == bindparam("status", type_=Text), bindparam("status", type_=Text).is_(None)),
    )
    .order_by(plans.c.id)
)
_SELECT_PLAN = Statement(select(*_PLANS.columns).where(plans.c.id == bindparam("id")))
_SELECT_KNOWN = Statement(
    select(*_PLANS.columns).where(
        plans.c.agent_id == bindparam("agent_id"), plans.c.place == bindparam("place"), plans.c.ref == bindparam("ref")
    )
)
_SELECT_THESE = Statement(select(*_PLANS.columns).where(any_of(plans.c.id, "ids")).order_by(plans.c.id))
_SELECT_OF_CAUSE = Statement(
    select(*_PLANS.columns).where(plans.c.cause_id == bindparam("cause_id")).order_by(plans.c.id)
)
_SELECT_IN_SPACE = Statement(
    select(*_PLANS.columns).where(plans.c.space_id == bindparam("space_id")).order_by(plans.c.id)
)
_COUNT_PLANS = Statement(select(func.count()).where(plans.c.agent_id == bindparam("agent_id"), _UNFINISHED))
_DELETE_PLAN = Statement(delete(plans).where(plans.c.id == bindparam("id_")))
_DELETE_FIRINGS = Statement(delete(task_firings).where(task_firings.c.task_id == bindparam("id_")))
# As of tasks: the one question of every sweep, answered by the index on what is scheduled.
_SELECT_DUE = Statement(
    select(plans.c.id)
    .where(plans.c.next_at <= bindparam("now"))
    .order_by(plans.c.next_at, plans.c.id)
    .limit(bindparam("limit"))
)
_SELECT_NEXT = Statement(select(func.min(plans.c.next_at)).where(plans.c.next_at.is_not(None)))
_SELECT_AHEAD = Statement(
    select(plans.c.id)
    .where(plans.c.next_at > bindparam("now"), plans.c.updated_at > bindparam("at"), plans.c.id > bindparam("after"))
    .order_by(plans.c.id)
    .limit(bindparam("limit"))
)
_SELECT_OVER = Statement(
    select(plans.c.id)
    .where(plans.c.status == literal_column("'completed'"), plans.c.updated_at < bindparam("before"))
    .order_by(plans.c.id)
    .limit(bindparam("limit"))
)
_SELECT_TROUBLED = Statement(
    select(plans.c.id, plans.c.reason)
    .where(plans.c.status == literal_column("'paused'"), plans.c.reason.is_not(None))
    .order_by(plans.c.id)
    .limit(bindparam("limit"))
)
_SELECT_WHOSE = Statement(
    select(plans.c.id)
    .where(
        or_(
            plans.c.space_id == bindparam("space_id"),
            plans.c.agent_id == bindparam("member_id"),
            plans.c.cause_id == bindparam("member_id"),
            plans.c.created_by == bindparam("member_id"),
        )
    )
    .order_by(plans.c.id)
)


async def upsert_plan(tx: Transaction, plan: Plan) -> None:
    await tx.run(_UPSERT_PLAN, **_PLANS.write(plan))


async def select_plans(tx: Transaction, agent_id: str, places: Sequence[str]) -> list[Plan]:
    """Those that are not over, oldest first."""
    return _PLANS.read_all(await tx.all(_SELECT_PLANS, agent_id=agent_id, places=list(places)))


async def select_all_plans(tx: Transaction, agent_id: str, status: str | None = None) -> list[Plan]:
    return _PLANS.read_all(await tx.all(_SELECT_ALL_PLANS, agent_id=agent_id, status=status))


async def select_plan(tx: Transaction, id: str) -> Plan | None:
    return _PLANS.read_one(await tx.one(_SELECT_PLAN, id=id))


async def select_known(tx: Transaction, agent_id: str, place: str, ref: str) -> Plan | None:
    """A plan by the id that its agent knows it by."""
    return _PLANS.read_one(await tx.one(_SELECT_KNOWN, agent_id=agent_id, place=place, ref=ref))


async def select_these(tx: Transaction, ids: Sequence[str]) -> list[Plan]:
    return _PLANS.read_all(await tx.all(_SELECT_THESE, ids=list(ids)))


async def select_of_cause(tx: Transaction, cause_id: str) -> list[Plan]:
    return _PLANS.read_all(await tx.all(_SELECT_OF_CAUSE, cause_id=cause_id))


async def select_in_space(tx: Transaction, space_id: str) -> list[Plan]:
    return _PLANS.read_all(await tx.all(_SELECT_IN_SPACE, space_id=space_id))


async def count_plans(tx: Transaction, agent_id: str) -> int:
    """Those that are not over."""
    return int(await tx.value(_COUNT_PLANS, agent_id=agent_id))


async def delete_plan(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_FIRINGS, id_=id)
    await tx.run(_DELETE_PLAN, id_=id)


async def select_due(tx: Transaction, now: int, limit: int) -> list[str]:
    return await tx.values(_SELECT_DUE, now=now, limit=limit)


async def select_next(tx: Transaction) -> int | None:
    """When the next plan is due, of all there are."""
    next_at: int | None = await tx.value(_SELECT_NEXT)
    return next_at


async def select_ahead(tx: Transaction, now: int, after: str, limit: int) -> list[str]:
    """Plans to come that were changed later than now, so by a clock that was ahead."""
    return await tx.values(_SELECT_AHEAD, now=now, at=Clock.at(now), after=after, limit=limit)


async def select_over(tx: Transaction, before: str, limit: int) -> list[str]:
    """Plans that are over, and have been since before then."""
    return await tx.values(_SELECT_OVER, before=before, limit=limit)


async def select_troubled(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """Plans that the office has paused, and why."""
    return [(id, reason) for id, reason in await tx.all(_SELECT_TROUBLED, limit=limit)]


async def select_whose(tx: Transaction, whose: Whose) -> list[str]:
    """Those of a space or an agent, and those that somebody set or that work for them."""
    return await tx.values(_SELECT_WHOSE, member_id=whose.member, space_id=whose.space)


def plan_on_the_wire(plan: Plan, firing: Firing | None = None) -> nouns.Plan:
    once = plan.schedule.type == "once"
    at = times.next_after(plan.schedule, 0) if once else None
    return nouns.Plan(
        id=plan.ref,
        agent_id=plan.agent_id,
        name=plan.name,
        instruction=plan.instruction,
        scheduled_at=None if at is None else times.local(at, plan.shown_zone),
        cron=None if once else plan.schedule.value,
        timezone=plan.shown_zone,
        status=plan.status,
        reason=plan.reason,
        next_run=None if plan.next_at is None else Clock.at(plan.next_at),
        next_runs=[Clock.at(at) for at in times.upcoming(plan.schedule, plan.next_at)],
        last_run=plan.last_run,
        failures=plan.failures,
        space_id=plan.space_id,
        stays=plan.place != rules.EVERYWHERE,
        on_behalf_of=plan.cause.id,
        created_by=plan.created_by,
        outside=list(plan.outside),
        created_at=plan.created_at,
        updated_at=plan.updated_at,
        firing=None if firing is None else _firing_on_the_wire(firing),
    )


def _firing_on_the_wire(firing: Firing) -> nouns.PlanFiring:
    return nouns.PlanFiring(
        nominal_at=Clock.at(firing.nominal_at),
        fired_at=firing.fired_at,
        status=firing.status,
        reason=firing.reason,
        missed=firing.missed,
    )


# ── all of it ───────────────────────────────────────────────────────────────────────────────────────────────────────


_SELECT_PLACES = Statement(
    union(
        *(select(table.c.place).where(table.c.agent_id == bindparam("agent_id")) for table in (goals, memories, plans))
    )
)


_HAS_ANY = Statement(
    select(
        or_(*(exists().where(table.c.agent_id == bindparam("agent_id")) for table in (goals, memories, plans))),
    )
)


async def has_any(tx: Transaction, agent_id: str) -> bool:
    return bool(await tx.value(_HAS_ANY, agent_id=agent_id))


async def select_places(tx: Transaction, agent: Agent, situation: Situation) -> list[str]:
    """Of which places the agent is shown what it has written."""
    shown = rules.places_shown(agent, situation)
    if not rules.shows_all(agent, situation):
        return shown
    for place in await tx.values(_SELECT_PLACES, agent_id=agent.id):
        room = await space_rows.select_room(tx, place) if place not in shown else None
        if room is not None and not room.stays:
            shown.append(place)
    return shown


async def select_shown(tx: Transaction, agent: Agent, situation: Situation) -> Shown:
    """What the agent is shown of them in this situation."""
    places = await select_places(tx, agent, situation)
    here = rules.place_of(agent, situation) or rules.EVERYWHERE
    return Shown(
        rules.in_order(await select_goals(tx, agent.id, places)),
        rules.overlaid(await select_memories(tx, agent.id, places), here),
        tuple(await select_plans(tx, agent.id, places)),
    )


async def export_goals(tx: Transaction, whose: Whose) -> list[Goal]:
    """Of an agent, or in a place."""
    return _GOALS.read_all(await tx.all(_EXPORT_GOALS, member_id=whose.member, space_id=whose.space))


async def export_memories(tx: Transaction, whose: Whose) -> list[Memory]:
    """Of an agent, or in a place."""
    return _MEMORIES.read_all(await tx.all(_EXPORT_MEMORIES, member_id=whose.member, space_id=whose.space))


async def forget_written(tx: Transaction, whose: Whose) -> None:
    """Goals and memories of an agent, or of a place. Plans are `actions.forget`."""
    await tx.run(_FORGET_GOALS, member_id=whose.member, space_id=whose.space)
    await tx.run(_FORGET_MEMORIES, member_id=whose.member, space_id=whose.space)
