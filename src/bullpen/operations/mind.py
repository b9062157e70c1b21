"""An agent's goals, memories and plans, as others see and change them: those who manage agents, and the agent by its
own token.

What stays in a private space is for those of them who may read that space. In a run an agent uses its tools instead
(`toolbox/mind`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.audit.actions import note
from bullpen.errors import Invalid, NotFound
from bullpen.inbox.types import Cause
from bullpen.mind import actions, rows, rules
from bullpen.mind.actions import Mind, Planner
from bullpen.mind.rules import Timing
from bullpen.mind.types import Goal, Memory, Plan
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.tasks.actions import Rules
from bullpen.threads.rules import SCOPES
from bullpen.tools.remembering import situate
from bullpen.wire import Agent
from bullpen.wire.nouns import TaskStatus
from bullpen.wire.requests import SetGoal, SetMemory, SetPlan


class Placed(Protocol):
    @property
    def place(self) -> str: ...


P = TypeVar("P", bound=Placed)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def list_goals(tx: Transaction, caller: Principal, agent_id: str) -> list[Goal]:
    """In the order in which the agent is shown them."""
    await _look_into(tx, caller, agent_id, "see_inside_agent")
    return await _readable(tx, caller, agent_id, rules.in_order(await rows.select_all_goals(tx, agent_id)))


async def list_memories(tx: Transaction, caller: Principal, agent_id: str) -> list[Memory]:
    await _look_into(tx, caller, agent_id, "see_inside_agent")
    return await _readable(tx, caller, agent_id, await rows.select_all_memories(tx, agent_id))


async def list_plans(tx: Transaction, caller: Principal, agent_id: str, status: TaskStatus | None) -> list[Plan]:
    """Those that are not over, unless somebody asks for others."""
    await _look_into(tx, caller, agent_id, "see_inside_agent")
    found = await rows.select_all_plans(tx, agent_id, status)
    return await _readable(tx, caller, agent_id, [plan for plan in found if status or plan.status != "completed"])


async def _readable(tx: Transaction, caller: Principal, agent_id: str, found: Sequence[P]) -> list[P]:
    if caller.kind == "agent" and caller.id == agent_id:
        return list(found)
    places = sorted({each.place for each in found} - {rules.EVERYWHERE})
    open_to = {rules.EVERYWHERE, *(await spaces.readable(tx, caller, places) if places else ())}
    return [each for each in found if each.place in open_to]


async def _look_into(tx: Transaction, caller: Principal, agent_id: str, action: Action) -> Agent:
    access.authorize(caller, action, Thing("agent", agent_id, holder=agent_id))
    return await agents.get(tx, agent_id)


# ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def set_goals(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, wishes: Sequence[SetGoal]
) -> list[Goal]:
    mind = await _reach_into(tx, caller, agent_id, space_id)
    note(tx, caller, "agent.goals_set", "agent", agent_id, goals=len(wishes))
    return await actions.set_goals(tx, mind, wishes)


async def delete_goal(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, id: str) -> None:
    mind = await _reach_into(tx, caller, agent_id, space_id)
    _check_there("goal", id, agent_id, await actions.delete_goals(tx, mind, [id]))
    note(tx, caller, "agent.goal_deleted", "agent", agent_id, goalId=id)


async def set_memories(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, wishes: Sequence[SetMemory]
) -> list[Memory]:
    mind = await _reach_into(tx, caller, agent_id, space_id)
    note(tx, caller, "agent.memories_set", "agent", agent_id, memories=len(wishes))
    return await actions.set_memories(tx, mind, wishes)


async def delete_memory(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, key: str) -> None:
    mind = await _reach_into(tx, caller, agent_id, space_id)
    _check_there("memory", key, agent_id, await actions.delete_memories(tx, mind, [key]))
    note(tx, caller, "agent.memory_deleted", "agent", agent_id)


async def set_plans(
    tx: Transaction,
    caller: Principal,
    agent_id: str,
    space_id: str | None,
    wishes: Sequence[SetPlan],
    limits: Rules,
) -> list[Plan]:
    """They work on behalf of the caller, who has to hold the right to schedule: there, if they are for a space."""
    agent = await _look_into(tx, caller, agent_id, "change_inside_agent")
    access.authorize(caller, "plan_for_agent", Thing("agent", agent_id, holder=agent_id))
    room = None if space_id is None else await spaces.room_for(tx, caller, "make_task", space_id)
    await _check_room(tx, agent, room)
    zone = None if room is None else await space_rows.select_timezone(tx, room.id)
    timing = Timing(tx.clock.millis(), zone or limits.timezone, min_interval=limits.min_interval)
    cause = Cause(caller.kind, caller.id, access.written(caller.grants))
    planner = Planner(caller.id, cause, None if room is None else room.id, timing)
    made = await actions.set_plans(tx, await _find_mind(tx, agent, room), wishes, planner)
    note(tx, caller, "agent.plans_set", "agent", agent_id, plans=[plan.ref for plan in made])
    return made


async def _check_room(tx: Transaction, agent: Agent, room: Room | None) -> None:
    if room is None and not SCOPES[agent.scope].spans_spaces:
        message = f"{agent.name} works in one space at a time. Say in which one it is to carry this out."
        raise Invalid(message, fields={"spaceId": "is needed"})
    if room is None:
        return
    spaces.refuse_archived(room)
    if not await space_rows.is_member(tx, room.id, agent.id):
        raise Invalid(f"{agent.name} is not a member of {room.id!r}.", fields={"spaceId": "the agent is not there"})


async def delete_plan(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, id: str) -> None:
    mind = await _reach_into(tx, caller, agent_id, space_id)
    _check_there("plan", id, agent_id, await actions.delete_plans(tx, mind, [id]))
    note(tx, caller, "agent.plan_deleted", "agent", agent_id, planId=id)


async def _reach_into(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None) -> Mind:
    agent = await _look_into(tx, caller, agent_id, "change_inside_agent")
    room = None if space_id is None else await spaces.readable_room(tx, caller, space_id)
    return await _find_mind(tx, agent, room)


async def _find_mind(tx: Transaction, agent: Agent, room: Room | None) -> Mind:
    """Where the agent itself would keep it, in this space."""
    stays_in, active = (None, None) if room is None else (room.id if room.stays else None, room.id)
    situation = await situate(tx, agent, stays_in=stays_in, active=active)
    return Mind(agent.id, rules.place_of(agent, situation) or rules.EVERYWHERE, actions.nobody_outside)


def _check_there(what: str, id: str, agent_id: str, came: tuple[list[str], list[str]]) -> None:
    if not came[0]:
        raise NotFound(f"{agent_id!r} has no {what} {id!r} there. One that stays in a space is named with its spaceId.")
