"""Calls whose result comes later, as a database holds them: each is told to its agent once, by one way (V7).

What a run was told about a call stands in its journal; what it was not told comes by the inbox. A journal that promises
a later answer holds `pendingToolCallId`, so both ways can be told apart by the rows alone, without trusting the column
`delivered_via`, which has to agree with them. Only reads; `invariants.py` puts these checks into its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from bullpen import ids
from bullpen.testing.snapshot import Row, Snapshot, grouped
from bullpen.tools.rules import PendingState

STATES = {state.value for state in PendingState}
OPEN = ("waiting", "pending")
MASK = "***"  # what was a secret by the time it was delivered


@dataclass(frozen=True)
class Told:
    """A call, and what its agent was told of it."""

    call: Row
    run: Row | None
    returns: list[Row]  # in the journal of its run
    items: list[Row]  # in the inbox of its thread
    journal_kept: bool  # its run still has its journal
    inbox_kept: bool  # its thread still has all items it ever got

    @property
    def id(self) -> str:
        return str(self.call["call_id"])

    @property
    def by_somebody(self) -> bool:
        """What comes is somebody's own answer, and no approval of something that is yet to be carried out."""
        return bool(self.call["kind"] not in ("approval", "variables"))

    @property
    def result(self) -> Any:
        return None if self.call["result"] is None else orjson.loads(self.call["result"])

    @property
    def is_approved(self) -> bool:
        """People have let it go on: approved it, or given the values that it needed."""
        if self.by_somebody or self.call["status"] != "resolved":
            return False
        return self.call["kind"] == "variables" or bool((self.result or {}).get("approved"))

    @property
    def ends_later(self) -> bool:
        """Its result is yet to come, or to be told to its agent."""
        return self.call["status"] in OPEN or (self.call["status"] == "resolved" and not self.call["delivered_via"])

    @property
    def promised(self) -> bool:
        """The run went on, and was told that the answer will come."""
        found = orjson.loads(self.returns[0]["result"]) if self.returns else None
        return isinstance(found, dict) and found.get("pendingToolCallId") == self.id


def calls(rows: Snapshot) -> Iterator[Told]:
    answers = grouped([e for e in rows["run_messages"] if e["type"] == "tool_return_message"], "call_id")
    items = grouped(rows["inbox_items"], "key")
    forgetful = {run["thread_id"] for run in rows.runs if run["payload"] == "{}"}
    for call in rows["pending_calls"]:
        run = rows.run.get(call["run_id"])
        yield Told(
            call,
            run,
            answers.get(call["call_id"], []),
            items.get(f"call:{call['call_id']}", []),
            journal_kept=run is not None and run["payload"] != "{}",
            inbox_kept=call["thread_id"] not in forgetful,
        )


def ends(call: Row) -> int:
    """How often it was over: an approval may be void and asked for anew, values may be missing besides, and the call
    itself may wait after all that."""
    before = call["asks"] - (call["kind"] == "approval" and call["asks"] > 0)
    before += call["needs"] is not None and call["kind"] != "variables"
    return int(before + (call["status"] not in OPEN))


# ── V7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def faults(rows: Snapshot, *, at_rest: bool) -> Iterator[str]:
    for told in calls(rows):
        if (columns := _state(told)) not in STATES:
            yield f"call {told.id} is in no state that there is: {columns}"
        gone = rows.agent[told.call["agent_id"]]["deleted_at"] is not None
        rests = at_rest and not rows.is_paused(told.call["agent_id"])
        found = _open_faults(told) if told.call["status"] in OPEN else _over_faults(told, rests=rests, gone=gone)
        yield from (f"call {told.id} ({told.call['status']}): {what}" for what in [*found, *_repeats(told)])


def _state(told: Told) -> tuple[str, str, str | None, str | None]:
    call = told.call
    return "answer" if told.by_somebody else "approval", call["status"], call["execution"], call["delivered_via"]


