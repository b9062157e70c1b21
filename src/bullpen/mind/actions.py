"""Set and delete goals, memories and plans. Which caller may, and in which place, is for the caller to say.

A plan works on behalf of whoever caused the run that set it, with what they held then and still hold. Whoever sets it
anew, it works for them from then on. When plans fire is `firing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bullpen import ids
from bullpen.access import rules as access
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import Invalid
from bullpen.events.actions import in_turn, record
from bullpen.inbox.types import Cause
from bullpen.mind import rows, rules
from bullpen.mind.rules import Timing
from bullpen.mind.types import Goal, Memory, Plan, Sources
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.tasks import actions as tasks
from bullpen.tasks import rows as task_rows
from bullpen.tasks.types import Firing
from bullpen.wire.events import GoalUpdated, PlanFired
from bullpen.wire.requests import SetGoal, SetMemory, SetPlan

DELETED = "The plan was deleted before this had begun."
REPLACED = "The plan was set anew before this had begun."
PAUSED = "The plan was paused before this had begun."


@dataclass(frozen=True, slots=True)
class Mind:
    """Whose goals, memories and plans they are, where they are written down, and where the words come from."""

    agent_id: str
    place: str
    sources_of: Sources
    shown: tuple[str, ...] = ()  # the places of which the agent is shown what it has written


def nobody_outside(*words: str) -> tuple[str, ...]:
    """Sources of what a person writes: none."""
    return ()


async def _take_turn(tx: Transaction, agent_id: str) -> None:
    """An agent may have several runs at a time; its lists are counted and changed one after the other."""
    await in_turn(tx, f"mind {agent_id}")


def _refuse_more(what: str, most: int, left: int, new: int, field: str) -> None:
    if new > left:
        raise Invalid(
            f"There would be {most - left + new} {what}, and {most} is the most. Delete some first.",
            fields={field: f"at most {most}"},
        )


# ── goals ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def set_goals(tx: Transaction, mind: Mind, wishes: Sequence[SetGoal]) -> list[Goal]:
    await _take_turn(tx, mind.agent_id)
    known = {goal.id: goal for goal in await rows.select_goals(tx, mind.agent_id, [mind.place])}
    wanted = {wish.id or ids.goal(): wish for wish in wishes}
    _refuse_twins("goals", wanted, wishes)
    await _refuse_elsewhere(tx, mind, [id for id in wanted if id not in known])
    left = rules.MOST_GOALS - await rows.count_goals(tx, mind.agent_id)
    _refuse_more("goals", rules.MOST_GOALS, left, len(wanted.keys() - known.keys()), "goals")
    made = [_build_goal(tx, mind, id, wish, known.get(id)) for id, wish in wanted.items()]
    for goal in made:
        await rows.upsert_goal(tx, goal)
        _tell_goal(tx, goal)
    return made


def _refuse_twins(what: str, wanted: dict[str, SetGoal], wishes: Sequence[SetGoal]) -> None:
    if len(wanted) < len(wishes):
        raise Invalid(f"Two of these {what} have the same id. Say each once.", fields={what: "an id comes twice"})


async def _refuse_elsewhere(tx: Transaction, mind: Mind, unknown: Sequence[str]) -> None:
    """An agent may be shown what it wants elsewhere; that is not for this place to change."""
    others = [place for place in mind.shown if place != mind.place]
    if not others or not unknown:
        return
    elsewhere = {goal.id for goal in await rows.select_goals(tx, mind.agent_id, others)}
    if there := sorted(elsewhere.intersection(unknown)):
        message = f"The goal {there[0]!r} was not set here, and is changed where it was set."
        raise Invalid(message, fields={"goals": message})


def _build_goal(tx: Transaction, mind: Mind, id: str, wish: SetGoal, known: Goal | None) -> Goal:
    now = tx.clock.now()
    new = Goal(mind.agent_id, mind.place, id, wish.description, "active", 0, (), now, now)
    before = known or new
    same = known is not None and known.description == wish.description
    return replace(
        before,
        description=wish.description,
        status=wish.status or before.status,
        priority=before.priority if wish.priority is None else wish.priority,
        outside=before.outside if same else mind.sources_of(id, wish.description),
        updated_at=now,
    )


async def delete_goals(tx: Transaction, mind: Mind, goal_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that are gone now, and those that were not there."""
    await _take_turn(tx, mind.agent_id)
    known = {goal.id: goal for goal in await rows.select_goals(tx, mind.agent_id, [mind.place])}
    for id in dict.fromkeys(goal_ids):
        if id in known:
            await rows.delete_goal(tx, known[id])
            _tell_goal(tx, known[id], deleted=True)
    return _split(goal_ids, known)


