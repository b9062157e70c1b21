"""Tasks: what a space has an agent do, and when; and each time at which one was due."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.tasks import actions, firing, rows
from bullpen.tasks.types import Task
from bullpen.wire import nouns
from bullpen.wire.nouns import Firing, TaskStatus
from bullpen.wire.requests import CreateTask, UpdateTask

router = APIRouter(prefix="/tasks", route_class=CappedRoute, tags=["tasks"])

LATEST = 1 << 62
OPEN: tuple[TaskStatus, ...] = ("active", "paused")
Status = Annotated[TaskStatus | Literal["all"] | None, Query(description="Left out: active and paused ones.")]
SpaceId = Annotated[str | None, Query(alias="spaceId", max_length=200, description="Only those of this space.")]
AgentId = Annotated[str | None, Query(alias="agentId", max_length=200, description="Only those of this agent.")]
Before = Annotated[int | None, Query(ge=0, le=LATEST, description="`next` of the page before.")]


@router.get("", response_model=Page[nouns.Task])
async def list_tasks(
    caller: Caller,
    store: Store,
    space_id: SpaceId = None,
    agent_id: AgentId = None,
    status: Status = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Newest first, of the spaces that the caller may read."""
    statuses = OPEN if status is None else get_args(TaskStatus) if status == "all" else (status,)

    async def body(tx: Transaction) -> list[Task]:
        if space_id is not None:
            readable = {(await spaces.readable_room(tx, caller, space_id)).id}
        else:
            readable = await spaces.readable(tx, caller, None)
        return await rows.select_tasks(
            tx,
            space_ids=sorted(readable),
            statuses=statuses,
            agent_id=agent_id,
            before=cursor or LAST,
            limit=limit,
        )

    found = await store.read(body)
    return page([rows.on_the_wire(task) for task in found], limit, lambda task: task.id)


@router.post("", status_code=201, response_model=nouns.Task)
async def create_task(request: CreateTask, caller: Caller, office: Office, store: Store) -> Response:
    """Schedule something. The answer says when it will be due: the next five times, and the zone they are meant in."""
    body = partial(actions.create, caller=caller, request=request, limits=office.task_rules)
    return answer(rows.on_the_wire(await store.transact(body)), 201)


@router.get("/{id}", response_model=nouns.Task)
async def get_task(id: str, caller: Caller, store: Store) -> Response:
    return answer(rows.on_the_wire(await store.read(lambda tx: actions.get(tx, caller, id))))


@router.patch("/{id}", response_model=nouns.Task)
async def update_task(id: str, request: UpdateTask, caller: Caller, office: Office, store: Store) -> Response:
    """Change what it does, or when. It works on behalf of whoever changes its prompt or its precheck from then on."""
    body = partial(actions.update, caller=caller, id=id, request=request, limits=office.task_rules)
    return answer(rows.on_the_wire(await store.transact(body)))


@router.delete("/{id}", status_code=204, response_class=Response)
async def cancel_task(id: str, caller: Caller, store: Store) -> Response:
    """Cancel it, and forget it together with its firings."""

    async def body(tx: Transaction) -> None:
        await actions.cancel(tx, caller, await actions.get_in_turn(tx, caller, id, "stop_task"))

    await store.transact(body)
    return Response(status_code=204)


@router.post("/{id}/pause", response_model=nouns.Task)
async def pause_task(id: str, caller: Caller, store: Store) -> Response:
    """It is not due again until it is resumed."""

    async def body(tx: Transaction) -> Task:
        return await actions.pause(tx, caller, await actions.get_in_turn(tx, caller, id, "stop_task"))

    return answer(rows.on_the_wire(await store.transact(body)))


@router.post("/{id}/resume", response_model=nouns.Task)
async def resume_task(id: str, caller: Caller, store: Store) -> Response:
    """It goes on with its next time from now; what was due meanwhile is not made up for."""

    async def body(tx: Transaction) -> Task:
        return await actions.resume(tx, caller, await actions.get_in_turn(tx, caller, id, "start_task"))

    return answer(rows.on_the_wire(await store.transact(body)))


@router.post("/{id}/run", status_code=202, response_model=Firing)
async def run_task(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Fire it now, besides its schedule."""

    async def body(tx: Transaction) -> Firing:
        task = await actions.get_in_turn(tx, caller, id, "start_task")
        return rows.firing_on_the_wire(await firing.run_now(tx, caller, task, office.settings.limits.chain_depth))

    return answer(await store.transact(body), 202)


@router.get("/{id}/firings", response_model=Page[Firing])
async def list_firings(id: str, caller: Caller, store: Store, limit: Limit = 50, cursor: Before = None) -> Response:
    """Each time at which it was due, newest first, with what came of it."""

    async def body(tx: Transaction) -> list[Firing]:
        await actions.get(tx, caller, id)
        return await rows.select_firings(tx, id, before=LATEST if cursor is None else cursor, limit=limit)

    return page(await store.read(body), limit, _place)


def _place(found: Firing) -> str:
    return str(rows.millis_of(found.nominal_at))
