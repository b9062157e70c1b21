"""The one door through which an agent acts.

A call goes: look up, validate, budget, run with a deadline, settle. Every way it can end is a ToolResult, stored
before anything advances; nothing a tool does can raise past this module except cancellation and losing the lease.

A `tx` tool's effect, result and events are one commit. Any other tool is marked as started first: if the process
dies then, a repeatable one is run again and a `once` tool is settled as outcome unknown, never repeated.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import orjson
from pydantic import BaseModel

from bullpen.errors import BadArguments, BullpenError, Fenced, RequestError, ToolError
from bullpen.storage import Store, Transaction
from bullpen.storage.store import RetryTransaction
from bullpen.tools import rules
from bullpen.tools.schema import parse_arguments
from bullpen.tools.types import (
    Denied,
    Done,
    Effects,
    Failed,
    Journal,
    Outcome,
    OutcomeUnknown,
    RunView,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
)

logger = logging.getLogger("bullpen.tools")


async def execute(
    call: ToolCall, space_id: str | None, *, tool: Tool | None, run: RunView, store: Store, journal: Journal
) -> ToolResult:
    """Carry out one call and keep what came of it."""
    raw = _loads(call.arguments)
    if tool is None:
        known = f"There is no tool named {call.tool!r} among yours."
        return await _settle(call, Denied(known), raw, None, store, journal)
    if call.started and not rules.may_run_again(tool):
        unknown = f"{tool.name} was interrupted while it ran; whether it took effect is unknown. It was not run again."
        return await _settle(call, OutcomeUnknown(unknown), raw, tool, store, journal)
    refusal = rules.no_space(tool, space_id) or rules.over_budget(tool, run)
    if refusal is not None:
        return await _settle(call, Denied(refusal), raw, tool, store, journal)
    try:
        args = parse_arguments(tool, _parsed(call.arguments))
    except BadArguments as error:
        return await _settle(call, Failed(error.message), raw, tool, store, journal)
    if tool.effect == "tx":
        return await _run_in_transaction(call, space_id, tool, args, raw, run, store, journal)
    return await _run_outside(call, space_id, tool, args, raw, run, store, journal)


async def _run_in_transaction(
    call: ToolCall,
    space_id: str | None,
    tool: Tool,
    args: BaseModel,
    raw: Any,
    run: RunView,
    store: Store,
    journal: Journal,
) -> ToolResult:
    async def body(tx: Transaction) -> ToolResult:
        await journal.check(tx)
        context = ToolContext(tx, run, call.id, space_id)
        value = await tool.function(context, **_named(args))
        result = ToolResult(call, Done(value, tool.act), raw, context.effects)
        await journal.settled(tx, result, tool)
        return result

    try:
        async with asyncio.timeout(tool.timeout_ms / 1000):
            return await store.transact(body)
    except Exception as error:
        # The transaction is undone, so nothing of the call happened; what is left is to say so.
        return await _settle(call, _as_outcome(tool, error), raw, tool, store, journal)


async def _run_outside(
    call: ToolCall,
    space_id: str | None,
    tool: Tool,
    args: BaseModel,
    raw: Any,
    run: RunView,
    store: Store,
    journal: Journal,
) -> ToolResult:
    async def begin(tx: Transaction) -> None:
        await journal.check(tx)
        await journal.started(tx, call, raw, tool)

    await store.transact(begin)
    context = ToolContext(None, run, call.id, space_id)
    try:
        async with asyncio.timeout(tool.timeout_ms / 1000):
            outcome: Outcome = Done(await tool.function(context, **_named(args)), tool.act)
    except Exception as error:
        outcome = _as_outcome(tool, error)
    return await _settle(call, outcome, raw, tool, store, journal, context.effects)


def _as_outcome(tool: Tool, error: Exception) -> Outcome:
    """What the model reads about an exception. Losing the lease is not the tool's failure, and goes on up."""
    if isinstance(error, Fenced | RetryTransaction):
        raise error
    if isinstance(error, TimeoutError):
        return Failed(f"Tool timed out after {tool.timeout_ms}ms")
    if isinstance(error, ToolError | RequestError):
        return Failed(error.message)
    logger.error("%s failed", tool.name, exc_info=error)
    detail = error.message if isinstance(error, BullpenError) else type(error).__name__
    return Failed(f"{tool.name} failed inside ({detail}); nothing of it took effect.")


async def _settle(
    call: ToolCall,
    outcome: Outcome,
    args: Any,
    tool: Tool | None,
    store: Store,
    journal: Journal,
    effects: Effects | None = None,
) -> ToolResult:
    result = ToolResult(call, outcome, args, effects or Effects())

    async def body(tx: Transaction) -> ToolResult:
        await journal.check(tx)
        await journal.settled(tx, result, tool)
        return result

    return await store.transact(body)


def _named(args: BaseModel) -> dict[str, Any]:
    return {name: getattr(args, name) for name in type(args).model_fields}


def _loads(arguments: str) -> Any:
    """The arguments as people will see them: parsed if they are JSON, else the text."""
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments


def _parsed(arguments: str) -> Any:
    try:
        return orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise BadArguments(f"The arguments are not valid JSON ({error}). Write one JSON object.") from None
