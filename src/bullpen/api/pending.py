"""Calls that wait for somebody: look at them, answer them, cancel them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.apart.pool import ProcessPool
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.audit.actions import note
from bullpen.errors import CheckFailed, Invalid, NotFound
from bullpen.observe.redact import REDACTOR, Masker, owner
from bullpen.spaces import actions as spaces
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body
from bullpen.tools import actions, approvals, configs, pending, rows
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.registry import Registry
from bullpen.tools.types import Waiting
from bullpen.wire.events import ToolProgress
from bullpen.wire.nouns import Acceptance, PendingCall, PendingKind, PendingStatus, Progress
from bullpen.wire.requests import ReportProgress, ResolveCall, SubmitResult

router = APIRouter(route_class=CappedRoute, tags=["pending"])

OPEN: list[str] = ["waiting", "pending"]
Deed = Literal["see", "answer", "cancel"]
APPROVALS: Mapping[Deed, access.Action] = {
    "see": "see_approval",
    "answer": "answer_approval",
    "cancel": "cancel_approval",
}
Status = Annotated[PendingStatus | None, Query(description="Left out: those that are open.")]


async def thing_of(tx: Transaction, caller: Principal, waiting: Waiting) -> Thing:
    """The call, and how the caller stands to it and to the space it is in."""
    if waiting.space_id is None:
        return Thing("call", waiting.call_id, holder=waiting.agent_id, tool=waiting.tool_name, people=0, shown=False)
    _, space = await spaces.standing(tx, caller, waiting.space_id)
    return Thing(
        "call",
        waiting.call_id,
        holder=waiting.agent_id,
        member=space.member,
        public=space.public,
        people=space.people,
        tool=waiting.tool_name,
        shown=waiting.visible,
    )


async def _for(tx: Transaction, caller: Principal, call_id: str, to: Deed, *, lock: bool) -> Waiting:
    found = await (rows.lock_pending if lock else rows.select_pending)(tx, call_id)
    if found is None:
        raise NotFound(f"There is no call {call_id!r} that waits, or it is not yours to see.")
    access.authorize(caller, _action(found, to), await thing_of(tx, caller, found))
    return found


def _action(waiting: Waiting, to: Deed) -> access.Action:
    if waiting.kind == "approval":
        return APPROVALS[to]
    if to == "answer":
        return "answer_external" if waiting.kind == "external" else "answer_card"
    return "see_call" if to == "see" else "cancel_call"


def _masker(waiting: Waiting, caller: Principal) -> Masker:
    """For what somebody says about a call: the secrets of its run, and their own."""
    cause = waiting.cause
    owners = [owner("thread", waiting.thread_id), owner("agent", waiting.agent_id), owner(cause.kind, cause.id)]
    owners += [owner(caller.kind, caller.id)] + ([] if waiting.space_id is None else [owner("space", waiting.space_id)])
    return REDACTOR.masker(owners).keeping({waiting.tool_name, waiting.agent_id})


async def submit(
    tx: Transaction, caller: Principal, office: Any, call_id: str, run_id: str | None, result: object
) -> Acceptance:
    """Take somebody's result for a call. `run_id`: the run it must belong to, if the caller names one."""
    seen = await rows.select_pending(tx, call_id)
    if seen is None or run_id not in (None, seen.run_id):
        raise NotFound(f"There is no call {call_id!r} that waits, or it is not yours to see.")
    access.authorize(caller, _action(seen, "answer"), await thing_of(tx, caller, seen))
    await pending.in_turn_of(tx, seen)
    waiting = await rows.lock_pending(tx, call_id)
    assert waiting is not None
    clean = _masker(waiting, caller).clean_json(result)
    if waiting.kind != seen.kind:  # approved meanwhile: what was to be approved is to be answered now, by others
        access.authorize(caller, _action(waiting, "answer"), await thing_of(tx, caller, waiting))
    if waiting.kind == "approval":
        return await _approve(tx, caller, office.registry, waiting, clean)
    # Programs post results under the run, and whatever those look like, they are results.
    approves = run_id is None and access.allows(caller, "answer_approval")
    if approves and approvals.was_answered(waiting, clean):
        return Acceptance(duplicate=True)
    return Acceptance(duplicate=await pending.accept(tx, waiting, clean, caller.id))


async def _transact_checked(store: Store, pool: ProcessPool, body: Body[Acceptance]) -> Acceptance:
    """Arguments that somebody has changed may have to be checked elsewhere, and nobody waits for that in a
    transaction: it is broken off, and begun again when the answer is known."""
    try:
        return await store.transact(body)
    except CheckApart as apart:
        try:
            await apart.settle(pool)
        except CheckFailed as error:
            raise Invalid(error.message, fields={"result.args": error.message}) from None
        return await store.transact(body)