def _tell_goal(tx: Transaction, goal: Goal, *, deleted: bool = False) -> None:
    shown = rows.goal_on_the_wire(goal)
    shown = shown.model_copy(update={"deleted": True}) if deleted else shown
    record(tx, GoalUpdated(space_id=goal.place or None, agent_id=goal.agent_id, goal=shown), audience="managers")


def _split(wanted: Sequence[str], known: Mapping[str, object]) -> tuple[list[str], list[str]]:
    each = dict.fromkeys(wanted)
    return [id for id in each if id in known], [id for id in each if id not in known]


# ── memories ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def set_memories(tx: Transaction, mind: Mind, wishes: Sequence[SetMemory]) -> list[Memory]:
    """The last value of a key counts."""
    await _take_turn(tx, mind.agent_id)
    known = {memory.key: memory for memory in await rows.select_memories(tx, mind.agent_id, [mind.place])}
    wanted = {wish.key: wish.value for wish in wishes}
    left = rules.MOST_MEMORIES - await rows.count_memories(tx, mind.agent_id)
    _refuse_more("memories", rules.MOST_MEMORIES, left, len(wanted.keys() - known.keys()), "memories")
    made = [_build_memory(tx, mind, key, value, known.get(key)) for key, value in wanted.items()]
    for memory in made:
        await rows.upsert_memory(tx, memory)
    return made


def _build_memory(tx: Transaction, mind: Mind, key: str, value: str, known: Memory | None) -> Memory:
    now = tx.clock.now()
    if known is not None and known.value == value:
        return replace(known, updated_at=now)
    created_at = now if known is None else known.created_at
    return Memory(mind.agent_id, mind.place, key, value, mind.sources_of(key, value), created_at, now)


