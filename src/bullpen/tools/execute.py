"""The one door through which an agent acts.

A call goes: look up, authorize, budget, validate, judge by policy, find the values of its variables, run with a
deadline, settle. Every way it can end is a ToolResult, stored before anything advances; nothing a tool does can raise
past this module, but what the database or the lease says can. What has to wait for somebody is in tools/waiting.py.

A `tx` tool's effect, result and events are one commit. Any other tool is marked as started first: if the process
dies then, a repeatable one is run again and a `once` tool is settled as outcome unknown, never repeated. A call that
somebody has approved goes the same way, inline or later, with exactly what was approved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import orjson

from bullpen import ids
from bullpen.access import rows as people
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
from bullpen.llm.types import ToolSpec
from bullpen.replacing import replace
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body, RetryTransaction
from bullpen.tools import approvals, judging, rules, showing, waiting
from bullpen.tools import rows as tool_rows
from bullpen.tools.check_apart import CheckApart
from bullpen.tools.door import Door, keep_result, show_under_way
from bullpen.tools.registry import Registry, listed_by
from bullpen.tools.types import (
    Denied,
    Done,
    Effects,
    Executor,
    Failed,
    Journal,
    Means,
    Outcome,
    OutcomeUnknown,
    RunView,
    Stopped,
    Streamed,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    Waiting,
)
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value
from bullpen.wire import Agent

logger = logging.getLogger("bullpen.tools")

# How long a call waits for its place among the messages of a space's agents, before it is told how long that takes.
PLACE_SECONDS = 5.0

# Their sentences say all there is to know; other codes tell a program what kind of failure it is.
UNTOLD = frozenset({"tool_error", "tool_failed", "bad_arguments"})

Handler: TypeAlias = Callable[[ToolCall, str | None], Awaitable[ToolResult | None]]


@dataclass(frozen=True)
class Toolkit(Door):
    """The tools of one agent in one run: definitions for the model, handlers for dispatch.

    Whom they act for is bound when the toolkit is made; nothing in a call's arguments can change that.
    """

    @property
    def definitions(self) -> list[ToolSpec]:
        return [tool.spec for tool in self.tools.values()]

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {name: partial(self._handle, tool) for name, tool in self.tools.items()}

    async def dispatch(self, call: ToolCall, space_id: str | None) -> ToolResult | None:
        """None: the run waits for somebody's answer."""
        return await self._handle(self.tools.get(call.tool), call, space_id)

    async def _handle(self, tool: Tool | None, call: ToolCall, space_id: str | None) -> ToolResult | None:
        return await execute(replace(self, space_id=space_id), tool, call)


def get_toolkit(
    agent: Agent,
    run: RunView,
    *,
    registry: Registry,
    store: Store,
    journal: Journal,
    means: Means,
    defined: Mapping[str, Tool] | None = None,
) -> Toolkit:
    """`defined` are the tools that somebody has made, as far as the agent lists them."""
    tools = {tool.name: tool for tool in registry.listed(listed_by(agent), defined)}
    return Toolkit(run, store, journal, means, tools=tools)