def _repeats(told: Told) -> Iterator[str]:
    if len(told.returns) > 1:
        yield f"its run was told {len(told.returns)} times"
    if len(told.items) > 1:
        yield f"its inbox holds it {len(told.items)} times"


def _open_faults(told: Told) -> Iterator[str]:
    call = told.call
    if any(call[name] is not None for name in ("result", "answered_by", "delivered_via", "resolved_at")):
        yield "nobody has answered it, and it has an answer"
    if told.items:
        yield "nobody has answered it, and its agent was told an answer"
    if call["status"] == "waiting":
        if told.run is None or told.run["finished_at"] is not None:
            yield "the run that waits for it is over"
        elif told.returns:
            yield "its run has gone on"
        if call["deadline_at"] is None:
            yield "its run waits for ever"
    elif told.journal_kept and not told.returns:
        yield "nobody waits for it, and its run was not told that it comes later"


def _over_faults(told: Told, *, rests: bool, gone: bool) -> Iterator[str]:
    call, via = told.call, told.call["delivered_via"]
    if call["resolved_at"] is None or call["answered_by"] is None:
        yield "it is over, and nobody knows when or by whom"
    if (call["status"] == "resolved") != (call["result"] is not None):
        yield f"its result is {call['result']}"
    if call["status"] != "resolved":
        yield from _ended_faults(told, gone=gone)
    elif via is None:
        yield from _undelivered_faults(told, rests=rests)
    elif via == "inline":
        yield from _inline_faults(told)
    else:
        yield from _inbox_faults(told)


def _ended_faults(told: Told, *, gone: bool) -> Iterator[str]:
    """It expired, or was cancelled: an end like any other, told once."""
    if told.call["delivered_via"] is not None:
        yield "it has no result, and was delivered"
    if told.promised and not told.items and told.inbox_kept and not gone:
        yield "its agent was not told that nothing will come"
    if told.items and told.journal_kept and not told.promised:
        yield "its agent was told of the end inline and by inbox"


def _undelivered_faults(told: Told, *, rests: bool) -> Iterator[str]:
    late = told.call["execution"] in ("queued", "started")
    if rests:
        yield "it was accepted, and its agent was never told"
    if told.items or (told.returns and not late):
        yield "its agent was told, and nothing says so"
    if not late and (told.run is None or told.run["finished_at"] is not None):
        yield "it was accepted, and the run that should take it is over"


def _inline_faults(told: Told) -> Iterator[str]:
    if told.items:
        yield "it was told inline and by inbox"
    if not told.journal_kept:
        return
    if not told.returns or told.promised:
        yield "it was to be told inline, and was not"
    elif told.by_somebody and not _same(orjson.loads(told.returns[0]["result"]), told.result):
        yield "its run was told another result"


def _inbox_faults(told: Told) -> Iterator[str]:
    if told.inbox_kept and not told.items:
        yield "it was to be told by inbox, and was not"
    for item in told.items:
        if item["thread_id"] != told.call["thread_id"]:
            yield f"it was told to another thread, {item['thread_id']}"
        if told.by_somebody and not _same(_said(orjson.loads(item["payload"])), told.result):
            yield "its agent was told another result"
    if told.journal_kept and told.returns and not told.promised and not told.returns[0]["is_error"]:
        yield "it was told inline and by inbox"


def _said(by: Row) -> Any:
    """The result, as an inbox item or a card tells it: a failure is the error alone."""
    return {"error": by["error"]} if "error" in by else by.get("result")


def _same(told: Any, result: Any) -> bool:
    """Erasing who answered takes the words out of the row, and what has become a secret is not told."""
    return told == result or result is None or MASK in orjson.dumps(told).decode()


# ── approvals ───────────────────────────────────────────────────────────────────────────────────────────────────────


