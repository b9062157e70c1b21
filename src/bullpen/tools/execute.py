"""The one door through which an agent acts.

A call goes: look up, authorize, budget, validate, judge by policy, run with a deadline, settle. Every way it can end is
a ToolResult, stored before anything advances; nothing a tool does can raise past this module, but what the database or
the lease says can.

A `tx` tool's effect, result and events are one commit. Any other tool is marked as started first: if the process
dies then, a repeatable one is run again and a `once` tool is settled as outcome unknown, never repeated. A call that
somebody has approved goes the same way, inline or later, with exactly what was approved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from bullpen import ids
from bullpen.access.rules import SYSTEM
from bullpen.audit.actions import note
from bullpen.engine import nudges
from bullpen.errors import (
    BadArguments,
    EgressError,
    Fenced,
    KeyMissing,
    RequestError,
    SecretInvalid,
    ToolError,
    TooManyRequests,
    Unavailable,
    VariablesRequired,
)
from bullpen.events.actions import in_turn
from bullpen.observe import counts
from bullpen.observe.redact import here
from bullpen.storage import Store, Transaction
from bullpen.storage.statements import storable
from bullpen.storage.store import Body, RetryTransaction
from bullpen.tools import approvals, cards, outward, pending, policies, rules
from bullpen.tools import rows as tool_rows
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.outside import Outside, together
from bullpen.tools.schema import Function
from bullpen.tools.types import (
    AskReason,
    Denied,
    Done,
    Effects,
    Failed,
    Journal,
    Means,
    Outcome,
    OutcomeUnknown,
    RunView,
    Stopped,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    Waiting,
)
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value
from bullpen.wire.nouns import Decision, MessageStatus, PendingStatus

logger = logging.getLogger("bullpen.tools")

# How long a call waits for its place among the messages of a space's agents, before it is told how long that takes.
PLACE_SECONDS = 5.0

# Their sentences say all there is to know; other codes tell a program what kind of failure it is.
UNTOLD = frozenset({"tool_error", "tool_failed", "bad_arguments"})

ENDINGS: Mapping[type[Outcome], str] = {
    Done: "done",
    Failed: "failed",
    Denied: "denied",
    OutcomeUnknown: "outcome_unknown",
}


@dataclass(frozen=True, slots=True)
class Door:
    """Where a call is carried out: for whom, in which space, and where it is recorded."""

    run: RunView
    space_id: str | None
    store: Store
    journal: Journal
    means: Means
    values: Mapping[str, Value] = field(default_factory=dict)  # of the variables that the tool declares
    approval: Waiting | None = None  # somebody had to approve the call, and did
    late: bool = False  # after its run had gone on: what comes of it goes by inbox
    asks: bool = False  # the tool keeps what it would do as a proposal
    spaces: tuple[str, ...] | None = None  # which the call touches; None: it has not been judged yet
    unseen: bool = False  # its card would tell people what they may not read, as long as nobody has allowed that
    reached: list[str] = field(default_factory=list)  # who outside has answered the call

    def context(self, tool: Tool, call: ToolCall, tx: Transaction | None, prepared: Any = None) -> ToolContext:
        use = tool.use or f"tool:{tool.name}"
        outside = Outside(use, self.means.egress, self.means.vault, self.values, self.reached, tool.goes_out)
        return ToolContext(tx, self.run, call.id, self.space_id, self.means, outside, prepared, self.asks, self.spaces)


async def execute(
    call: ToolCall,
    space_id: str | None,
    *,
    tool: Tool | None,
    run: RunView,
    store: Store,
    journal: Journal,
    means: Means,
) -> ToolResult | None:
    """Carry out one call and keep what came of it. None: its run waits for somebody's answer."""
    door = Door(run, space_id, store, journal, means)
    if call.started:
        asked = await store.read(lambda tx: tool_rows.select_pending(tx, call.id))
        if asked is not None and asked.kind == "approval":
            return await _look_for_approval(door, tool, call)
        if asked is not None:  # whatever has become of the tool since: somebody was asked, and may have answered
            return await _look_for_answer(door, tool, call, asked)
    return await _carry_out(door, tool, call)


