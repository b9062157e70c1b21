"""What an agent wants, knows under keys and plans: for people who may look inside it, and for the agent itself."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Page, answer
from bullpen.mind import rows
from bullpen.operations import mind
from bullpen.wire.nouns import Goal, Memory, Plan, TaskStatus
from bullpen.wire.requests import SetGoals, SetMemories, SetPlans

router = APIRouter(prefix="/agents", route_class=CappedRoute, tags=["agents"])

Place = Annotated[
    str | None,
    Query(alias="spaceId", max_length=200, description="The private space that it stays in. Left out: everywhere."),
]
Where = Annotated[str | None, Query(alias="spaceId", max_length=200, description="Where the agent is to carry it out.")]
GoalId = Annotated[str, Path(alias="goalId", max_length=64)]
PlanId = Annotated[str, Path(alias="planId", max_length=64)]
Key = Annotated[str, Query(max_length=200, description="The key of the memory.")]
Status = Annotated[TaskStatus | None, Query(description="Left out: those that are not over.")]


@router.get("/{id}/goals", response_model=Page[Goal])
async def list_goals(id: str, caller: Caller, store: Store) -> Response:
    """Active ones first, and among them the ones that matter most."""
    found = await store.read(lambda tx: mind.list_goals(tx, caller, id))
    return answer({"items": [rows.goal_on_the_wire(goal) for goal in found]})


@router.put("/{id}/goals", response_model=Page[Goal])
async def set_goals(id: str, request: SetGoals, caller: Caller, store: Store, space_id: Place = None) -> Response:
    """Make goals, or change those with these ids. The others stay as they are."""
    body = partial(mind.set_goals, caller=caller, agent_id=id, space_id=space_id, wishes=request.goals)
    return answer({"items": [rows.goal_on_the_wire(goal) for goal in await store.transact(body)]})


@router.delete("/{id}/goals/{goalId}", status_code=204, response_class=Response)
async def delete_goal(id: str, goal_id: GoalId, caller: Caller, store: Store, space_id: Place = None) -> Response:
    await store.transact(lambda tx: mind.delete_goal(tx, caller, id, space_id, goal_id))
    return Response(status_code=204)


@router.get("/{id}/memories", response_model=Page[Memory])
async def list_memories(id: str, caller: Caller, store: Store) -> Response:
    """By key."""
    found = await store.read(lambda tx: mind.list_memories(tx, caller, id))
    return answer({"items": [rows.memory_on_the_wire(memory) for memory in found]})


@router.put("/{id}/memories", response_model=Page[Memory])
async def set_memories(id: str, request: SetMemories, caller: Caller, store: Store, space_id: Place = None) -> Response:
    """Give keys their values. The others stay as they are."""
    body = partial(mind.set_memories, caller=caller, agent_id=id, space_id=space_id, wishes=request.memories)
    return answer({"items": [rows.memory_on_the_wire(memory) for memory in await store.transact(body)]})


@router.delete("/{id}/memories", status_code=204, response_class=Response)
async def delete_memory(id: str, key: Key, caller: Caller, store: Store, space_id: Place = None) -> Response:
    """Forget what stands under a key."""
    await store.transact(lambda tx: mind.delete_memory(tx, caller, id, space_id, key))
    return Response(status_code=204)


@router.get("/{id}/plans", response_model=Page[Plan])
async def list_plans(id: str, caller: Caller, store: Store, status: Status = None) -> Response:
    """With the next times at which each is due."""
    found = await store.read(lambda tx: mind.list_plans(tx, caller, id, status))
    return answer({"items": [rows.plan_on_the_wire(plan) for plan in found]})


@router.put("/{id}/plans", response_model=Page[Plan])
async def set_plans(
    id: str, request: SetPlans, caller: Caller, office: Office, store: Store, space_id: Where = None
) -> Response:
    """Make plans that work on your behalf, or replace those with these ids. The others stay as they are."""
    body = partial(
        mind.set_plans,
        caller=caller,
        agent_id=id,
        space_id=space_id,
        wishes=request.plans,
        limits=office.task_rules,
    )
    return answer({"items": [rows.plan_on_the_wire(plan) for plan in await store.transact(body)]})


@router.delete("/{id}/plans/{planId}", status_code=204, response_class=Response)
async def delete_plan(id: str, plan_id: PlanId, caller: Caller, store: Store, space_id: Place = None) -> Response:
    """It does not wake the agent any more."""
    await store.transact(lambda tx: mind.delete_plan(tx, caller, id, space_id, plan_id))
    return Response(status_code=204)