async def _approve(
    tx: Transaction, caller: Principal, registry: Registry, waiting: Waiting, result: object
) -> Acceptance:
    answer = approvals.parsed(result)
    if answer.always is not None:
        access.authorize(caller, "manage_agents")
        if answer.always == "space" and not waiting.spaces:
            raise Invalid("The call was made in no space.", fields={"result.always": "write `agent`"})
    tool = registry.find(waiting.tool_name)
    if tool is None and (config := await rows.select_tool(tx, waiting.tool_name)) is not None:
        tool = configs.made(config)
    if await approvals.answer(tx, waiting, answer, caller.id, tool):
        return Acceptance(duplicate=True)
    decision = "approved" if answer.approved else "rejected"
    about = {"agentId": waiting.agent_id, "toolName": waiting.tool_name, "edited": answer.args is not None}
    note(tx, caller, f"call.{decision}", "call", waiting.call_id, **about)
    if answer.always is not None:
        # In every space that it touches, or the next call like it would be asked for again.
        for space_id in waiting.spaces if answer.always == "space" else (None,):
            await actions.always_allow(tx, caller, waiting, space_id)
    return Acceptance(duplicate=False)


@router.post("/runs/{run_id}/tool-results", response_model=Acceptance)
async def submit_result(run_id: str, request: SubmitResult, caller: Caller, office: Office) -> Response:
    """What came of a call. The same again is a duplicate; another one is refused, and the first stands."""

    async def body(tx: Transaction) -> Acceptance:
        return await submit(tx, caller, office, request.call_id, run_id, request.result)

    return answer(await _transact_checked(office.store, office.pool, body))


@router.get("/pending", response_model=Page[PendingCall])
async def list_pending(
    caller: Caller,
    office: Office,
    status: Status = None,
    kind: PendingKind | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Calls that the caller may see: people those that show in their spaces, agents and their programs their own;
    owners also those that do not show, where they may read."""

    async def body(tx: Transaction) -> list[Waiting]:
        theirs = caller.kind in ("agent", "tools")
        return await rows.select_pending_page(
            tx,
            statuses=OPEN if status is None else [status],
            kind=kind,
            agent_id=_agent_of(caller),
            tools=None if caller.tools is None else sorted(caller.tools),
            spaces=None if theirs else sorted(await spaces.readable(tx, caller, None)),
            unseen=access.allows(caller, "operate"),
            approves=access.allows(caller, "answer_approval"),
            before=cursor or LAST,
            limit=limit,
        )

    found = await office.store.read(body)
    return page([waiting.shown for waiting in found], limit, lambda call: call.call_id)


def _agent_of(caller: Principal) -> str | None:
    return caller.id if caller.kind == "agent" else caller.serves


@router.get("/pending/{call_id}", response_model=PendingCall)
async def get_pending(call_id: str, caller: Caller, office: Office) -> Response:
    found = await office.store.read(lambda tx: _for(tx, caller, call_id, "see", lock=False))
    return answer(found.shown)


@router.post("/pending/{call_id}/resolve", response_model=Acceptance)
async def resolve_pending(call_id: str, request: ResolveCall, caller: Caller, office: Office) -> Response:
    async def body(tx: Transaction) -> Acceptance:
        return await submit(tx, caller, office, call_id, None, request.result)

    return answer(await _transact_checked(office.store, office.pool, body))


@router.post("/pending/{call_id}/progress", response_model=PendingCall)
async def report_progress(call_id: str, request: ReportProgress, caller: Caller, office: Office) -> Response:
    """Whoever carries out an external call says how far it is. 410: nobody waits for it any more, so stop."""

    async def body(tx: Transaction) -> Waiting:
        waiting = await _for(tx, caller, call_id, "answer", lock=True)
        if waiting.kind != "external":
            raise Invalid("Only calls that a program carries out have progress.", fields={"callId": "is of a person"})
        message = None if request.message is None else _masker(waiting, caller).clean(request.message)
        said = Progress(fraction=request.fraction, message=message, at=tx.clock.now())
        return await pending.report_progress(tx, waiting, said)

    waiting = await office.store.transact(body)
    told = ToolProgress(space_id=waiting.space_id, agent_id=waiting.agent_id, run_id=waiting.run_id, call=waiting.shown)
    office.feed.publish(told, audience=actions.audience(waiting))
    return answer(waiting.shown)


@router.post("/pending/{call_id}/cancel", response_model=PendingCall)
async def cancel_pending(call_id: str, caller: Caller, office: Office) -> Response:
    """Nobody will answer it; its agent is told so, once."""

    async def body(tx: Transaction) -> PendingCall:
        seen = await _for(tx, caller, call_id, "cancel", lock=False)
        await pending.in_turn_of(tx, seen)
        waiting = await _for(tx, caller, call_id, "cancel", lock=True)
        if waiting.status in OPEN:
            await pending.give_up(tx, waiting, "cancelled", caller.id, f"{caller.name} cancelled this call.")
        else:
            pending.refuse_over(tx, waiting)
        done = await rows.select_pending(tx, call_id)
        assert done is not None
        return done.shown

    return answer(await office.store.transact(body))