async def execute_late(
    approval: Waiting,
    *,
    tool: Tool | None,
    run: RunView,
    store: Store,
    journal: Journal,
    means: Means,
    given_up: str | None = None,
) -> None:
    """Carry out a call that was approved after its run had gone on. `given_up`: do not try, and say this of it."""
    door = Door(run, approval.space_id, store, journal, means, approval=approval, late=True)
    call = ToolCall(approval.call_id, approval.tool_name, approval.arguments, approval.execution == "started")
    try:
        if given_up is not None:
            await _settle(door, tool, call, Failed(given_up, {"code": "broken"}))
        else:
            await _carry_out(door, tool, call)
    except (Fenced, RetryTransaction):
        raise
    except Exception as error:
        if isinstance(error, store.connection_errors):
            raise
        # Our bug. Left as it is, it would keep the thread from everything else for ever.
        logger.exception("an approved call cannot be carried out")
        await _settle(door, None, call, OutcomeUnknown(rules.interrupted(call.tool)))


async def _carry_out(door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | None:
    if tool is None:
        return await _settle(door, None, call, Denied(f"There is no tool named {call.tool!r} among yours."))
    if tool.visible:
        door = replace(door, unseen=await door.store.read(partial(_would_tell, door=door)))
    if call.started and (tool.awaits is not None or not rules.may_run_again(tool)):
        return await _settle(door, tool, call, OutcomeUnknown(rules.interrupted(tool.name)))
    if (refusal := _refusal(door, tool)) is not None:
        return await _settle(door, tool, call, Denied(refusal))
    try:
        given = _parsed(call.arguments)
        args = await _checked(door, tool, call, given)
        if tool.hash and args is not given:  # under the names that its schema has: so they are shown, approved and sent
            call = replace(call, arguments=orjson.dumps(args).decode())
        if tool.variables:
            door = replace(door, values=await _values(door, tool))
    except ToolError as error:
        return await _settle(door, tool, call, _as_outcome(tool, error))
    judged = await door.store.read(partial(_judge, door=door, tool=tool, call=call, args=args))
    door = replace(door, spaces=judged.spaces)
    if judged.decision == "deny":
        return await _settle(door, tool, call, Denied(rules.denied(tool)))
    if judged.decision == "ask" and tool.proposes:
        door = replace(door, asks=True)
    elif judged.decision == "ask" and door.approval is None:
        return await _ask(door, tool, call, "outward" if door.unseen else judged.reason)
    door = replace(door, unseen=False)
    try:
        return await _begin(door, tool, call, args)
    except _Void:
        return await _ask_anew(door, tool, call)
    except _Moved:
        return await _settle(door, tool, call, Failed(rules.moved(tool)))


async def _checked(door: Door, tool: Tool, call: ToolCall, given: Any) -> Mapping[str, Any]:
    """The arguments as the tool takes them. A check that could be dear is marked first, and made elsewhere."""
    try:
        return tool.parse(given)
    except CheckApart as apart:
        return await _checked_apart(door, tool, call, given, apart)


async def _checked_apart(door: Door, tool: Tool, call: ToolCall, given: Any, apart: CheckApart) -> Mapping[str, Any]:
    async def mark(tx: Transaction) -> None:
        await door.journal.check(tx)
        await door.journal.mark(tx, call)

    await door.store.transact(mark)
    try:
        await apart.settle(door.means.pool)
    except asyncio.CancelledError:
        await door.store.transact(door.journal.check)  # the server stops, which is no death
        raise
    return tool.parse(given)


def _refusal(door: Door, tool: Tool) -> str | None:
    rightless = rules.no_rights(door.run) if door.late else None
    return (
        rightless
        or rules.not_granted(tool, door.run)
        or rules.no_space(tool, door.space_id)
        or rules.over_budget(tool, door.run)
    )


async def _begin(door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> ToolResult | None:
    if door.approval is not None:
        await door.store.read(partial(_check_approval, tool=tool, approval=door.approval, spaces=door.spaces or ()))
    if tool.awaits is not None:
        return await _await_answer(door, tool, call, args)
    if tool.effect == "tx":
        return await _run_in_transaction(door, tool, call, args)
    return await _run_outside(door, tool, call, args)


async def _values(door: Door, tool: Tool) -> Mapping[str, Value]:
    run = door.run
    person_id = run.cause_id if run.cause_kind == "person" else None
    place = Place(run.thread_id, run.agent.id, door.space_id, person_id)
    settings = door.means.vault.settings
    values = await door.store.read(lambda tx: variables.resolve(tx, place, tool.variables, settings))
    await _learn(door, values)
    return values


async def _learn(door: Door, values: Mapping[str, Value]) -> None:
    with suppress(SecretInvalid, KeyMissing):  # whoever opens it says so
        await door.means.vault.learn(values.values())


async def _run_in_transaction(door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> ToolResult:
    prepared = None

    async def body(tx: Transaction) -> ToolResult:
        await in_turn(tx, *_changed(door, tool, args))
        await door.journal.check(tx)
        await _take(tx, door, tool, call, args)
        context = door.context(tool, call, tx, prepared)
        value = await _call(door, tool, tool.function, context, args)
        result = ToolResult(call, Done(value, tool.act), call.shown, context.effects)
        return await _record(tx, door, tool, result)

    try:
        if tool.prepare is not None:
            prepared = await _call(door, tool, tool.prepare, door.context(tool, call, None), args)
        return await _in_its_place(door, body)
    except _ToolRaised as raised:
        # The transaction is undone, so nothing of the call happened; what is left is to say so.
        return await _settle(door, tool, call, _as_outcome(tool, raised.error))
    except TooManyRequests as error:
        return await _settle(door, tool, call, Failed(error.message))
    except Stopped as stopped:
        return await _settle(door, tool, call, _as_outcome(tool, stopped))


async def _in_its_place(door: Door, body: Body[ToolResult]) -> ToolResult:
    """Where many agents speak, wait a little for this one's place: outside any transaction, and bounded."""
    left = PLACE_SECONDS
    while True:
        try:
            return await door.store.transact(body)
        except TooManyRequests as error:
            if error.retry_after > left:
                raise
            wait = max(error.retry_after, 0.01)
            left -= wait
        with door.journal.stoppable():
            await asyncio.sleep(wait)


async def _run_outside(door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> ToolResult:
    async def begin(tx: Transaction) -> None:
        await door.journal.check(tx)
        await _take(tx, door, tool, call, args, begins=True)
        await door.journal.started(tx, call, call.shown, _shown_in(door, tool))
        if not call.started:
            await _show(tx, door, tool, call, "streaming")

    await door.store.transact(begin)
    context = door.context(tool, call, None)
    try:
        outcome: Outcome = Done(await _call(door, tool, tool.function, context, args), tool.act)
    except _ToolRaised as raised:
        outcome = _as_outcome(tool, raised.error)
    return await _settle(door, tool, replace(call, started=True), outcome, context.effects)


# ── somebody else's answer ──────────────────────────────────────────────────────────────────────────────────────────


async def _await_answer(door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> ToolResult | None:
    """Ask whoever answers such calls. The run waits for it, or goes on and gets the answer by its inbox."""

    async def body(tx: Transaction) -> ToolResult | None:
        await in_turn(tx, *_where_shown(door, tool))
        await door.journal.check(tx)
        await _take(tx, door, tool, call, args)
        goes_on = tool.is_async or door.late
        status: PendingStatus = "pending" if goes_on else "waiting"
        waiting = await pending.begin(tx, door.run, tool, call, door.space_id, status, door.approval)
        await _show(tx, door, tool, call, "requires_action")
        if goes_on:
            told = {"status": "pending", "pendingToolCallId": call.id}
            result = ToolResult(call, Done(told, tool.act), call.shown, Effects())
            _count(tx, tool, result.outcome)
            if not door.late:  # then its run is over, and the answer alone is worth waking somebody for
                await door.journal.settled(tx, result, _shown_in(door, tool))
            return result
        await door.journal.started(tx, call, call.shown, _shown_in(door, tool))
        await _park(tx, door, waiting)
        return None

    return await door.store.transact(body)


async def _look_for_answer(door: Door, tool: Tool | None, call: ToolCall, asked: Waiting) -> ToolResult | None:
    """The run goes on: the answer is there, or its time is over; else it waits on."""

    async def body(tx: Transaction) -> ToolResult | None:
        await pending.in_turn_of(tx, asked)
        await door.journal.check(tx)
        waiting = await tool_rows.lock_pending(tx, call.id)
        outcome = await _answered(tx, tool, call, waiting)
        if outcome is None:
            assert waiting is not None
            await _park(tx, door, waiting)
            return None
        effects = Effects(outside=() if waiting is None else pending.came_from(waiting))
        result = ToolResult(call, _cleaned(outcome), call.shown, effects)
        _count(tx, tool, outcome)
        await door.journal.settled(tx, result, asked.space_id if asked.visible else None)
        return result

    return await door.store.transact(body)


async def _answered(tx: Transaction, tool: Tool | None, call: ToolCall, waiting: Waiting | None) -> Outcome | None:
    """What the run is told; None: it has to wait on. Settles by which way the answer goes, once."""
    if waiting is None:
        return OutcomeUnknown(rules.interrupted(call.tool))
    if waiting.status == "resolved" and await tool_rows.deliver_pending(tx, waiting.call_id, "inline"):
        error = pending.failure(waiting.result)
        return Done(waiting.result, "acted") if error is None else Failed(error)
    if waiting.status == "waiting" and (waiting.deadline_at or 0) > tx.clock.millis():
        return None
    if waiting.status == "waiting":
        await tool_rows.move_pending(tx, waiting, "pending")
        why = pending.unanswered(waiting) if tool is None else f"Tool timed out after {tool.timeout_ms}ms"
        return Failed(why, {"pendingToolCallId": waiting.call_id})
    if waiting.status == "cancelled":
        return Failed(f"{await approvals.name_of(tx, waiting.answered_by)} cancelled this call.")
    return Failed("Nobody answered in time.")


async def _park(tx: Transaction, door: Door, waiting: Waiting) -> None:
    await door.journal.park(tx)
    if waiting.deadline_at is not None:
        nudges.remind(tx, waiting.deadline_at)


def _shown_in(door: Door, tool: Tool | None) -> str | None:
    """The space whose people see the call. One that was approved goes on where it was asked for."""
    return door.space_id if _shows(door, tool) and not door.unseen else None


def _shows(door: Door, tool: Tool | None) -> bool:
    visible = tool is not None and tool.visible
    if door.approval is None or _was_asked_unseen(door.approval):
        return visible
    return door.approval.visible


def _was_asked_unseen(approval: Waiting) -> bool:
    return approval.reason is not None and not approval.visible


def _where_shown(door: Door, tool: Tool | None) -> list[str]:
    """The space whose followers see the call, and must see its changes in their order."""
    shown_in = _shown_in(door, tool)
    return [] if shown_in is None else [shown_in]


async def _show(tx: Transaction, door: Door, tool: Tool, call: ToolCall, status: MessageStatus) -> None:
    """That the call is under way: on a card of its own, or on the one that it was approved on."""
    if door.approval is not None and not _was_asked_unseen(door.approval):
        who = {"approvedBy": door.approval.answered_by, **approvals.edited(door.approval)}
        await pending.show(tx, replace(door.approval, answered_by=None), status, **who)
    elif tool.visible:
        await cards.show_started(tx, door.run, door.space_id, call, call.shown, status=status)


# ── somebody's approval ─────────────────────────────────────────────────────────────────────────────────────────────


class _Void(Exception):
    """What was approved is not what would be carried out."""


class _Moved(Exception):
    """What the arguments name lies in another space than when the call was judged."""


@dataclass(frozen=True, slots=True)
class _Judged:
    decision: Decision
    spaces: tuple[str, ...]  # for which it was judged
    reason: AskReason | None = None  # why it asks, if no policy says so


async def _judge(tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> _Judged:
    """What the policies say about this call. Read for each call: what was denied a moment ago is denied."""
    run = door.run
    targets = await _targets(tx, door, tool, call, args)
    spaces = _touched(door, targets)
    found = await tool_rows.select_rules(tx, run.agent.id, spaces, tool.name, tool.hash)
    of_agent = run.agent.policy.get(tool.name)
    of_tool = tool.policy or ("ask" if tool.wary and run.outside else None)
    shown = _as_shown(tool, args)
    decision = policies.decide_for_all(spaces, found, shown, of_agent=of_agent, of_tool=of_tool)
    if decision != "allow" or not outward.is_suspect(run):
        return _Judged(decision, spaces)
    requests = outward.sends_arguments(tool, args)
    leaving = spaces if requests else await _wider(tx, door, tool, targets)
    if not requests and not leaving:
        return _Judged("allow", spaces)
    # Whoever allows the tool there, in whatever place, has allowed this too.
    decision = policies.decide_for_all(leaving, found, shown, of_agent=of_agent, of_tool=of_tool or "ask")
    return _Judged(decision, spaces, "outward" if decision == "ask" else None)


async def _wider(tx: Transaction, door: Door, tool: Tool, targets: frozenset[str]) -> tuple[str, ...]:
    """Where the call would tell people what they could not read."""
    shown_in = {door.space_id} if tool.visible and door.space_id is not None else set()
    return tuple(sorted(await outward.select_wider(tx, door.run, shown_in | (targets if tool.speaks else set()))))


async def _would_tell(tx: Transaction, door: Door) -> bool:
    """Would a card in this space tell people what they could not read, and nobody has allowed it?"""
    if door.approval is not None:
        return _was_asked_unseen(door.approval)
    if door.space_id is None or not outward.is_suspect(door.run):
        return False
    return bool(await outward.select_wider(tx, door.run, [door.space_id]))


async def _targets(tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> frozenset[str]:
    """The spaces the tool says; if it says nothing, the one its run was woken in, which it works for."""
    if tool.touches is None:
        return frozenset() if door.run.home is None else frozenset({door.run.home.id})
    context = replace(door, spaces=None).context(tool, call, tx)
    with suppress(ToolError, RequestError):  # what it names is not there, and the tool says so itself
        return frozenset(filter(storable, await tool.touches(context, args)))
    return frozenset()


def _touched(door: Door, targets: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(targets if door.space_id is None else targets | {door.space_id}))


def _as_shown(tool: Tool, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as conditions name them: one value has one name, whichever of them the model used.

    A built-in tool's are named as its schema has them, or as in Python. What was left out is not there.
    """
    if tool.hash:
        return args
    given = {name: to_jsonable_python(value) for name, value in args.items() if value is not None}
    return {**given, **{to_camel(name): value for name, value in given.items()}}


async def _ask(door: Door, tool: Tool, call: ToolCall, reason: AskReason | None) -> ToolResult | None:
    """Nothing happens yet. The run waits for an approval as long as it would for the tool, and goes on then."""
    call = replace(call, arguments=call.arguments or "{}", started=True)

    async def body(tx: Transaction) -> ToolResult | None:
        await in_turn(tx, *_where_shown(door, tool))
        await door.journal.check(tx)
        status: PendingStatus = "pending" if tool.is_async else "waiting"
        waiting = pending.made(tx, door.run, tool, call, door.space_id, status, "approval")
        waiting = replace(waiting, visible=tool.visible and not door.unseen, reason=reason, spaces=door.spaces or ())
        waiting = await approvals.ask(tx, door.run, tool, waiting)
        if waiting.visible:
            await cards.show_started(
                tx, door.run, door.space_id, call, call.shown, status="requires_action", approval=True
            )
        await door.journal.asked(tx, call)
        if tool.is_async:
            return await _tell_waiting(tx, door, tool, call)
        await _park(tx, door, waiting)
        return None

    return await door.store.transact(body)


async def _tell_waiting(tx: Transaction, door: Door, tool: Tool | None, call: ToolCall, **more: str) -> ToolResult:
    result = ToolResult(call, Done(approvals.told(call.id, **more), None), call.shown, Effects())
    await door.journal.settled(tx, result, _shown_in(door, tool))
    return result


async def _look_for_approval(door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | None:
    """The run goes on: somebody has answered, or its time is over; else it waits on."""

    async def body(tx: Transaction) -> ToolResult | Waiting | None:
        await in_turn(tx, *_where_shown(door, tool))
        await door.journal.check(tx)
        waiting = await tool_rows.lock_pending(tx, call.id)
        assert waiting is not None
        if approvals.is_approved(waiting):
            return waiting
        here = replace(door, unseen=_was_asked_unseen(waiting))
        if waiting.status == "waiting" and (waiting.deadline_at or 0) > tx.clock.millis():
            await _park(tx, door, waiting)
            return None
        if waiting.status == "waiting":
            await tool_rows.move_pending(tx, waiting, "pending")
            return await _tell_waiting(tx, here, tool, call)
        result = ToolResult(call, Denied(await _why_not(tx, waiting)), call.shown, Effects())
        await door.journal.settled(tx, result, _shown_in(here, tool))
        return result

    found = await door.store.transact(body)
    if not isinstance(found, Waiting):
        return found
    door = replace(door, space_id=found.space_id, approval=found)
    approved = ToolCall(call.id, call.tool, found.arguments, started=found.execution is not None)
    return await _carry_out(door, tool, approved)


async def _why_not(tx: Transaction, waiting: Waiting) -> str:
    if waiting.status == "resolved":
        await tool_rows.deliver_pending(tx, waiting.call_id, "inline")
        return await approvals.refusal(tx, waiting)
    if waiting.status == "cancelled":
        return f"{await approvals.name_of(tx, waiting.answered_by)} cancelled this call."
    return pending.unanswered(waiting)


async def _check_approval(tx: Transaction, tool: Tool, approval: Waiting, spaces: tuple[str, ...]) -> None:
    if not await approvals.holds(tx, approval, tool, spaces):
        raise _Void


async def _take(
    tx: Transaction, door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any], *, begins: bool = False
) -> None:
    """A call begins, if it is what was judged, and its approval still stands. With `begins`, what it does outlives the
    transaction."""
    judged = door.spaces or ()
    spaces = judged if tool.touches is None else _touched(door, await _targets(tx, door, tool, call, args))
    if door.approval is None:
        if spaces != judged:
            raise _Moved
        return
    await _check_approval(tx, tool, await _standing(tx, door.approval.call_id), spaces)
    if begins:
        await tool_rows.update_execution(tx, door.approval.call_id, "started" if door.late else "inline")


async def _standing(tx: Transaction, call_id: str) -> Waiting:
    waiting = await tool_rows.lock_pending(tx, call_id)
    if waiting is None or waiting.status != "resolved" or waiting.delivered_via is not None:
        raise Fenced(f"Call {call_id} was ended by somebody else; this driver stops.")
    return waiting


async def _ask_anew(door: Door, tool: Tool, call: ToolCall) -> ToolResult:
    if call.started:
        return await _settle(door, tool, call, OutcomeUnknown(rules.interrupted(tool.name)))

    async def body(tx: Transaction) -> ToolResult:
        await in_turn(tx, *_where_shown(door, tool))
        await door.journal.check(tx)
        assert door.approval is not None
        here = replace(door, unseen=_was_asked_unseen(door.approval))
        standing = await _standing(tx, door.approval.call_id)
        again = await approvals.ask_anew(tx, standing, tool, door.spaces or ())
        if again is None:
            refused = ToolResult(call, Denied(approvals.GIVEN_UP), call.shown, Effects())
            return await _record(tx, here, tool, refused)
        note = approvals.told(call.id, approvals.ASKED_ANEW)
        if door.late:
            await pending.by_inbox(tx, again, note, key=f":{again.asks}")
            return ToolResult(call, Done(note, None), call.shown, Effects())
        return await _tell_waiting(tx, here, tool, replace(call, started=True), message=approvals.ASKED_ANEW)

    return await door.store.transact(body)


def _changed(door: Door, tool: Tool, args: Mapping[str, Any]) -> list[str]:
    """The ids of what the call changes: followers must hear of its changes in the order they were made."""
    named = [args.get(name) or door.space_id for name in tool.changes]
    shown = [door.space_id] if tool.visible else []
    return [ids.canonical_space(id) for id in [*named, *shown] if id is not None]


class _ToolRaised(Exception):
    """Carries what a tool's own code raised, apart from what the database or the lease did."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _call(door: Door, tool: Tool, function: Function, context: ToolContext, args: Mapping[str, Any]) -> Any:
    """Run one of the tool's functions, bounded in time. Outside a transaction it ends at once if its run is to end."""
    stoppable = door.journal.stoppable() if context.transaction is None else nullcontext()
    try:
        with stoppable:
            async with asyncio.timeout(tool.timeout_ms / 1000):
                return await function(context, **args)
    except Exception as error:
        if isinstance(error, door.store.driver_errors) and context.transaction is not None:
            raise  # the store's to explain, or to try again
        raise _ToolRaised(error) from error


def _as_outcome(tool: Tool, error: Exception) -> Outcome:
    """What the model reads about an exception."""
    if isinstance(error, TimeoutError):
        return Failed(f"Tool timed out after {tool.timeout_ms}ms")
    if isinstance(error, Stopped):
        unsure = not rules.has_no_effect_yet(tool)
        return OutcomeUnknown(rules.interrupted(tool.name)) if unsure else Failed(rules.stopped(tool.name))
    if isinstance(error, VariablesRequired):
        return Failed(error.message, {"code": error.code, "missing": error.missing})
    if isinstance(error, RequestError) or (isinstance(error, ToolError) and error.code in UNTOLD):
        return Failed(error.message)
    if isinstance(error, ToolError | EgressError | SecretInvalid | Unavailable):
        return Failed(error.message, {"code": error.code, **error.fields})
    logger.error("%s failed", tool.name, exc_info=error)
    return Failed(f"{tool.name} failed inside ({type(error).__name__}). Try something else, or tell a person.")


async def _settle(
    door: Door, tool: Tool | None, call: ToolCall, outcome: Outcome, effects: Effects | None = None
) -> ToolResult:
    result = ToolResult(call, outcome, call.shown, effects or Effects())

    async def body(tx: Transaction) -> ToolResult:
        await door.journal.check(tx)
        return await _record(tx, door, tool, result)

    return await door.store.transact(body)


async def _record(tx: Transaction, door: Door, tool: Tool | None, result: ToolResult) -> ToolResult:
    """Keep the result, without any secret that a tool, a server or an error put into it."""
    effects = replace(
        result.effects,
        outside=together(result.effects.outside, door.reached),
        seen_in=outward.merge_places(result.effects.seen_in, _read_in(door, tool)),
    )
    result = replace(result, outcome=_cleaned(result.outcome), effects=effects, approval=door.approval)
    if door.approval is not None:
        await _standing(tx, door.approval.call_id)
        await tool_rows.deliver_pending(tx, door.approval.call_id, "inbox" if door.late else "inline")
    await door.journal.settled(tx, result, _shown_in(door, tool))
    _count(tx, tool, result.outcome)
    if isinstance(result.outcome, Failed) and result.outcome.detail.get("code") == SecretInvalid.code:
        # Somebody has been at the database: an operator should know.
        about = {name: result.outcome.detail[name] for name in ("variable", "scope")}
        note(tx, SYSTEM, "secret.invalid", "variable", about["variable"], scope=about["scope"], runId=door.run.id)
    visible = (tool is not None and tool.visible) or (door.approval is not None and door.approval.visible)
    if visible and not door.unseen:
        await cards.show_settled(tx, door.run, door.space_id, result)
    return result


def _read_in(door: Door, tool: Tool | None) -> tuple[str, ...]:
    """Whose text a result shows: a tool that takes a right tells of the spaces it touches, but for its own words."""
    reads = tool is not None and tool.grant is not None and not tool.speaks
    return (door.spaces or ()) if reads else ()


def _count(tx: Transaction, tool: Tool | None, outcome: Outcome) -> None:
    # A name that the model made up is not a label: there is no end of those.
    name = "unknown" if tool is None else tool.name
    tx.after_commit(partial(counts.TOOL_CALLS.add, name, ENDINGS[type(outcome)]))


def _cleaned(outcome: Outcome) -> Outcome:
    masker = here()
    if isinstance(outcome, Done):
        return replace(outcome, result=masker.clean_json(outcome.result))
    message = masker.clean_line(outcome.message)
    if isinstance(outcome, Failed):
        return replace(outcome, message=message, detail=masker.clean_json(outcome.detail))
    return replace(outcome, message=message)


def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise BadArguments(f"The arguments are not valid JSON ({error}). Write one JSON object.") from None
