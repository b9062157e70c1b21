"""What a tool may know of the run that calls it: `RunView`, made here and nowhere else.

A run that is under way is viewed from its row. A call that was approved after its run had gone on is viewed from the
call's own row, since the run may have been forgotten by then; it acts with the rights that its cause still has.
"""

from __future__ import annotations

from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import Cause
from bullpen.replacing import replace
from bullpen.runs import rules
from bullpen.runs.types import Run
from bullpen.settings import LimitSettings
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.tools.outward import MORE
from bullpen.tools.types import Asker, RunView, Waiting
from bullpen.wire import Agent


def view_run(
    run: Run, agent: Agent, home: Room | None, limits: LimitSettings, begun: frozenset[str] = frozenset()
) -> RunView:
    return RunView(
        id=run.id,
        thread_id=run.thread_id,
        agent=agent,
        cause=Cause(run.cause_kind, run.cause_id, run.grants),
        depth=run.depth,
        chain_id=run.chain_id,
        message_count=len(run.message_ids),
        home=home,
        asker=_asker(run),
        outside=run.outside,
        seen_in=run.seen_in,
        approval_ms=None if rules.is_attended(run) else int(limits.approval_seconds * 1000),
        begun=begun,
        attended=rules.is_attended(run),
        message_id=_message_id(run),
    )


def _message_id(run: Run) -> str | None:
    """The message that woke it, if one did."""
    id = run.payload.get("messageId") if run.trigger.get("kind") == "message" else None
    return id if isinstance(id, str) else None


def _asker(run: Run) -> Asker | None:
    """Whoever woke the run by a message of their own: it works for them, and no agent stands in between."""
    said = run.payload
    own = (run.cause_kind, run.cause_id) == ("person", said.get("authorId")) and said.get("authorKind") == "person"
    if not own or run.depth or run.trigger.get("kind") != "message":
        return None
    return Asker(run.cause_id, str(said.get("authorName", "")), str(said.get("text", "")))


async def view_approved(tx: Transaction, approval: Waiting, agent: Agent, run: Run | None) -> RunView:
    """Nobody is asked about it again, so what its run was shown and how long an approval may take do not matter."""
    return RunView(
        id=approval.run_id,
        thread_id=approval.thread_id,
        agent=agent,
        cause=replace(approval.cause, grants=await inbox_rows.select_held(tx, approval.cause)),
        depth=approval.depth,
        chain_id=approval.chain_id,
        message_count=0 if run is None else len(run.message_ids),
        home=await _home(tx, approval, run),
        outside=approval.outside,
        seen_in=(MORE,) if run is None else run.seen_in,
        message_id=None if run is None else _message_id(run),
        attended=approval.cause.kind == "person" and (run is None or rules.is_attended(run)),
    )


async def _home(tx: Transaction, approval: Waiting, run: Run | None) -> Room | None:
    """Where its run was woken, which may be forgotten by now; else where it asked."""
    id = approval.space_id if run is None else run.space_id
    return None if id is None else await space_rows.select_room(tx, id)
