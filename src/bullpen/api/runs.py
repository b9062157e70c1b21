"""Runs and their journals."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Thing
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.operations import runs, seeing
from bullpen.runs import rows, trace
from bullpen.runs.types import Entry, Run
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire import Run as WireRun
from bullpen.wire import RunMessage
from bullpen.wire.nouns import RunStatus, StepRequest, Trace
from bullpen.wire.requests import RetryRun

Retry = Annotated[RetryRun, Body(default_factory=RetryRun)]

router = APIRouter(prefix="/runs", route_class=CappedRoute, tags=["runs"])


@router.get("", response_model=Page[WireRun])
async def list_runs(
    caller: Caller,
    store: Store,
    agent_id: Annotated[str | None, Query(alias="agentId", max_length=200)] = None,
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
    status: RunStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    async def body(tx: Transaction) -> list[Run]:
        return await rows.select_runs(
            tx,
            agent_id=agent_id,
            space_id=space_id,
            status=status,
            readable=await spaces.readable(tx, caller, None if space_id is None else [space_id]),
            reader=caller.id,
            sees_all=access.allows(caller, "see_run", Thing("run", people=0)),
            before=cursor or LAST,
            limit=limit,
        )

    found = await store.read(body)
    return page([rows.on_the_wire(run) for run in found], limit, lambda run: run.id)


@router.get("/{id}", response_model=WireRun)
async def get_run(id: str, caller: Caller, store: Store) -> Response:
    async def body(tx: Transaction) -> WireRun:
        run = await runs.get(tx, caller, id)
        return rows.on_the_wire(run).model_copy(update={"blocks": await runs.read_blocks(tx, caller, run)})

    return answer(await store.read(body))


@router.get("/{id}/messages", response_model=Page[RunMessage])
async def list_run_messages(
    id: str, caller: Caller, store: Store, limit: Limit = 200, cursor: Annotated[int, Query(ge=-1, le=2**62)] = -1
) -> Response:
    """The journal, rising. What an agent thought and called is for owners and for the agent itself."""

    async def body(tx: Transaction) -> list[Entry]:
        await runs.get(tx, caller, id, "see_inside_run")
        return await rows.select_entry_page(tx, id, after=cursor, limit=limit)

    found = await store.read(body)
    return page_rising(found, limit)


def page_rising(found: list[Entry], limit: int) -> Response:
    more = {"next": str(found[-1].position)} if len(found) == limit else {}
    return answer({"items": [rows.entry_on_the_wire(entry) for entry in found], **more})


@router.get("/{id}/trace", response_model=Trace)
async def get_trace(id: str, caller: Caller, store: Store) -> Response:
    """The run as a tree of spans: run, step, tool."""

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        run = await runs.get(tx, caller, id, "see_inside_run")
        return trace.spans(run, await rows.select_entries(tx, id))

    return answer({"spans": await store.read(body)})


@router.get("/{id}/steps/{step}/request", response_model=StepRequest)
async def get_step_request(
    id: str,
    step: Annotated[int, Path(ge=1, le=1_000_000)],
    caller: Caller,
    office: Office,
    store: Store,
    body: Annotated[bool, Query(description="Also the request as its provider got it.")] = False,
) -> Response:
    """What the model was shown before it gave the answer of this step, part by part, and what has changed since."""
    seen = await store.read(lambda tx: seeing.see_step(tx, office.world, caller, id, step, body=body))
    return answer(
        StepRequest(
            run_id=id,
            step=step,
            at=seen.at,
            model=seen.model,
            parts=seen.parts,
            tools=seen.tools,
            tokens=seen.tokens,
            window=seen.window,
            changed=seen.changed,
            left_out=seen.left_out,
            body=seen.body,
        )
    )


@router.post("/{id}/cancel", response_model=WireRun)
async def cancel_run(id: str, caller: Caller, store: Store) -> Response:
    """Ask for it to stop. It ends at the next safe place, with status `cancelled`."""
    run = await store.transact(lambda tx: runs.cancel(tx, caller, id))
    return answer(rows.on_the_wire(run))


@router.post("/{id}/retry", response_model=WireRun, status_code=201)
async def retry_run(id: str, caller: Caller, store: Store, request: Retry) -> Response:
    """Do a finished run once more: a new run, told the same. 200: a retry of it is to come or under way; that one."""
    run, made = await store.transact(lambda tx: runs.retry(tx, caller, id, request.client_retry_id))
    return answer(rows.on_the_wire(run), status=201 if made else 200)
