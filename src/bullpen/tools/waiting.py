"""A call that has to wait for somebody: for an answer, for an approval, or for values of variables.

Each function here is one transaction of the door, which tools/execute.py opens: it asks, or looks whether there is an
answer by now. The rows and what becomes of them are in tools/pending.py and tools/approvals.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bullpen.engine import nudges
from bullpen.events.actions import in_turn
from bullpen.replacing import replace
from bullpen.storage import Transaction
from bullpen.tools import actions, approvals, cards, judging, pending, rules, values
from bullpen.tools import rows as tool_rows
from bullpen.tools.door import Door, clean_outcome, count_ending, keep_result, lock_approval, show_under_way
from bullpen.tools.types import (
    AskReason,
    Denied,
    Done,
    Effects,
    Execution,
    Failed,
    Outcome,
    OutcomeUnknown,
    Tool,
    ToolCall,
    ToolResult,
    Waiting,
)
from bullpen.wire.nouns import PendingStatus


class ApprovalVoid(Exception):
    """What was approved is not what would be carried out."""


class TargetMoved(Exception):
    """What the arguments name lies in another space than when the call was judged."""


async def begin_call(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any], *, outlives: bool = False
) -> None:
    """A call begins, if it is what was judged, and its approval still stands. `outlives`: what it does outlives the
    transaction."""
    spaces = await judging.find_spaces(tx, door, tool, call, args)
    if door.approval is None:
        if spaces != (door.spaces or ()):
            raise TargetMoved
        return
    approval = await lock_approval(tx, door.approval.call_id)
    await check_approval(tx, tool, approval, spaces)
    if outlives:
        begun: Execution = "started" if door.late else "inline"
        await pending.move(tx, approval, replace(approval, execution=begun), door.mover)


async def park(tx: Transaction, door: Door, waiting: Waiting) -> None:
    await door.journal.park(tx)
    if waiting.deadline_at is not None:
        nudges.remind(tx, waiting.deadline_at)


# ── somebody else's answer ──────────────────────────────────────────────────────────────────────────────────────────


async def ask_for_answer(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]
) -> ToolResult | None:
    """Ask whoever answers such calls. The run waits for it, or goes on and gets the answer by its inbox."""
    await in_turn(tx, *door.where_shown(tool))
    await door.journal.check(tx)
    await begin_call(tx, door, tool, call, args)
    goes_on = tool.is_async or door.late
    status: PendingStatus = "pending" if goes_on else "waiting"
    await door.journal.started(tx, call, call.shown, door.shown_in(tool))
    call = replace(call, started=True)
    waiting = await pending.begin(tx, door.run, tool, call, door.space_id, status, door.approval, late=door.late)
    await show_under_way(tx, door, tool, call, "requires_action")
    if goes_on:
        told = {"status": "pending", "pendingToolCallId": call.id}
        result = ToolResult(call, Done(told, tool.act), call.shown, Effects(), waits=True)
        count_ending(tx, tool, result.outcome)
        if not door.late:  # then its run is over, and the answer alone is worth waking somebody for
            await door.journal.settled(tx, result, door.shown_in(tool))
        return result
    await park(tx, door, waiting)
    return None


async def find_answer(
    tx: Transaction, door: Door, tool: Tool | None, call: ToolCall, asked: Waiting
) -> ToolResult | None:
    """The run goes on: the answer is there, or its time is over; else it waits on."""
    await pending.in_turn_of(tx, asked)
    await door.journal.check(tx)
    waiting = await tool_rows.lock_pending(tx, call.id)
    outcome = await _take_answer(tx, tool, call, waiting)
    if outcome is None:
        assert waiting is not None
        await park(tx, door, waiting)
        return None
    effects = Effects(outside=() if waiting is None else pending.came_from(waiting))
    waits = isinstance(outcome, Failed) and "pendingToolCallId" in outcome.detail
    result = ToolResult(call, clean_outcome(outcome), call.shown, effects, waits=waits)
    count_ending(tx, tool, outcome)
    await door.journal.settled(tx, result, asked.space_id if asked.visible else None)
    return result


async def _take_answer(tx: Transaction, tool: Tool | None, call: ToolCall, waiting: Waiting | None) -> Outcome | None:
    """What the run is told; None: it has to wait on. Settles by which way the answer goes, once."""
    if waiting is None:
        return OutcomeUnknown(rules.interrupted(call.tool))
    if waiting.status == "resolved" and await pending.deliver(tx, waiting, "inline", "run"):
        error = pending.failure(waiting.result)
        return Done(waiting.result, "acted") if error is None else Failed(error)
    if waiting.status == "waiting" and (waiting.deadline_at or 0) > tx.clock.millis():
        return None
    if waiting.status == "waiting" and not await pending.expire_if_due(tx, waiting):
        await pending.move(tx, waiting, replace(waiting, status="pending"), "run")
        why = pending.unanswered(waiting) if tool is None else f"Tool timed out after {tool.timeout_ms}ms"
        return Failed(why, {"pendingToolCallId": waiting.call_id})
    if waiting.status == "cancelled":
        return Failed(f"{await approvals.name_of(tx, waiting.answered_by)} cancelled this call.")
    return Failed("Nobody answered in time.")


# ── somebody's approval, or values ──────────────────────────────────────────────────────────────────────────────────


async def ask_for_approval(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, reason: AskReason | None
) -> ToolResult | None:
    """Nothing happens yet. The run waits for an approval as long as it would for the tool, and goes on then."""

    def ask(waiting: Waiting) -> Waiting:
        return approvals.asked(tx, door.run, tool, replace(waiting, kind="approval", reason=reason))

    return await _hold(tx, door, tool, call, ask, approval=True)


async def ask_for_values(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, missing: Sequence[Mapping[str, Any]]
) -> ToolResult | None:
    """The same, until somebody gives the values that are missing. The call is bound as an approved one is."""
    needs = values.list_needs(missing, door.run, tool)

    def ask(waiting: Waiting) -> Waiting:
        waiting = replace(waiting, kind="variables", needs=needs)
        if door.approval is None:
            return approvals.bound(waiting, tool.hash)
        return replace(waiting, allowed=approvals.keep(door.approval))

    return await _hold(tx, door, tool, call, ask, variables=needs, personId=door.run.cause.id)


async def _hold(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, ask: Callable[[Waiting], Waiting], **shown: Any
) -> ToolResult | None:
    """Ask people before anything of the call is carried out: for the first time, or for something else than before."""
    call = replace(call, arguments=call.arguments or "{}")
    await in_turn(tx, *door.where_shown(tool))
    await door.journal.check(tx)
    if door.approval is None:
        await door.journal.started(tx, call, call.shown, door.shown_in(tool))
    call = replace(call, started=True)
    status: PendingStatus = "pending" if tool.is_async or door.late else "waiting"
    new = pending.made(tx, door.run, tool, call, door.space_id, status, "approval")
    new = replace(new, visible=tool.visible and not door.unseen)
    if door.approval is None:
        waiting = ask(replace(new, spaces=door.spaces or ()))
        await pending.add(tx, waiting)
    else:
        standing = await lock_approval(tx, door.approval.call_id)
        again = replace(standing, status=status, result=None, answered_by=None, visible=new.visible)
        again = replace(again, deadline_at=new.deadline_at, expires_at=new.expires_at, execution=None)
        waiting = await pending.move(tx, standing, ask(again), door.mover)
    await _show_held(tx, door, waiting, call, **shown)
    await actions.ask(tx, waiting)
    if door.late:
        return None  # its agent knows that it waits, and gets the result by inbox
    if tool.is_async:
        return await _tell_waiting(tx, door, tool, call, waiting)
    await park(tx, door, waiting)
    return None


async def _show_held(tx: Transaction, door: Door, waiting: Waiting, call: ToolCall, **shown: Any) -> None:
    """On a card of its own, or on the one that the call has."""
    if door.approval is not None and not door.approval.asked_unseen:
        await pending.show(tx, waiting, "requires_action", **shown)
    elif waiting.visible:
        await cards.show_started(tx, door.run, waiting.space_id, call, waiting.args, status="requires_action", **shown)


async def _tell_waiting(
    tx: Transaction, door: Door, tool: Tool | None, call: ToolCall, waiting: Waiting, **more: str
) -> ToolResult:
    told = values.told(waiting) if waiting.kind == "variables" else approvals.told(call.id, **more)
    result = ToolResult(call, Done(told, None), call.shown, Effects(), waits=True)
    await door.journal.settled(tx, result, door.shown_in(tool))
    return result


async def find_approval(tx: Transaction, door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | Waiting | None:
    """The run goes on: somebody has answered, or its time is over; else it waits on. The row: it was approved."""
    await in_turn(tx, *door.where_shown(tool))
    await door.journal.check(tx)
    waiting = await tool_rows.lock_pending(tx, call.id)
    assert waiting is not None
    if waiting.is_let_go:
        return waiting
    here = replace(door, unseen=waiting.asked_unseen)
    if waiting.status == "waiting" and (waiting.deadline_at or 0) > tx.clock.millis():
        await park(tx, door, waiting)
        return None
    if waiting.status == "waiting" and not await pending.expire_if_due(tx, waiting):
        await pending.move(tx, waiting, replace(waiting, status="pending"), "run")
        return await _tell_waiting(tx, here, tool, call, waiting)
    result = ToolResult(call, Denied(await _why_not(tx, waiting)), call.shown, Effects())
    await door.journal.settled(tx, result, here.shown_in(tool))
    return result


async def _why_not(tx: Transaction, waiting: Waiting) -> str:
    if waiting.status == "resolved":
        await pending.deliver(tx, waiting, "inline", "run")
        return await approvals.refusal(tx, waiting)
    if waiting.status == "cancelled":
        return f"{await approvals.name_of(tx, waiting.answered_by)} cancelled this call."
    return pending.unanswered(waiting)


async def check_approval(tx: Transaction, tool: Tool, approval: Waiting, spaces: tuple[str, ...]) -> None:
    if not await approvals.holds(tx, approval, tool, spaces):
        raise ApprovalVoid


async def ask_again(tx: Transaction, door: Door, tool: Tool, call: ToolCall) -> ToolResult:
    """What was approved is not what would be carried out: ask once more, or give the call up."""
    await in_turn(tx, *door.where_shown(tool))
    await door.journal.check(tx)
    assert door.approval is not None
    here = replace(door, unseen=door.approval.asked_unseen)
    standing = await lock_approval(tx, door.approval.call_id)
    if not approvals.is_approved(standing):  # it waited for values alone, and was judged again
        return await keep_result(tx, here, tool, ToolResult(call, Failed(rules.changed(tool)), call.shown, Effects()))
    again = await approvals.ask_anew(tx, standing, tool, door.spaces or (), late=door.late)
    if again is None:
        refused = ToolResult(call, Denied(approvals.GIVEN_UP), call.shown, Effects())
        return await keep_result(tx, here, tool, refused)
    note = approvals.told(call.id, approvals.ASKED_ANEW)
    if door.late:
        await pending.by_inbox(tx, again, note, key=f":{again.asks}", ends=False)
        return ToolResult(call, Done(note, None), call.shown, Effects())
    return await _tell_waiting(tx, here, tool, replace(call, started=True), again, message=approvals.ASKED_ANEW)
