"""The one door through which an agent acts.

A call goes: look up, authorize, budget, validate, run with a deadline, settle. Every way it can end is a ToolResult,
stored before anything advances; nothing a tool does can raise past this module, but what the database or the lease
says can.

A `tx` tool's effect, result and events are one commit. Any other tool is marked as started first: if the process
dies then, a repeatable one is run again and a `once` tool is settled as outcome unknown, never repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from pydantic import BaseModel

from bullpen import ids
from bullpen.access.rules import SYSTEM
from bullpen.audit.actions import note
from bullpen.errors import (
    BadArguments,
    EgressError,
    RequestError,
    SecretInvalid,
    ToolError,
    TooManyRequests,
    Unavailable,
    VariablesRequired,
)
from bullpen.events.actions import in_turn
from bullpen.observe import counts
from bullpen.observe.redact import REDACTOR
from bullpen.storage import Store, Transaction
from bullpen.storage.store import Body
from bullpen.tools import cards, rules
from bullpen.tools.outside import Outside
from bullpen.tools.schema import Function, parse_arguments
from bullpen.tools.types import (
    Denied,
    Done,
    Effects,
    Failed,
    Journal,
    Means,
    Outcome,
    OutcomeUnknown,
    RunView,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value

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

    def context(self, tool: Tool, call: ToolCall, tx: Transaction | None, prepared: Any = None) -> ToolContext:
        outside = Outside(f"tool:{tool.name}", self.means.egress, self.means.vault, self.values)
        return ToolContext(tx, self.run, call.id, self.space_id, self.means, outside, prepared)


async def execute(
    call: ToolCall,
    space_id: str | None,
    *,
    tool: Tool | None,
    run: RunView,
    store: Store,
    journal: Journal,
    means: Means,
) -> ToolResult:
    """Carry out one call and keep what came of it."""
    door = Door(run, space_id, store, journal, means)
    if tool is None:
        return await _settle(door, None, call, Denied(f"There is no tool named {call.tool!r} among yours."))
    if call.started and not rules.may_run_again(tool):
        return await _settle(door, tool, call, OutcomeUnknown(rules.interrupted(tool.name)))
    refusal = rules.not_granted(tool, run) or rules.no_space(tool, space_id) or rules.over_budget(tool, run)
    if refusal is not None:
        return await _settle(door, tool, call, Denied(refusal))
    try:
        args = parse_arguments(tool, _parsed(call.arguments))
        if tool.variables:
            door = replace(door, values=await _values(door, tool))
    except ToolError as error:
        return await _settle(door, tool, call, _as_outcome(tool, error))
    if tool.effect == "tx":
        return await _run_in_transaction(door, tool, call, args)
    return await _run_outside(door, tool, call, args)


async def _values(door: Door, tool: Tool) -> Mapping[str, Value]:
    run = door.run
    person_id = run.cause_id if run.cause_kind == "person" else None
    place = Place(run.thread_id, run.agent.id, door.space_id, person_id)
    settings = door.means.vault.settings
    return await door.store.read(lambda tx: variables.resolve(tx, place, tool.variables, settings))


async def _run_in_transaction(door: Door, tool: Tool, call: ToolCall, args: BaseModel) -> ToolResult:
    prepared = None

    async def body(tx: Transaction) -> ToolResult:
        await in_turn(tx, *_changed(door, tool, args))
        await door.journal.check(tx)
        context = door.context(tool, call, tx, prepared)
        value = await _call(door, tool, tool.function, context, args)
        result = ToolResult(call, Done(value, tool.act), call.shown, context.effects)
        return await _record(tx, door, tool, result)

    try:
        if tool.prepare is not None:
            prepared = await _call(door, tool, tool.prepare, door.context(tool, call, None), args)
        return await _in_its_place(door.store, body)
    except _ToolRaised as raised:
        # The transaction is undone, so nothing of the call happened; what is left is to say so.
        return await _settle(door, tool, call, _as_outcome(tool, raised.error))
    except TooManyRequests as error:
        return await _settle(door, tool, call, Failed(error.message))


async def _in_its_place(store: Store, body: Body[ToolResult]) -> ToolResult:
    """Where many agents speak, wait a little for this one's place: outside any transaction, and bounded."""
    left = PLACE_SECONDS
    while True:
        try:
            return await store.transact(body)
        except TooManyRequests as error:
            if error.retry_after > left:
                raise
            wait = max(error.retry_after, 0.01)
            left -= wait
        await asyncio.sleep(wait)


async def _run_outside(door: Door, tool: Tool, call: ToolCall, args: BaseModel) -> ToolResult:
    async def begin(tx: Transaction) -> None:
        await door.journal.check(tx)
        await door.journal.started(tx, call, call.shown, tool)
        if tool.visible and not call.started:
            await cards.show_started(tx, door.run, door.space_id, call, call.shown)

    await door.store.transact(begin)
    context = door.context(tool, call, None)
    try:
        outcome: Outcome = Done(await _call(door, tool, tool.function, context, args), tool.act)
    except _ToolRaised as raised:
        outcome = _as_outcome(tool, raised.error)
    return await _settle(door, tool, replace(call, started=True), outcome, context.effects)


def _changed(door: Door, tool: Tool, args: BaseModel) -> list[str]:
    """The ids of what the call changes: followers must hear of its changes in the order they were made."""
    named = [getattr(args, name, None) or door.space_id for name in tool.changes]
    shown = [door.space_id] if tool.visible else []
    return [ids.canonical_space(id) for id in [*named, *shown] if id is not None]


class _ToolRaised(Exception):
    """Carries what a tool's own code raised, apart from what the database or the lease did."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def _call(door: Door, tool: Tool, function: Function, context: ToolContext, args: BaseModel) -> Any:
    """Run one of the tool's functions, bounded in time."""
    try:
        async with asyncio.timeout(tool.timeout_ms / 1000):
            return await function(context, **_named(args))
    except Exception as error:
        if isinstance(error, door.store.driver_errors) and context.transaction is not None:
            raise  # the store's to explain, or to try again
        raise _ToolRaised(error) from error


def _as_outcome(tool: Tool, error: Exception) -> Outcome:
    """What the model reads about an exception."""
    if isinstance(error, TimeoutError):
        return Failed(f"Tool timed out after {tool.timeout_ms}ms")
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
    result = replace(result, outcome=_cleaned(result.outcome))
    await door.journal.settled(tx, result, tool)
    # A name that the model made up is not a label: there is no end of those.
    name = "unknown" if tool is None else tool.name
    tx.after_commit(partial(counts.TOOL_CALLS.add, name, ENDINGS[type(result.outcome)]))
    if isinstance(result.outcome, Failed) and result.outcome.detail.get("code") == SecretInvalid.code:
        # Somebody has been at the database: an operator should know.
        about = {name: result.outcome.detail[name] for name in ("variable", "scope")}
        note(tx, SYSTEM, "secret.invalid", "variable", about["variable"], scope=about["scope"], runId=door.run.id)
    if tool is not None and tool.visible:
        await cards.show_settled(tx, door.run, door.space_id, result)
    return result


def _cleaned(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Done):
        return replace(outcome, result=REDACTOR.clean_json(outcome.result))
    message = REDACTOR.clean_line(outcome.message)
    if isinstance(outcome, Failed):
        return replace(outcome, message=message, detail=REDACTOR.clean_json(outcome.detail))
    return replace(outcome, message=message)


def _named(args: BaseModel) -> dict[str, Any]:
    return {name: getattr(args, name) for name in type(args).model_fields}


def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise BadArguments(f"The arguments are not valid JSON ({error}). Write one JSON object.") from None
