"""Runs and their journals."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer
from bullpen.errors import Forbidden, NotFound
from bullpen.runs import actions, rows, trace
from bullpen.runs.types import Entry, Run
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire import Run as WireRun
from bullpen.wire import RunMessage
from bullpen.wire.nouns import RunStatus, Trace

router = APIRouter(prefix="/runs", route_class=CappedRoute, tags=["runs"])


@router.get("", response_model=Page[WireRun])
async def list_runs(
    caller: Caller,
    office: Office,
    agent_id: Annotated[str | None, Query(alias="agentId", max_length=200)] = None,
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
    status: RunStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    async def body(tx: Transaction) -> tuple[list[Run], str | None]:
        found = await rows.select_runs(
            tx, agent_id=agent_id, space_id=space_id, status=status, before=cursor or LAST, limit=limit
        )
        places = sorted({run.space_id for run in found if run.space_id is not None})
        readable = await spaces.readable(tx, caller, places)
        shown = [run for run in found if _visible(caller, run, readable)]
        return shown, found[-1].id if len(found) == limit else None

    shown, after = await office.store.read(body)
    answered = {"items": [rows.on_the_wire(run) for run in shown], **({"next": after} if after else {})}
    return answer(answered)


def _visible(caller: Principal, run: Run, readable: set[str]) -> bool:
    if caller.kind == "agent" and caller.id == run.agent_id:
        return True
    return caller.is_owner if run.space_id is None else run.space_id in readable


async def _get(tx: Transaction, caller: Principal, id: str) -> Run:
    run = await rows.select_run(tx, id)
    if run is not None:
        places = [] if run.space_id is None else [run.space_id]
        if _visible(caller, run, await spaces.readable(tx, caller, places)):
            return run
    raise NotFound(f"There is no run {id!r}.")


@router.get("/{id}", response_model=WireRun)
async def get_run(id: str, caller: Caller, office: Office) -> Response:
    run = await office.store.read(lambda tx: _get(tx, caller, id))
    return answer(rows.on_the_wire(run))


@router.get("/{id}/messages", response_model=Page[RunMessage])
async def list_run_messages(
    id: str, caller: Caller, office: Office, limit: Limit = 200, cursor: Annotated[int, Query(ge=-1, le=2**62)] = -1
) -> Response:
    """The journal, rising. What an agent thought and called is for owners and for the agent itself."""

    async def body(tx: Transaction) -> list[Entry]:
        run = await _get(tx, caller, id)
        _may_look_inside(caller, run)
        return await rows.select_entry_page(tx, id, after=cursor, limit=limit)

    found = await office.store.read(body)
    return page_rising(found, limit)


def page_rising(found: list[Entry], limit: int) -> Response:
    more = {"next": str(found[-1].position)} if len(found) == limit else {}
    return answer({"items": [rows.entry_on_the_wire(entry) for entry in found], **more})


def _may_look_inside(caller: Principal, run: Run) -> None:
    if not caller.is_owner and caller.id != run.agent_id:
        raise Forbidden("The journal of a run is for owners and for the agent itself.")


@router.get("/{id}/trace", response_model=Trace)
async def get_trace(id: str, caller: Caller, office: Office) -> Response:
    """The run as a tree of spans: run, step, tool."""

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        run = await _get(tx, caller, id)
        _may_look_inside(caller, run)
        return trace.spans(run, await rows.select_entries(tx, id))

    return answer({"spans": await office.store.read(body)})


@router.post("/{id}/cancel", response_model=WireRun)
async def cancel_run(id: str, caller: Caller, office: Office) -> Response:
    """Ask for it to stop. It ends at the next safe place, with status `cancelled`."""

    async def body(tx: Transaction) -> Run:
        run = await _get(tx, caller, id)
        if caller.kind != "person" and caller.id != run.agent_id:
            raise Forbidden("Only people, and the agent itself, may cancel a run.")
        return await actions.request_cancel(tx, id)

    run = await office.store.transact(body)
    office.signals.cancel(id)
    return answer(rows.on_the_wire(run))
