"""One call on its way from the loop to its tool, and how what came of it is kept.

A `Door` is all that travels: the run's view, where the call is recorded, what the office lends, and what has been
learned about the call so far. The loop makes one; tools/execute.py fills it in step by step; the tool's function gets
a ToolContext that is made from it. Nothing here opens a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from bullpen.access.rules import SYSTEM
from bullpen.audit.actions import note
from bullpen.errors import Fenced, SecretInvalid
from bullpen.files import sources
from bullpen.observe import counts
from bullpen.observe.redact import here
from bullpen.replacing import replace
from bullpen.storage import Store, Transaction
from bullpen.tools import approvals, cards, outward, pending
from bullpen.tools import rows as tool_rows
from bullpen.tools.outside import Outside, together
from bullpen.tools.rules import Mover
from bullpen.tools.types import (
    Denied,
    Done,
    Failed,
    Journal,
    Means,
    Outcome,
    OutcomeUnknown,
    Proposes,
    RunView,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    Waiting,
)
from bullpen.variables.types import Value
from bullpen.wire.nouns import MessageStatus

ENDINGS: Final[Mapping[type[Outcome], str]] = {
    Done: "done",
    Failed: "failed",
    Denied: "denied",
    OutcomeUnknown: "outcome_unknown",
}


@dataclass(frozen=True)  # no slots: each call makes several copies (replacing.py)
class Door:
    """For whom and where a call is carried out. Each step of the way makes a changed copy."""

    run: RunView
    store: Store
    journal: Journal
    means: Means
    space_id: str | None = None  # the space that the agent is in
    approval: Waiting | None = (
        None  # people had to let the call go on, and did: see tools/approvals.py, tools/values.py
    )
    late: bool = False  # after its run had gone on: what comes of it goes by inbox
    values: Mapping[str, Value] = field(default_factory=dict)  # of the variables that the tool declares
    spaces: tuple[str, ...] | None = None  # which the call touches; None: it has not been judged yet
    proposes: Proposes | None = None  # why the tool keeps what it would do as a proposal
    tools: Mapping[str, Tool] = field(default_factory=dict)  # those of the agent; none, if it is late
    unseen: bool = False  # its card would tell people what they may not read, as long as nobody has allowed that
    reached: list[str] = field(default_factory=list)  # who outside has answered the call

    def context(self, tool: Tool, call: ToolCall, tx: Transaction | None, prepared: Any = None) -> ToolContext:
        """What the tool's function gets."""
        use = tool.use or f"tool:{tool.name}"
        outside = Outside(use, self.means.egress, self.means.vault, self.values, self.reached, tool.goes_out)
        return ToolContext(
            tx, self.run, call.id, self.space_id, self.means, outside, prepared, self.proposes, self.spaces, self.store
        )

    @property
    def mover(self) -> Mover:
        """Who moves the row of an approved call."""
        return "late" if self.late else "run"

    def shown_in(self, tool: Tool | None) -> str | None:
        """The space whose people see the call. One that was approved goes on where it was asked for."""
        return self.space_id if self._shows(tool) and not self.unseen else None

    def _shows(self, tool: Tool | None) -> bool:
        visible = tool is not None and tool.visible
        if self.approval is None or self.approval.asked_unseen:
            return visible
        return self.approval.visible

    def where_shown(self, tool: Tool | None) -> list[str]:
        """The space whose followers see the call, and must see its changes in their order."""
        shown_in = self.shown_in(tool)
        return [] if shown_in is None else [shown_in]


async def show_under_way(tx: Transaction, door: Door, tool: Tool, call: ToolCall, status: MessageStatus) -> None:
    """That the call is under way: on a card of its own, or on the one that it was approved on."""
    if door.approval is not None and not door.approval.asked_unseen:
        who = approvals.who(door.approval)
        await pending.show(tx, replace(door.approval, answered_by=None), status, **who)
    elif tool.visible:
        await cards.show_started(tx, door.run, door.space_id, call, call.shown, status=status)


async def lock_approval(tx: Transaction, call_id: str) -> Waiting:
    """The approval that a call is carried out by. Fenced: somebody else has ended the call."""
    waiting = await tool_rows.lock_pending(tx, call_id)
    if waiting is None or waiting.status != "resolved" or waiting.delivered_via is not None:
        raise Fenced(f"Call {call_id} was ended by somebody else; this driver stops.")
    return waiting


async def keep_result(tx: Transaction, door: Door, tool: Tool | None, result: ToolResult) -> ToolResult:
    """Keep what came of a call, without any secret that a tool, a server or an error put into it."""
    effects = replace(
        result.effects,
        outside=together(result.effects.outside, door.reached),
        seen_in=outward.merge_places(result.effects.seen_in, _read_in(door, tool)),
    )
    result = replace(result, outcome=clean_outcome(result.outcome), effects=effects, approval=door.approval)
    if door.approval is not None:
        approval = await lock_approval(tx, door.approval.call_id)
        await pending.deliver(tx, approval, "inbox" if door.late else "inline", door.mover)
    if effects.wrote is not None:
        await sources.keep(tx, door.run.folder_id, effects.wrote)
    await door.journal.settled(tx, result, door.shown_in(tool))
    count_ending(tx, tool, result.outcome)
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


def count_ending(tx: Transaction, tool: Tool | None, outcome: Outcome) -> None:
    # A name that the model made up is not a label: there is no end of those.
    name = "unknown" if tool is None else tool.name
    tx.after_commit(partial(counts.TOOL_CALLS.add, name, ENDINGS[type(outcome)]))


def clean_outcome(outcome: Outcome) -> Outcome:
    masker = here()
    if isinstance(outcome, Done):
        return replace(outcome, result=masker.clean_json(outcome.result))
    message = masker.clean_line(outcome.message)
    if isinstance(outcome, Failed):
        return replace(outcome, message=message, detail=masker.clean_json(outcome.detail))
    return replace(outcome, message=message)
