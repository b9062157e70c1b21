"""Calls that wait for somebody: look at them, answer them, cancel them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Gone
from bullpen.operations import answers
from bullpen.storage import Transaction
from bullpen.tools.actions import audience
from bullpen.tools.pending import OPEN
from bullpen.tools.types import Waiting
from bullpen.wire.events import ToolProgress
from bullpen.wire.nouns import Acceptance, PendingCall, PendingKind, PendingStatus
from bullpen.wire.requests import ReportProgress, ResolveCall, SubmitResult

router = APIRouter(route_class=CappedRoute, tags=["pending"])

Status = Annotated[PendingStatus | None, Query(description="Left out: those that are open.")]


@router.post("/runs/{run_id}/tool-results", response_model=Acceptance)
async def submit_result(run_id: str, request: SubmitResult, caller: Caller, office: Office, store: Store) -> Response:
    """What came of a call. The same again is a duplicate; another one is refused, and the first stands."""
    call_id, result = request.call_id, request.result
    return answer(
        await answers.submit(store, caller, office.registry, office.pool, office.vault, call_id, result, run_id=run_id)
    )


@router.get("/pending", response_model=Page[PendingCall])
async def list_pending(
    caller: Caller,
    store: Store,
    status: Status = None,
    kind: PendingKind | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Calls that the caller may see: people those that show in their spaces, agents and their programs their own;
    owners also those that do not show, where they may read."""
    statuses = OPEN if status is None else [status]

    async def body(tx: Transaction) -> list[Waiting]:
        return await answers.list_calls(tx, caller, statuses=statuses, kind=kind, before=cursor or LAST, limit=limit)

    found = await store.read(body)
    return page([waiting.shown for waiting in found], limit, lambda call: call.call_id)


@router.get("/pending/{call_id}", response_model=PendingCall)
async def get_pending(call_id: str, caller: Caller, store: Store) -> Response:
    found = await store.read(lambda tx: answers.get(tx, caller, call_id))
    return answer(found.shown)


@router.post("/pending/{call_id}/resolve", response_model=Acceptance)
async def resolve_pending(call_id: str, request: ResolveCall, caller: Caller, office: Office, store: Store) -> Response:
    return answer(
        await answers.submit(store, caller, office.registry, office.pool, office.vault, call_id, request.result)
    )


@router.post("/pending/{call_id}/progress", response_model=PendingCall)
async def report_progress(
    call_id: str, request: ReportProgress, caller: Caller, office: Office, store: Store
) -> Response:
    """Whoever carries out an external call says how far it is. 410: nobody waits for it any more, so stop.

    Before it begins a call of a tool that is `once`, it names itself as `runner`. 409: another one is at it.
    """
    waiting = await store.transact(lambda tx: answers.report_progress(tx, caller, call_id, request))
    if waiting.status not in OPEN:
        raise Gone("Another process had begun this call and is silent, so its agent reads that the outcome is unknown.")
    told = ToolProgress(space_id=waiting.space_id, agent_id=waiting.agent_id, run_id=waiting.run_id, call=waiting.shown)
    office.feed.publish(told, audience=audience(waiting))
    return answer(waiting.shown)


@router.post("/pending/{call_id}/cancel", response_model=PendingCall)
async def cancel_pending(call_id: str, caller: Caller, store: Store) -> Response:
    """Nobody will answer it; its agent is told so, once."""
    done = await store.transact(lambda tx: answers.cancel(tx, caller, call_id))
    return answer(done.shown)