def approval_faults(rows: Snapshot) -> Iterator[str]:
    """What was carried out is what was approved: the same arguments of the same tool, once."""
    by_run = grouped([e for e in rows.events if e["type"].startswith("tool.")], "run_id")
    for told in calls(rows):
        call = told.call
        if not call["asks"]:
            continue
        bound = [call[name] for name in ("tool_name", "tool_hash", "args", "agent_id", "space_id", "call_id")]
        if call["spaces"] is not None:  # the arguments are as they were asked for, and lead to these
            bound.append(orjson.loads(call["spaces"]))
        if call["hash"] != sha256(orjson.dumps(bound)).hexdigest():
            yield f"call {told.id}: its approval holds for something else"
        if call["execution"] is not None and not told.is_approved:
            yield f"call {told.id}: it was begun, and nobody has approved it"
        events = [e for e in by_run.get(call["run_id"], []) if e["body"]["call"]["callId"] == told.id]
        if "tool.started" in [event["type"] for event in events[1:]]:
            yield f"call {told.id}: it began after somebody was asked about it, or twice"
        done = [event["body"]["call"]["args"] for event in events if event["type"] == "tool.done"]
        if any(args != orjson.loads(call["args"]) for args in done):
            yield f"call {told.id}: it was carried out with other arguments than were approved"


# ── cards ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def card_faults(rows: Snapshot) -> Iterator[str]:
    """What people see of a call is how it stands."""
    cards = {message["id"]: message for message in rows.messages if message["deleted_at"] is None}
    for told in calls(rows):
        card = cards.get(ids.message_for(told.id))
        if card is None or not told.call["visible"]:
            continue
        expected = _statuses(told)
        if card["status"] not in expected:
            yield f"call {told.id} is {told.call['status']}, and its card {card['status']}"
        shown = _said(orjson.loads(card["metadata"]))
        if told.by_somebody and told.call["status"] == "resolved" and not _same(shown, told.result):
            yield f"call {told.id}: its card shows another result"


def _statuses(told: Told) -> tuple[str, ...]:
    call = told.call
    if call["status"] in OPEN:
        return ("requires_action",)
    if call["status"] == "resolved":
        if told.by_somebody:
            failed = isinstance(told.result, dict) and set(told.result) == {"error"}
            return ("error",) if failed else ("complete",)
        return ("streaming",) if told.is_approved and call["delivered_via"] is None else ("complete", "error")
    if told.by_somebody:
        return (call["status"],)
    return (call["status"], "error")  # it was withdrawn with its run


def under_way(rows: Snapshot) -> set[str]:
    """Cards of calls that were approved and that somebody has yet to carry out, whatever their run does."""
    return {ids.message_for(told.id) for told in calls(rows) if told.is_approved and not told.call["delivered_via"]}


# ── threads ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def thread_faults(rows: Snapshot, *, lease_ms: int | None) -> Iterator[str]:
    """Whoever waits, waits for something that is still to come."""
    under_way = grouped([run for run in rows.runs if run["finished_at"] is None], "thread_id")
    awaited = {call["run_id"]: call for call in rows["pending_calls"] if call["status"] == "waiting"}
    held = {lease["thread_id"]: lease["owner"] for lease in rows["leases"]}
    for thread in rows["threads"]:
        runs = under_way.get(thread["id"], [])
        if thread["state"] != "waiting":
            if thread["state"] == "idle" and any(run["status"] == "waiting" for run in runs):
                yield f"thread {thread['id']} rests, and a run of it waits"
            continue
        if held.get(thread["id"]) is not None:
            yield f"thread {thread['id']} waits, and {held[thread['id']]} drives it"
        if [run["status"] for run in runs] != ["waiting"]:
            yield f"thread {thread['id']} waits, and its runs are {[run['status'] for run in runs]}"
        call = awaited.get(runs[0]["id"]) if runs else None
        if call is None:
            yield f"thread {thread['id']} waits for nothing"
        elif lease_ms and call["deadline_at"] + 2 * lease_ms < rows.now and not rows.is_paused(thread["agent_id"]):
            yield f"thread {thread['id']} has waited for too long"