async def delete_memories(tx: Transaction, mind: Mind, keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that are gone now, and those that were not there."""
    await _take_turn(tx, mind.agent_id)
    known = {memory.key: memory for memory in await rows.select_memories(tx, mind.agent_id, [mind.place])}
    for key in dict.fromkeys(keys):
        if key in known:
            await rows.delete_memory(tx, known[key])
    return _split(keys, known)


# ── plans ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Planner:
    """Who sets a plan and for whom, where its runs begin, and by which clock; an agent's run brings its chain along."""

    id: str
    cause: Cause
    space_id: str | None
    timing: Timing
    depth: int = 0
    chain_id: str | None = None


async def set_plans(tx: Transaction, mind: Mind, wishes: Sequence[SetPlan], planner: Planner) -> list[Plan]:
    """A plan with an id that is there already is replaced."""
    await _take_turn(tx, mind.agent_id)
    refs = [wish.id for wish in wishes if wish.id is not None]
    if len(set(refs)) < len(refs):
        raise Invalid("Two of these plans have the same id. Say each once.", fields={"plans": "an id comes twice"})
    known = {ref: await rows.select_known(tx, mind.agent_id, mind.place, ref) for ref in refs}
    await in_turn(tx, *(plan.id for plan in known.values() if plan is not None))
    # One of them may have been fired, or have gone, while its turn was waited for.
    known = {ref: await rows.select_known(tx, mind.agent_id, mind.place, ref) for ref in refs}
    running = sum(plan is not None and plan.status != "completed" for plan in known.values())
    left = rules.MOST_PLANS - await rows.count_plans(tx, mind.agent_id)
    _refuse_more("plans", rules.MOST_PLANS, left, len(wishes) - running, "plans")
    member = planner.space_id is not None and await space_rows.is_member(tx, planner.space_id, planner.cause.id)
    made = []
    for wish in wishes:
        plan = _build_plan(tx, mind, wish, None if wish.id is None else known[wish.id], planner, member)
        await task_rows.drop_waiting(tx, plan.id, REPLACED)
        await _keep(tx, plan)
        made.append(plan)
    return made


def _build_plan(tx: Transaction, mind: Mind, wish: SetPlan, known: Plan | None, planner: Planner, member: bool) -> Plan:
    schedule, first = rules.schedule(wish, planner.timing)
    now = tx.clock.now()
    id = ids.plan() if known is None else known.id
    return Plan(
        id=id,
        agent_id=mind.agent_id,
        place=mind.place,
        ref=wish.id or id,
        name=wish.name,
        instruction=wish.instruction,
        schedule=schedule,
        shown_zone=planner.timing.zone,
        space_id=planner.space_id,
        status="active",
        reason=None,
        next_at=first,
        last_run=None if known is None else known.last_run,
        failures=0,
        cause=planner.cause,
        member=member,
        created_by=planner.id,
        depth=planner.depth,
        chain_id=planner.chain_id,
        made_at=planner.timing.now,
        outside=mind.sources_of(wish.id or "", wish.name, wish.instruction),
        created_at=now if known is None else known.created_at,
        updated_at=now,
    )


async def _keep(tx: Transaction, plan: Plan) -> Plan:
    plan = replace(plan, updated_at=tx.clock.now())
    await rows.upsert_plan(tx, plan)
    tasks.remind_at(tx, plan.next_at)
    return plan


async def delete_plans(tx: Transaction, mind: Mind, refs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that are gone now, and those that were not there. What was fired and has not begun does not begin."""
    await _take_turn(tx, mind.agent_id)
    found = {ref: await rows.select_known(tx, mind.agent_id, mind.place, ref) for ref in dict.fromkeys(refs)}
    known = {ref: plan for ref, plan in found.items() if plan is not None}
    await in_turn(tx, *(plan.id for plan in known.values()))
    for plan in known.values():
        await _delete(tx, plan)
    return _split(refs, known)


async def _delete(tx: Transaction, plan: Plan) -> None:
    await task_rows.drop_waiting(tx, plan.id, DELETED)
    await rows.delete_plan(tx, plan.id)


async def put_to_rest(tx: Transaction, plan: Plan, reason: str) -> Plan:
    """The office pauses it by itself, and says why in its space, but not what it was. The caller has its turn."""
    plan = replace(plan, status="paused", reason=reason, next_at=None)
    await task_rows.drop_waiting(tx, plan.id, PAUSED)
    plan = await _keep(tx, plan)
    note(tx, access.SYSTEM, "plan.paused", "plan", plan.id, reason=reason, agentId=plan.agent_id)
    if plan.space_id is not None and await space_rows.select_room(tx, plan.space_id) is not None:
        name = (await agent_rows.select_names(tx, [plan.agent_id])).get(plan.agent_id, plan.agent_id)
        await spaces.announce(tx, plan.space_id, f"A plan of {name} ({plan.ref}) is paused. {reason}")
    return plan


async def keep_fired(tx: Transaction, plan: Plan, firing: Firing) -> None:
    """What becomes of the plan at this time. The caller has its turn."""
    plan = await _keep(tx, plan)
    tell_fired(tx, plan, firing)


def tell_fired(tx: Transaction, plan: Plan, firing: Firing) -> None:
    place = plan.place or None
    told = PlanFired(space_id=place, agent_id=plan.agent_id, plan=rows.plan_on_the_wire(plan, firing))
    record(tx, told, audience="managers")


async def keep_failures(tx: Transaction, plan: Plan, failures: int) -> Plan:
    return await _keep(tx, replace(plan, failures=failures))


async def move(tx: Transaction, plan: Plan, next_at: int) -> None:
    """The clock was put back, and this is when it is due by the right one. The caller has its turn."""
    await _keep(tx, replace(plan, next_at=next_at))
    note(tx, access.SYSTEM, "plan.moved", "plan", plan.id, nextRun=tx.clock.at(next_at))


# ── spaces and erasures ─────────────────────────────────────────────────────────────────────────────────────────────


async def take_turns_in(tx: Transaction, space_id: str) -> None:
    """Nobody else changes the plans of this space before the transaction ends."""
    await in_turn(tx, *(plan.id for plan in await rows.select_in_space(tx, space_id)))


async def pause_all_in(tx: Transaction, space_id: str, reason: str) -> None:
    """The space is told by the caller, who has their turns."""
    for plan in await rows.select_in_space(tx, space_id):
        if plan.status == "active":
            await task_rows.drop_waiting(tx, plan.id, PAUSED)
            await _keep(tx, replace(plan, status="paused", reason=reason, next_at=None))


async def forget(tx: Transaction, whose: ids.Whose) -> None:
    """All of an agent, or of a space; and plans that somebody set or that work for them: for erasures."""
    for plan in await rows.select_these(tx, await rows.select_whose(tx, whose)):
        await _delete(tx, plan)
    await rows.forget_written(tx, whose)


async def forget_over(tx: Transaction, these: Sequence[str], before: str) -> int:
    """Plans that have been over since before then."""
    await in_turn(tx, *these)
    for plan in await rows.select_these(tx, these):
        if plan.status == "completed" and plan.updated_at < before:  # else somebody has set it anew meanwhile
            await _delete(tx, plan)
    return len(these)