async def execute(door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | None:
    """Carry out one call and keep what came of it. None: its run waits for somebody's answer."""
    if call.started:
        asked = await door.store.read(lambda tx: tool_rows.select_pending(tx, call.id))
        if asked is not None and asked.is_held:
            return await _look_for_approval(door, tool, call)
        if asked is not None:  # whatever has become of the tool since: somebody was asked, and may have answered
            return await _look_for_answer(door, tool, call, asked)
    return await _carry_out(door, tool, call)


async def execute_late(door: Door, approval: Waiting, tool: Tool | None, given_up: str | None = None) -> None:
    """Carry out a call that was approved after its run had gone on. `given_up`: do not try, and say this of it."""
    door = replace(door, space_id=approval.space_id, approval=approval, late=True)
    call = ToolCall(approval.call_id, approval.tool_name, approval.arguments, approval.execution == "started")
    try:
        if given_up is not None:
            await _settle(door, tool, call, Failed(given_up, {"code": "broken"}))
        else:
            await _carry_out(door, tool, call)
    except (Fenced, RetryTransaction):
        raise
    except Exception as error:
        if isinstance(error, door.store.connection_errors):
            raise
        # Our bug. Left as it is, it would keep the thread from everything else for ever.
        logger.exception("an approved call cannot be carried out")
        await _settle(door, None, call, OutcomeUnknown(rules.interrupted(call.tool)))


async def _carry_out(door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | None:
    if tool is None:
        return await _settle(door, None, call, Denied(f"There is no tool named {call.tool!r} among yours."))
    if tool.visible:
        door = replace(door, unseen=await door.store.read(partial(judging.would_tell, door=door)))
    if (refused := _refusal(door, tool, call)) is not None:
        return await _settle(door, tool, call, refused)
    try:
        given = _parsed(call.arguments)
        args = await _checked(door, tool, call, given)
        showing.check_target(tool, call, args, door.space_id)
        if tool.hash and args is not given:  # under the names that its schema has: so they are shown, approved and sent
            call = replace(call, arguments=orjson.dumps(args).decode())
    except ToolError as error:
        return await _settle(door, tool, call, _as_outcome(tool, error))
    judged = await door.store.read(partial(judging.judge, door=door, tool=tool, call=call, args=args))
    door = replace(door, spaces=judged.spaces)
    if judged.decision == "deny":
        return await _settle(door, tool, call, Denied(rules.denied(tool)))
    door, missing = await _find_values(door, tool)
    if missing is not None and not await _may_be_asked(door, call):
        return await _settle(door, tool, call, _as_outcome(tool, missing))
    if judged.decision == "ask" and tool.proposes:
        door = replace(door, proposes=judged.proposes)
    elif judged.decision == "ask" and not approvals.is_approved(door.approval):
        if door.approval is not None and call.started:  # it had its values, was begun, and has to be approved by now
            return await _settle(door, tool, call, OutcomeUnknown(rules.interrupted(tool.name)))
        reason = "outward" if door.unseen else judged.reason
        return await door.store.transact(
            partial(waiting.ask_for_approval, door=door, tool=tool, call=call, reason=reason)
        )
    return await _begin(replace(door, unseen=False), tool, call, args, missing)


def _refusal(door: Door, tool: Tool, call: ToolCall) -> Outcome | None:
    """Why a call is not even looked at: a crash interrupted it, or its run may not make it."""
    if call.started and (tool.awaits is not None or not rules.may_run_again(tool)):
        return OutcomeUnknown(rules.interrupted(tool.name))
    why = (
        (rules.no_rights(door.run) if door.late else None)
        or rules.not_granted(tool, door.run)
        or rules.no_space(tool, door.space_id)
        or rules.over_budget(tool, door.run)
    )
    return None if why is None else Denied(why)


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


async def _begin(
    door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any], missing: VariablesRequired | None
) -> ToolResult | None:
    try:
        if door.approval is not None:
            spaces = door.spaces or ()
            await door.store.read(partial(waiting.check_approval, tool=tool, approval=door.approval, spaces=spaces))
        if missing is not None:
            ask = partial(waiting.ask_for_values, door=door, tool=tool, call=call, missing=missing.missing)
            return await door.store.transact(ask)
        if tool.awaits is not None:
            return await _await_answer(door, tool, call, args)
        if tool.effect == "tx":
            return await _run_in_transaction(door, tool, call, args)
        return await _run_outside(door, tool, call, args)
    except waiting.ApprovalVoid:
        if call.started:
            return await _settle(door, tool, call, OutcomeUnknown(rules.interrupted(tool.name)))
        return await door.store.transact(partial(waiting.ask_again, door=door, tool=tool, call=call))
    except waiting.TargetMoved:
        return await _settle(door, tool, call, Failed(rules.moved(tool)))


async def _await_answer(door: Door, tool: Tool, call: ToolCall, args: Mapping[str, Any]) -> ToolResult | None:
    return await door.store.transact(partial(waiting.ask_for_answer, door=door, tool=tool, call=call, args=args))


async def _look_for_answer(door: Door, tool: Tool | None, call: ToolCall, asked: Waiting) -> ToolResult | None:
    return await door.store.transact(partial(waiting.find_answer, door=door, tool=tool, call=call, asked=asked))


async def _look_for_approval(door: Door, tool: Tool | None, call: ToolCall) -> ToolResult | None:
    found = await door.store.transact(partial(waiting.find_approval, door=door, tool=tool, call=call))
    if not isinstance(found, Waiting):
        return found
    door = replace(door, space_id=found.space_id, approval=found)
    told = call.streamed or Streamed(found.space_id if found.visible else None)  # when it was asked for
    approved = ToolCall(call.id, call.tool, found.arguments, started=found.execution is not None, streamed=told)
    return await _carry_out(door, tool, approved)


async def _find_values(door: Door, tool: Tool) -> tuple[Door, VariablesRequired | None]:
    """The door with the values that the tool declares, and which of them nobody has set."""
    if not tool.variables:
        return door, None
    try:
        return replace(door, values=await _values(door, tool)), None
    except VariablesRequired as error:
        return door, error


async def _may_be_asked(door: Door, call: ToolCall) -> bool:
    """Is somebody there who can give values? They are asked for once, and never if nobody asked for the call."""
    cause = door.run.cause
    if call.started or not door.run.attended or (door.approval is not None and door.approval.needs is not None):
        return False
    person = await door.store.read(lambda tx: people.select_person(tx, cause.id))
    return person is not None and person.role != "guest"  # guests cannot sign in


async def _values(door: Door, tool: Tool) -> Mapping[str, Value]:
    run = door.run
    person_id = run.cause.id if run.cause.kind == "person" else None
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
        await waiting.begin_call(tx, door, tool, call, args)
        context = door.context(tool, call, tx, prepared)
        value = await _call(door, tool, context, partial(tool.executor.call, tool, context, args))
        result = ToolResult(call, Done(value, tool.act), call.shown, context.effects)
        return await keep_result(tx, door, tool, result)

    try:
        if tool.prepare is not None:
            before = door.context(tool, call, None)
            prepared = await _call(door, tool, before, partial(tool.prepare, before, **args))
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
    context = door.context(tool, call, None)
    outcome: Outcome
    try:
        context.executor = await _open(door, tool, context)
    except _ToolRaised as raised:
        unbegun = isinstance(raised.error, Stopped) and not call.started  # so there is no doubt about its effect
        outcome = Failed(rules.stopped(tool.name)) if unbegun else _as_outcome(tool, raised.error)
        return await _settle(door, tool, call, outcome)

    async def begin(tx: Transaction) -> None:
        await door.journal.check(tx)
        await waiting.begin_call(tx, door, tool, call, args, outlives=True)
        await door.journal.started(tx, call, call.shown, door.shown_in(tool))
        if not call.started:
            await show_under_way(tx, door, tool, call, "streaming")

    await door.store.transact(begin)
    carry_out = context.executor.call
    if context.executor.name:
        carry_out = partial(door.means.executors.call, context.executor)
    try:
        outcome = Done(await _call(door, tool, context, partial(carry_out, tool, context, args)), tool.act)
    except _ToolRaised as raised:
        outcome = _as_outcome(tool, raised.error)
    return await _settle(door, tool, replace(call, started=True), outcome, context.effects)


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


async def _open(door: Door, tool: Tool, context: ToolContext) -> Executor:
    """The executor that the call needs, open. One that holds nothing is."""
    wanted = tool.executor.choose(context)
    if not wanted.name:
        return wanted
    try:
        with door.journal.stoppable():
            return await door.means.executors.open(wanted, tool.timeout_ms / 1000)
    except Exception as error:
        if isinstance(error, door.store.connection_errors):
            raise
        raise _ToolRaised(error) from error


async def _call(door: Door, tool: Tool, context: ToolContext, work: Callable[[], Awaitable[Any]]) -> Any:
    """Run some of the tool's own code, bounded in time. Outside a transaction it ends at once if its run is to end."""
    stoppable = door.journal.stoppable() if context.transaction is None else nullcontext()
    try:
        with stoppable:
            async with asyncio.timeout(tool.timeout_ms / 1000):
                return await work()
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
        return await keep_result(tx, door, tool, result)

    return await door.store.transact(body)


def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise BadArguments(f"The arguments are not valid JSON ({error}). Write one JSON object.") from None
