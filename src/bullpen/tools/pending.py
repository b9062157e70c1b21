"""Calls whose result comes later: begun, answered, given up, each in one commit.

A run that waits is parked: its thread is `waiting`, nobody drives it, and nothing of it is in memory. An answer, the
deadline or somebody's cancelling lets it go on, in whatever process. From the moment a result is accepted it reaches
its agent exactly once: inline, by the run that waits, or by the inbox. Every change is a move of the table in
tools/rules.py, and a compare-and-set on the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from bullpen import ids
from bullpen.agents import rows as agent_rows
from bullpen.clock import Clock
from bullpen.errors import Broken, Conflict, Gone
from bullpen.events.actions import in_turn
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Item
from bullpen.replacing import replace
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.threads import actions as threads
from bullpen.tools import rows, rules, values
from bullpen.tools.actions import ask, tell_end, tell_over
from bullpen.tools.json_equality import equal_json
from bullpen.tools.outside import together
from bullpen.tools.rules import Mover
from bullpen.tools.types import RunView, Tool, ToolCall, Waiting
from bullpen.wire.nouns import InboxKind, MessageStatus, PendingKind, PendingStatus, Progress

KEEP_DAYS = 30  # an answer is taken for so long, unless the tool says otherwise
DAY_MS = 86_400_000
OPEN = ("waiting", "pending")
SILENT_MS = 60_000  # after so long without a word, whoever has begun a call is taken for dead


# ── the beginning ───────────────────────────────────────────────────────────────────────────────────────────────────


async def begin(
    tx: Transaction,
    run: RunView,
    tool: Tool,
    call: ToolCall,
    space_id: str | None,
    status: PendingStatus,
    approval: Waiting | None = None,
    *,
    late: bool = False,
) -> Waiting:
    """Somebody is asked. `waiting`: the run waits for it, as long as the tool says.

    `approval`: the row of the call, which had to be approved first and goes on under the same id.
    """
    assert tool.awaits is not None
    waiting = made(tx, run, tool, call, space_id, status, tool.awaits)
    if approval is None:
        await add(tx, waiting)
    else:
        waiting = replace(waiting, asks=approval.asks, tool_hash=approval.tool_hash, hash=approval.hash)
        waiting = replace(waiting, args=approval.args, spaces=approval.spaces, reason=approval.reason)
        waiting = replace(waiting, needs=approval.needs)
        if not approval.asked_unseen:  # else it was asked for unseen, and shows from now on
            waiting = replace(waiting, visible=approval.visible)
        await move(tx, approval, waiting, "late" if late else "run")
    await ask(tx, waiting)
    return waiting


async def add(tx: Transaction, waiting: Waiting) -> None:
    rules.check_begin(waiting)
    await rows.insert_pending(tx, waiting)


async def move(tx: Transaction, before: Waiting, after: Waiting, by: Mover) -> Waiting:
    """Bring a call, whose row the transaction has locked, from one state to another. As it is then."""
    rules.check_move(before, after, by)
    if not await rows.move_pending(tx, before, after):
        raise Broken(f"Call {before.call_id} was moved by somebody else, although its row was locked.")
    return after


async def deliver(tx: Transaction, waiting: Waiting, via: Literal["inline", "inbox"], by: Mover) -> Waiting | None:
    """Take the result to its agent. None: it has been, before."""
    if waiting.delivered_via is not None:
        return None
    return await move(tx, waiting, replace(waiting, delivered_via=via), by)


def made(
    tx: Transaction,
    run: RunView,
    tool: Tool,
    call: ToolCall,
    space_id: str | None,
    status: PendingStatus,
    kind: PendingKind,
) -> Waiting:
    now = tx.clock.millis()
    return Waiting(
        call_id=call.id,
        kind=kind,
        status=status,
        agent_id=run.agent.id,
        run_id=run.id,
        thread_id=run.thread_id,
        space_id=space_id,
        tool_name=tool.name,
        args=call.shown,
        cause=run.cause,
        depth=run.depth,
        chain_id=run.chain_id,
        created_at=tx.clock.now(),
        visible=tool.visible,
        outside=run.outside,
        deadline_at=now + tool.timeout_ms if status == "waiting" else None,
        expires_at=now + (tool.expires_ms or KEEP_DAYS * DAY_MS),
    )


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def accept(tx: Transaction, waiting: Waiting, result: Any, answered_by: str) -> bool:
    """Take a result; the row is locked, and the caller may answer. True: it was taken before, the same one."""
    if waiting.status == "resolved":
        if equal_json(waiting.result, result):
            return True
        raise Conflict(
            f"{waiting.answered_by} has answered this call already, with another result, which stands.",
            fields={"callId": "already_resolved", "answeredBy": waiting.answered_by or ""},
        )
    refuse_over(tx, waiting)
    inline = waiting.status == "waiting"
    over = replace(waiting, status="resolved", result=result, answered_by=answered_by)
    over = await move(tx, waiting, over if inline else replace(over, delivered_via="inbox"), "answer")
    await show(tx, over, "complete" if failure(result) is None else "error", **_said(result))
    tell_over(tx, over)
    if inline:
        threads.go_on_waiting(tx, waiting.thread_id)
    else:
        await by_inbox(tx, over, _said(result), outside=came_from(over))
    return False


def came_from(waiting: Waiting) -> tuple[str, ...]:
    """What people answer is said in the office; what programs answer, be it an error, comes from outside."""
    return (f"tool:{waiting.tool_name}",) if waiting.kind == "external" and waiting.status == "resolved" else ()


def failure(result: Any) -> str | None:
    """What went wrong, if that is all there is to the result: `{"error": "…"}`, as everywhere else."""
    error = result.get("error") if isinstance(result, dict) and len(result) == 1 else None
    return error if isinstance(error, str) else None


def _said(result: Any) -> dict[str, Any]:
    return {"result": result} if failure(result) is None else {"error": failure(result)}


def refuse_over(tx: Transaction, waiting: Waiting) -> None:
    if waiting.status == "expired" or (waiting.expires_at is not None and waiting.expires_at <= tx.clock.millis()):
        raise Gone("Nobody waits for this call any more: its time is over.")
    if waiting.status == "cancelled":
        raise Gone(f"This call was cancelled by {waiting.answered_by}.")


def _refuse_ended(tx: Transaction, waiting: Waiting) -> None:
    refuse_over(tx, waiting)
    if waiting.status not in OPEN:
        raise Gone(f"{waiting.answered_by} has answered this call already.")


async def report_progress(tx: Transaction, waiting: Waiting, progress: Progress) -> Waiting:
    """Whoever carries it out says how far it is. Kept for those who look later; it changes nothing else."""
    _refuse_ended(tx, waiting)
    await rows.update_progress(tx, waiting.call_id, progress)
    return replace(waiting, progress=progress)


async def leave_begun(tx: Transaction, waiting: Waiting, by: str) -> Waiting:
    """Another process than the one that has begun it wants to carry it out. While that one is heard of, it may not; and
    never again, if its effect may have happened: then the agent is told that nobody knows."""
    _refuse_ended(tx, waiting)
    assert waiting.progress is not None
    if tx.clock.millis() - Clock.read(waiting.progress.at) < SILENT_MS:
        message = f"Another process is carrying out this call of {waiting.tool_name}. Ask again in a while."
        raise Conflict(message, fields={"callId": "is begun"})
    await accept(tx, waiting, {"error": rules.interrupted(waiting.tool_name)}, by)
    return replace(waiting, status="resolved")


async def give_up(
    tx: Transaction, waiting: Waiting, status: Literal["expired", "cancelled"], by: str, why: str
) -> None:
    """It expires, or somebody cancels it. The agent is told once: by the run that waits, or by the inbox."""
    ended = replace(waiting, status=status, answered_by=by)
    over = await move(tx, waiting, ended, "expiry" if status == "expired" else "cancel")
    await show(tx, over, "expired" if status == "expired" else "cancelled", error=why)
    tell_over(tx, over)
    if waiting.status == "waiting":
        threads.go_on_waiting(tx, waiting.thread_id)
    else:
        await by_inbox(tx, over, {"error": why}, kind="expired" if status == "expired" else "tool_result")


async def leave(tx: Transaction, call_ids: list[str]) -> tuple[set[str], set[str]]:
    """The run that waited for these is over: what comes now, or has come, goes by inbox. Those that others answer,
    whose cards go on telling how they stand; and those of them that end, or have ended, without the run."""
    theirs: set[str] = set()
    later: set[str] = set()
    for waiting in await rows.lock_pending_of(tx, call_ids):
        if waiting.is_held:
            continue  # it is over with its run, or never was its business: see tools/approvals.py
        theirs.add(waiting.call_id)
        if waiting.status == "waiting":
            await move(tx, waiting, replace(waiting, status="pending"), "stop")
            later.add(waiting.call_id)
        elif waiting.status == "resolved" and await deliver(tx, waiting, "inbox", "stop"):
            await by_inbox(tx, waiting, _said(waiting.result), outside=came_from(waiting))
            later.add(waiting.call_id)
    return theirs, later


async def by_inbox(
    tx: Transaction,
    waiting: Waiting,
    said: dict[str, Any],
    kind: InboxKind = "tool_result",
    key: str = "",
    outside: Sequence[str] = (),
    *,
    ends: bool = True,
) -> None:
    """`ends`: this is the end of the call, and followers are told so. A run that waits tells them itself."""
    if ends:
        tell_end(tx, waiting, said)
    payload = {"callId": waiting.call_id, "toolName": waiting.tool_name, "args": waiting.args, **said}
    payload |= {"spaceId": waiting.space_id, **await _people(tx, waiting, said)}
    if sources := together(waiting.outside, outside):
        payload["outside"] = list(sources)
        # What it had asked was written after reading outside text; what a person has answered is that person's word.
        if waiting.kind == "space" and waiting.status == "resolved":
            payload["outsideIn"] = "args"
    item = Item(
        id=ids.inbox_item(),
        thread_id=waiting.thread_id,
        kind=kind,
        space_id=waiting.space_id,
        payload=payload,
        cause=waiting.cause,
        depth=waiting.depth,
        chain_id=waiting.chain_id,
    )
    await inbox.deliver_item(tx, item, key=f"call:{waiting.call_id}{key}")


async def _people(tx: Transaction, waiting: Waiting, said: dict[str, Any]) -> dict[str, Any]:
    """Who answered, by name, if a person did so, and who approved."""
    answerer = waiting.answered_by if waiting.kind == "space" and waiting.status == "resolved" else None
    named = {"answered": answerer, "approved": said.get("approvedBy")}
    names = await agent_rows.select_names(tx, sorted({id for id in named.values() if id is not None}))
    found = {f"{how}Name": names[id] for how, id in named.items() if id in names}
    return found | ({"answeredBy": answerer} if answerer is not None else {})


async def show(tx: Transaction, waiting: Waiting, status: MessageStatus, **said: Any) -> None:
    """On the card of the call, if it has one."""
    if waiting.visible and waiting.space_id is not None:
        metadata = {"toolName": waiting.tool_name, "callId": waiting.call_id, "args": waiting.args, **said}
        if waiting.answered_by is not None:
            metadata |= {"answeredBy": waiting.answered_by, "answeredAt": tx.clock.now()}
        if sources := together(waiting.outside, came_from(waiting)):
            metadata["outside"] = list(sources)
        await spaces.update_call(tx, ids.message_for(waiting.call_id), metadata, status)


async def in_turn_of(tx: Transaction, waiting: Waiting) -> None:
    """Followers hear of a card's changes in the order they were made."""
    if waiting.visible and waiting.space_id is not None:
        await in_turn(tx, waiting.space_id)


