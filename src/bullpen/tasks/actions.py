"""Make a task, change it, pause and resume it, cancel it, and say who may. When it fires is `firing.py`.

A task works on behalf of whoever made it, with what they held then and still hold, and without the right to schedule
unless somebody has given it that. Whoever changes what it does, it works for them from then on; whoever changes when
does not lend it their rights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.budgets import actions as budgets
from bullpen.engine import nudges
from bullpen.errors import Conflict, Forbidden, Invalid, NotFound
from bullpen.events.actions import in_turn, record
from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import Cause
from bullpen.settings import TaskSettings
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.tasks import rows, times
from bullpen.tasks.types import Firing, Schedule, Scheduled, Task
from bullpen.wire import Agent
from bullpen.wire.events import DeletedTask, TaskCreated, TaskDeleted, TaskEvent, TaskFired, TaskUpdated
from bullpen.wire.nouns import ContextMode, MissedPolicy, ScheduleType
from bullpen.wire.requests import CreateTask, UpdateTask

DROPPED = "The task was paused before this had begun."
MOVED = "The task was given other times before this had begun."


@dataclass(frozen=True, slots=True)
class Wish:
    """A task that somebody wants: what is to be done, and when."""

    prompt: str
    schedule_type: ScheduleType
    schedule_value: str
    context_mode: ContextMode = "group"
    missed: MissedPolicy = "once"
    timezone: str | None = None
    precheck: dict[str, Any] | None = None
    may_schedule: bool = False


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes a task and for whom; an agent's run brings along what it has read, and its chain."""

    id: str
    cause: Cause
    depth: int = 0
    chain_id: str | None = None
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator says about tasks."""

    settings: TaskSettings
    timezone: str
    tools_of: Callable[[Agent], frozenset[str]] = lambda agent: frozenset(agent.tools)  # by name

    @property
    def min_interval(self) -> int:
        return int(self.settings.min_interval_seconds * 1000)


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def get(tx: Transaction, caller: Principal, id: str, action: Action = "see_task") -> Task:
    """The task, if the caller may do this with it. Unknown and hidden are deliberately the same."""
    task = await rows.select_task(tx, id)
    if task is None:
        raise NotFound(f"There is no task {id!r}, or it is not yours to see.")
    _, space = await spaces.standing(tx, caller, task.space_id)
    access.authorize(caller, action, replace(space, kind="task", id=id, holder=task.cause.id))
    return task


async def get_in_turn(tx: Transaction, caller: Principal, id: str, action: Action) -> Task:
    """The task, to change it: after other changes of it that are under way."""
    await in_turn(tx, id)
    return await get(tx, caller, id, action)


def grants(held: frozenset[Any], *, may_schedule: bool) -> str:
    """What a task takes along of what its maker holds."""
    return access.written(held if may_schedule else held - {"schedule"})


# ── making ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def create(tx: Transaction, caller: Principal, request: CreateTask, limits: Rules) -> Task:
    """What somebody asks for at the door."""
    room = await spaces.room_for(tx, caller, "make_task", request.space_id)
    agent_id = await _agent(tx, caller, room, request.agent_id)
    if request.may_schedule and caller.kind == "agent":
        raise Forbidden("Only people may let a task schedule others.")
    cause = Cause(caller.kind, caller.id, grants(caller.grants, may_schedule=request.may_schedule))
    wish = Wish(
        prompt=request.prompt,
        schedule_type=request.schedule_type,
        schedule_value=request.schedule_value,
        context_mode=request.context_mode,
        missed=request.missed,
        timezone=request.timezone,
        precheck=None if request.precheck is None else request.precheck.model_dump(),
        may_schedule=request.may_schedule,
    )
    task = await make(tx, room, agent_id, wish, Maker(caller.id, cause), limits)
    note(tx, caller, "task.created", "task", task.id, spaceId=room.id, agentId=agent_id)
    return task


async def _agent(tx: Transaction, caller: Principal, room: Room, agent_id: str | None) -> str:
    present = [recipient.agent_id for recipient in await space_rows.select_recipients(tx, room)]
    if caller.kind == "agent" and agent_id not in (None, caller.id):
        raise Forbidden("An agent schedules for itself only.")
    if caller.kind == "agent":
        return caller.id
    if agent_id is None and len(present) == 1:
        return present[0]
    if agent_id is None:
        raise Invalid("Say which agent is to do it.", fields={"agentId": f"one of {', '.join(present) or 'none yet'}"})
    if agent_id not in present:
        raise Invalid(f"{agent_id!r} is no agent of {room.id!r}.", fields={"agentId": "is not a member of the space"})
    return agent_id


async def make(
    tx: Transaction, room: Room, agent_id: str, wish: Wish, maker: Maker, limits: Rules, *, id: str | None = None
) -> Task:
    """Keep a task and say when it is due. The caller has checked who may."""
    id = id or ids.task()
    await in_turn(tx, id)
    spaces.refuse_archived(room)
    now = tx.clock.millis()
    schedule = await _schedule(tx, room.id, wish, limits)
    await _check_precheck(tx, agent_id, wish.precheck, limits)
    if limits.settings.per_space and await rows.count_tasks(tx, room.id) >= limits.settings.per_space:
        most = limits.settings.per_space
        raise Invalid(
            f"{room.id!r} has {most} tasks, which is the most. Cancel some first.",
            fields={"spaceId": "has too many tasks"},
        )
    at = tx.clock.now()
    task = Task(
        id=id,
        space_id=room.id,
        agent_id=agent_id,
        prompt=wish.prompt,
        schedule=schedule,
        context_mode=wish.context_mode,
        missed=wish.missed,
        precheck=wish.precheck,
        status="active",
        reason=None,
        next_at=times.first_after(schedule, now),
        last_run=None,
        failures=0,
        cause=maker.cause,
        member=await space_rows.is_member(tx, room.id, maker.cause.id),
        created_by=maker.id,
        depth=maker.depth,
        chain_id=maker.chain_id,
        made_at=now,
        outside=maker.outside,
        created_at=at,
        updated_at=at,
    )
    await rows.insert_task(tx, task)
    _tell(tx, TaskCreated, task)
    remind(tx, task)
    return task


async def _schedule(tx: Transaction, space_id: str, wish: Wish, limits: Rules) -> Schedule:
    zone = wish.timezone or await space_rows.select_timezone(tx, space_id) or limits.timezone
    now = tx.clock.millis()
    return times.check(wish.schedule_type, wish.schedule_value, zone, now=now, min_interval=limits.min_interval)


async def _check_precheck(tx: Transaction, agent_id: str, precheck: dict[str, Any] | None, limits: Rules) -> None:
    """A call of a tool that its agent does not have would decide nothing."""
    if precheck is None:
        return
    agent = await agent_rows.select_definition(tx, agent_id)
    known: frozenset[str] = frozenset() if agent is None else limits.tools_of(agent)
    if precheck["tool"] not in known:
        message = f"{agent_id} has no tool {precheck['tool']!r}. It has: {', '.join(sorted(known))}."
        raise Invalid(message, fields={"precheck": message})


def _tell(tx: Transaction, kind: type[TaskEvent], task: Task, firing: Firing | None = None) -> None:
    shown = rows.on_the_wire(task, firing)
    record(tx, kind(space_id=task.space_id, agent_id=task.agent_id, task=shown))


def tell_updated(tx: Transaction, task: Task) -> None:
    _tell(tx, TaskUpdated, task)


def tell_fired(tx: Transaction, task: Task, firing: Firing) -> None:
    _tell(tx, TaskFired, task, firing)


def remind(tx: Transaction, task: Task) -> None:
    """This process looks when the task is due; the others find it with their next sweep."""
    remind_at(tx, task.next_at)


def remind_at(tx: Transaction, next_at: int | None) -> None:
    if next_at is not None:
        nudges.remind(tx, next_at)


# ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def update(tx: Transaction, caller: Principal, id: str, request: UpdateTask, limits: Rules) -> Task:
    """Change what it does, or when. Whoever changes what it does, it works for them from then on."""
    await in_turn(tx, id)
    task = await get(tx, caller, id, "change_task")
    said = {name: getattr(request, name) for name in request.model_fields_set}
    if not said:
        return task
    if said.get("may_schedule") and caller.kind == "agent":
        raise Forbidden("Only people may let a task schedule others.")
    now = tx.clock.millis()  # before the schedule is checked: what is to come then is to come now
    schedule = await _changed_schedule(tx, task, said, limits)
    again = schedule != task.schedule and task.status != "paused"
    changed = replace(
        task,
        prompt=said.get("prompt") or task.prompt,
        schedule=schedule,
        context_mode=said.get("context_mode") or task.context_mode,
        missed=said.get("missed") or task.missed,
        precheck=_precheck(request) if "precheck" in said else task.precheck,
        status="active" if again else task.status,
        next_at=times.first_after(schedule, now) if again else task.next_at,
        failures=0,
    )
    if schedule != task.schedule:  # else a new time that comes before this has begun would count as missed
        await rows.drop_waiting(tx, task.id, MOVED)
    if changed.precheck != task.precheck:
        await _check_precheck(tx, task.agent_id, changed.precheck, limits)
    if _does_something_else(task, changed):
        _check_both(caller, task, said)
        changed = await _taken_over(tx, caller, changed)
    if (may_schedule := said.get("may_schedule")) is not None:
        held = access.parsed(changed.cause.grants) | {"schedule"}
        changed = replace(changed, cause=replace(changed.cause, grants=grants(held, may_schedule=may_schedule)))
    return await _keep(tx, caller, changed, "task.changed", fields=sorted(said))


def _precheck(request: UpdateTask) -> dict[str, Any] | None:
    return None if request.precheck is None else request.precheck.model_dump()


def _does_something_else(task: Task, changed: Task) -> bool:
    """Not if it only asks nothing first any more: what it does then is what it did."""
    return changed.prompt != task.prompt or changed.precheck not in (None, task.precheck)


def _check_both(caller: Principal, task: Task, said: Mapping[str, Any]) -> None:
    """Its prompt and its precheck are one person's: what somebody else wrote is not done with the caller's rights."""
    if caller.id == task.created_by:
        return
    if not said.get("prompt"):
        message = "Somebody else wrote the prompt. Say it as well: the task then works for you."
        raise Invalid(message, fields={"prompt": message})
    if task.precheck is not None and "precheck" not in said:
        message = "Somebody else wrote the precheck. Say it as well, or null: the task then works for you."
        raise Invalid(message, fields={"precheck": message})


async def _taken_over(tx: Transaction, caller: Principal, task: Task) -> Task:
    """It works for the caller now: a right to schedule that somebody else gave it does not become theirs."""
    may_schedule = caller.id == task.cause.id and "schedule" in access.parsed(task.cause.grants)
    return replace(
        task,
        cause=Cause(caller.kind, caller.id, grants(caller.grants, may_schedule=may_schedule)),
        member=await space_rows.is_member(tx, task.space_id, caller.id),
        created_by=caller.id,
        depth=0,
        chain_id=None,
        outside=(),
    )


async def _changed_schedule(tx: Transaction, task: Task, said: Mapping[str, Any], limits: Rules) -> Schedule:
    if not any(said.get(name) for name in ("schedule_type", "schedule_value", "timezone")):
        return task.schedule
    wish = Wish(
        prompt=task.prompt,
        schedule_type=said.get("schedule_type") or task.schedule.type,
        schedule_value=said.get("schedule_value") or task.schedule.value,
        timezone=said.get("timezone") or task.schedule.timezone,
    )
    return await _schedule(tx, task.space_id, wish, limits)


async def _keep(tx: Transaction, by: Principal | None, task: Task, action: str, **detail: Any) -> Task:
    task = replace(task, updated_at=tx.clock.now())
    await rows.update_task(tx, task)
    tell_updated(tx, task)
    remind(tx, task)
    note(tx, by or access.SYSTEM, action, "task", task.id, **detail)
    return task


async def pause(tx: Transaction, by: Principal, task: Task) -> Task:
    """It does not run until it is resumed; what was fired and has not begun does not begin. The caller has its turn."""
    if task.status == "completed":
        raise Conflict(f"Task {task.id} is over. Give it a new time, or cancel it.")
    if task.status == "paused":
        return task
    await rows.drop_waiting(tx, task.id, DROPPED)
    return await _keep(tx, by, replace(task, status="paused", reason=None, next_at=None), "task.paused")


async def resume(tx: Transaction, by: Principal, task: Task) -> Task:
    """It goes on with its next time from now: what was due meanwhile is not made up for. The caller has its turn."""
    if task.status == "completed":
        raise Conflict(f"Task {task.id} is over. Give it a new time, or cancel it.")
    if task.status == "active":
        return task
    if (room := await space_rows.select_room(tx, task.space_id)) is not None:
        spaces.refuse_archived(room)
    next_at = times.first_after(task.schedule, tx.clock.millis())
    if next_at is None:
        raise Conflict(f"The time of task {task.id} has passed. Give it a new one, or cancel it.")
    task = replace(task, status="active", reason=None, failures=0, next_at=next_at)
    return await _keep(tx, by, task, "task.resumed")


async def cancel(tx: Transaction, by: Principal, task: Task) -> None:
    """It is gone, with its history; what was fired and has not begun does not begin. The caller has its turn."""
    await _delete(tx, task)
    note(tx, by, "task.cancelled", "task", task.id, spaceId=task.space_id)


async def _delete(tx: Transaction, task: Task) -> None:
    await rows.drop_waiting(tx, task.id)
    await rows.delete_task(tx, task.id)
    await budgets.forget(tx, "task", task.id)
    record(tx, TaskDeleted(space_id=task.space_id, agent_id=task.agent_id, task=DeletedTask(id=task.id)))


async def forget(tx: Transaction, whose: ids.Whose) -> None:
    """Those of a space or an agent, and those that somebody made or that work for them: for erasures."""
    for task in await rows.select_these(tx, await rows.select_whose(tx, whose)):
        await _delete(tx, task)


async def forget_over(tx: Transaction, these: Sequence[str], before: str) -> int:
    """Those that have been over since before then."""
    await in_turn(tx, *these)
    over = [task for task in await rows.select_these(tx, these) if task.status == "completed"]
    for task in over:
        if task.updated_at < before:  # else somebody has changed it meanwhile
            await _delete(tx, task)
    return len(these)


async def put_to_rest(tx: Transaction, task: Task, reason: str) -> Task:
    """The office pauses it by itself, and says why in the space. The caller has its turn."""
    task = replace(task, status="paused", reason=reason, next_at=None)
    await rows.drop_waiting(tx, task.id, DROPPED)
    task = await _keep(tx, None, task, "task.paused", reason=reason)
    if await space_rows.select_room(tx, task.space_id) is not None:
        await spaces.announce(tx, task.space_id, f"The task {task.id} ({excerpt(task)}) is paused. {reason}")
    return task


async def take_turns_in(tx: Transaction, space_id: str) -> None:
    """Nobody else changes the tasks of this space before the transaction ends."""
    await in_turn(tx, space_id, *(task.id for task in await _active_in(tx, space_id)))


async def pause_all_in(tx: Transaction, space_id: str, reason: str) -> None:
    """The space is told once, by the caller, who has their turns."""
    for task in await _active_in(tx, space_id):
        await rows.drop_waiting(tx, task.id, DROPPED)
        paused = replace(task, status="paused", reason=reason, next_at=None)
        await _keep(tx, None, paused, "task.paused", reason=reason)


async def _active_in(tx: Transaction, space_id: str) -> list[Task]:
    return await rows.select_tasks(tx, space_ids=[space_id], statuses=("active",), limit=1_000_000)


async def move(tx: Transaction, task: Task, next_at: int) -> Task:
    """The clock was put back, and this is when it is due by the right one. The caller has its turn."""
    return await _keep(tx, None, replace(task, next_at=next_at), "task.moved", nextRun=tx.clock.at(next_at))


def excerpt(task: Task) -> str:
    line = " ".join(task.prompt.split())
    return f"“{line}”" if len(line) <= 60 else f"“{line[:59]}…”"


async def lost_right(
    tx: Transaction, task: Scheduled, agent: Agent | None, known: dict[Cause, bool] | None = None
) -> str | None:
    """Why it may not run any more: a sentence, or None if it may. `agent` is its agent, if it is still there.

    `known` says who may schedule, as far as this transaction has asked already; what it learns is added.
    """
    if task.space_id is not None and (reason := await _lost_space(tx, task.space_id)) is not None:
        return reason
    if agent is None:
        return f"Its agent, {await _name(tx, task.agent_id)}, is gone."
    if not await _is_there(tx, task, task.agent_id):
        return f"Its agent, {await _name(tx, task.agent_id)}, is not a member of the space any more."
    known = {} if known is None else known
    if task.cause not in known:
        known[task.cause] = await _may_schedule(tx, task.cause)
    if not known[task.cause]:
        return f"{await _name(tx, task.cause.id)}, for whom it works, may not schedule any more."
    if task.member and not await _is_there(tx, task, task.cause.id):
        return f"{await _name(tx, task.cause.id)}, for whom it works, is not a member of the space any more."
    return None


async def _lost_space(tx: Transaction, space_id: str) -> str | None:
    room = await space_rows.select_room(tx, space_id)
    if room is None:
        return "Its space is gone."
    return None if room.archived_at is None else "Its space is archived."


async def _is_there(tx: Transaction, task: Scheduled, member_id: str) -> bool:
    return task.space_id is None or await space_rows.is_member(tx, task.space_id, member_id)


async def _name(tx: Transaction, id: str) -> str:
    return (await agent_rows.select_names(tx, [id])).get(id, id)


async def _may_schedule(tx: Transaction, cause: Cause) -> bool:
    everything = replace(cause, grants=access.written(access.GRANTS))
    return "schedule" in access.parsed(await inbox_rows.select_held(tx, everything))
