"""Visible tools: the call and its result as a message in the space the agent is in.

Same storage and events as every message; it cannot be replied to and wakes nobody. A call that is over at once is one
message; one that takes its time is shown when it starts, and completed when it is settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bullpen import ids
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.spaces.types import Author
from bullpen.storage import Transaction
from bullpen.tools import approvals
from bullpen.tools.outside import together
from bullpen.tools.types import OutcomeUnknown, RunView, ToolCall, ToolResult
from bullpen.wire.nouns import MessageStatus


def author(run: RunView) -> Author:
    """The agent, on behalf of whoever caused the run, and with the run's own rights: they only shrink along a chain."""
    return Author(
        id=run.agent.id,
        kind="agent",
        name=run.agent.name,
        cause=run.cause,
        run_id=run.id,
        depth=run.depth,
        chain_id=run.chain_id,
        outside=run.outside,
    )


async def show_started(
    tx: Transaction,
    run: RunView,
    space_id: str | None,
    call: ToolCall,
    args: Any,
    status: MessageStatus = "streaming",
    **more: Any,
) -> None:
    room = None if space_id is None else await rows.select_room(tx, space_id)
    if room is not None and await rows.is_member(tx, room.id, run.agent.id):
        id, shown = ids.message_for(call.id), {"toolName": call.tool, "callId": call.id, "args": args, **more}
        spaces.show_call(tx, room, author(run), id=id, metadata=shown, status=status)


async def show_settled(tx: Transaction, run: RunView, space_id: str | None, result: ToolResult) -> None:
    approval = result.approval
    if result.call.started or (approval is not None and not approval.asked_unseen):
        await complete(tx, result, run.outside)
        return
    room = None if space_id is None else await rows.select_room(tx, space_id)
    if room is not None and await rows.is_member(tx, room.id, run.agent.id):
        metadata, status = _settled(result, run.outside)
        spaces.show_call(tx, room, author(run), id=ids.message_for(result.call.id), metadata=metadata, status=status)


async def complete(tx: Transaction, result: ToolResult, outside: Sequence[str]) -> None:
    """Say what came of a call that was shown to be under way, wherever its agent is by now.

    `outside`: what its run had read before.
    """
    metadata, status = _settled(result, outside)
    await spaces.update_call(tx, ids.message_for(result.call.id), metadata, status)


def _settled(result: ToolResult, outside: Sequence[str]) -> tuple[dict[str, Any], MessageStatus]:
    metadata: dict[str, Any] = {"toolName": result.call.tool, "callId": result.call.id, "args": result.args}
    if sources := together(outside, result.effects.outside):
        metadata["outside"] = list(sources)
    metadata.update({"error": result.value["error"]} if result.is_error else {"result": result.value})
    if isinstance(result.outcome, OutcomeUnknown):
        metadata["outcome"] = "unknown"
    if result.approval is not None:
        metadata |= approvals.who(result.approval)
    return metadata, "error" if result.is_error else "complete"