# ── the end of waiting ──────────────────────────────────────────────────────────────────────────────────────────────


async def expire(tx: Transaction, call_id: str) -> None:
    seen = await rows.select_pending(tx, call_id)
    if seen is None:
        return
    await in_turn_of(tx, seen)
    waiting = await rows.lock_pending(tx, call_id)
    if waiting is not None and waiting.status in OPEN:
        await give_up(tx, waiting, "expired", "Bullpen", unanswered(waiting))


async def expire_if_due(tx: Transaction, waiting: Waiting) -> bool:
    """A run that goes on after so long that its call is over for good reads that. The sweep would tell it again."""
    if waiting.expires_at is None or waiting.expires_at > tx.clock.millis():
        return False
    await give_up(tx, waiting, "expired", "Bullpen", unanswered(waiting))
    return True


def unanswered(waiting: Waiting) -> str:
    if waiting.kind == "variables":
        return values.unanswered(waiting)
    if waiting.kind == "approval":
        return f"Nobody approved {waiting.tool_name} in time, so it was not carried out."
    return f"Nobody answered {waiting.tool_name} in time."


async def drop(tx: Transaction, call_ids: Iterable[str], by: str) -> None:
    """Their agent is gone: nobody will hear what comes of them."""
    for call_id in sorted(call_ids):
        waiting = await rows.lock_pending(tx, call_id)
        if waiting is None or not (waiting.status in OPEN or rules.is_queued(waiting)):
            continue
        over = replace(waiting, status="cancelled", answered_by=by, result=None)
        await move(tx, waiting, over, "deletion")
        await show(tx, over, "cancelled", error="Its agent was deleted.")
        tell_over(tx, over)
        if waiting.status != "waiting":  # the run that waits for it is stopped, and says so
            tell_end(tx, over, {"error": "Its agent was deleted."})
