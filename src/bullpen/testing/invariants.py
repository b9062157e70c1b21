"""What must be true of every database, after every crash: V1–V18 of the threat model, as far as they apply today.

    python -m bullpen.testing.invariants DATABASE_URL [--at-rest] [--lease SECONDS] [--clients FILE …] …

Only reads; works beside a running server and on the files of a dead one. Prints a line per invariant, and exits with 1
if any is broken. `CHECKS` is the table; a check takes what was seen and yields a sentence per violation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from bullpen.access.rules import parsed, preset
from bullpen.audit import rows as audit_rows
from bullpen.audit import rules as audit_rules
from bullpen.audit.types import Entry
from bullpen.events.types import Place
from bullpen.testing import deliveries, money, outgoing, schedules, snapshot, telling
from bullpen.testing.bridges import Arrival, read_journal
from bullpen.testing.histories import Effect, Follower, Send, read_effects, read_follower, read_sends
from bullpen.testing.snapshot import CannotRead, Row, Snapshot, grouped

# An item that is due is taken at the latest by the next sweep; V8 allows a minute.
PATIENCE_MS = 60_000


@dataclass(frozen=True)
class Seen:
    """The database, and what was seen of it from outside."""

    rows: Snapshot
    at_rest: bool = False  # nobody works on it: everything must be finished
    lease_ms: int | None = None  # somebody works on it, with leases this long
    step_ms: int = 600_000  # the longest that a model or a tool takes
    chain_depth: int = 3
    sends: Sequence[Send] = ()
    followers: Sequence[Follower] = ()
    effects: Sequence[Effect] = ()
    arrivals: Sequence[Arrival] = ()  # in chats elsewhere
    canaries: Sequence[str] = ()
    other: Snapshot | None = None  # of another database, in which the same happened
    blobs: Path | None = None  # where the bytes of files are, on this disk
    swept: bool = False  # a sweep has just been: there are no bytes that nobody needs


Check: TypeAlias = Callable[[Seen], Iterator[str]]


def repeated(values: Sequence[Any]) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────


def sends_are_kept_once(seen: Seen) -> Iterator[str]:
    kept = Counter((m["space_id"], m["client_message_id"]) for m in seen.rows.messages)
    anywhere = Counter(m["client_message_id"] for m in seen.rows.messages)
    for send in seen.sends:
        count = kept[(send.space_id, send.client_message_id)] if send.space_id else anywhere[send.client_message_id]
        if count not in send.may_exist or anywhere[send.client_message_id] > 1:
            yield f"{send.client_message_id} ({send.outcome}) exists {count} times in {send.space_id}"


def nothing_is_there_twice(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    by_client = [(m["author_id"], m["client_message_id"]) for m in rows.messages if m["client_message_id"]]
    for author, id in repeated(by_client):
        yield f"clientMessageId {id!r} of {author} names several messages"
    # A call's message is named by the call (ids.message_for), so a second one could only have another name.
    sent = Counter(m["run_id"] for m in rows.messages if m["run_id"] and m["type"] in ("text", "file"))
    for run in _remembered(rows):
        ids = run["message_ids"].split()
        if len(set(ids)) != len(ids) or sent[run["id"]] != len(ids):
            yield f"run {run['id']} made {sent[run['id']]} messages and remembers {len(ids)}"


def _remembered(rows: Snapshot) -> list[Row]:
    """Runs that still have their journal: retention and erasure take it, and the items that the run answered."""
    return [run for run in rows.runs if run["payload"] != "{}"]


def numbers_have_no_hole(seen: Seen) -> Iterator[str]:
    by_space = grouped(seen.rows.messages, "space_id")
    for space in seen.rows["spaces"]:
        numbers = [m["seq"] for m in by_space.pop(space["id"], [])]
        if numbers != list(range(1, space["last_seq"] + 1)):
            yield f"{space['id']} counts to {space['last_seq']} but has {_ranges(numbers)}"
    yield from (f"messages of a space that is not there: {id}" for id in by_space)


def _ranges(numbers: Sequence[int]) -> str:
    return f"{len(numbers)} messages, {min(numbers, default=0)}…{max(numbers, default=0)}"


def followers_see_each_event_once(seen: Seen) -> Iterator[str]:
    for follower in seen.followers:
        yield from _follower_saw_all(seen.rows, follower)


def _follower_saw_all(rows: Snapshot, follower: Follower) -> Iterator[str]:
    places = [Place(xid, id) for xid, id in follower.places]
    falling = [b for a, b in pairwise(places) if b <= a]
    if falling:
        yield f"{follower.name}: ids do not rise at {falling[0]}"
    if not places:
        return
    start = Place(*follower.after) if follower.after else Place(places[0].xid, places[0].id - 1)
    expected = {
        event["place"]
        for event in rows.events
        if start < event["place"] <= places[-1] and follower.may_see(event["space_id"], event["audience"])
    }
    if missed := sorted(expected - set(places)):
        yield f"{follower.name}: missed {len(missed)} events, first {missed[0]}"
    if invented := sorted(set(places) - expected):
        yield f"{follower.name}: saw {len(invented)} events that are not there, first {invented[0]}"


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────


def one_run_at_a_time(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    under_way = [run["thread_id"] for run in rows.runs if run["finished_at"] is None]
    yield from (f"thread {id} has several runs under way" for id in repeated(under_way))
    for thread_id, runs in grouped(rows.runs, "thread_id").items():
        if [run["ordinal"] for run in runs] != list(range(1, len(runs) + 1)):
            yield f"the runs of thread {thread_id} are numbered {[run['ordinal'] for run in runs]}"
        tokens = [entry["token"] for run in runs for entry in rows.journals.get(run["id"], [])]
        if tokens != sorted(tokens):
            yield f"thread {thread_id} was written by a driver that had lost it: tokens {_falls(tokens)}"
        for earlier, later in pairwise(runs):
            if earlier["finished_at"] is None:
                yield f"run {later['id']} began before {earlier['id']} was over"


def _falls(tokens: Sequence[int]) -> str:
    at = next(n for n, (a, b) in enumerate(pairwise(tokens)) if b < a)
    return f"…{tokens[max(0, at - 2) : at + 3]}…"


def journals_are_whole(seen: Seen) -> Iterator[str]:
    for run in _remembered(seen.rows):
        journal = seen.rows.journals.get(run["id"], [])
        yield from (f"run {run['id']}: {what}" for what in _journal_faults(run, journal))
    unknown = set(seen.rows.journals) - set(seen.rows.run)
    yield from (f"a journal of no run: {id}" for id in unknown)


def _journal_faults(run: Row, journal: Sequence[Row]) -> Iterator[str]:
    positions = [entry["position"] for entry in journal]
    if positions != list(range(run["position"])):
        yield f"positions {positions} do not count to {run['position']}"
    steps = [entry["step"] for entry in journal if entry["type"] == "assistant_message"]
    if steps != list(range(1, run["step"] + 1)):
        yield f"steps {steps} do not count to {run['step']}"
    calls = [entry["call_id"] for entry in journal if entry["type"] == "tool_call_message"]
    returns = [entry["call_id"] for entry in journal if entry["type"] == "tool_return_message"]
    if returns != calls[: len(returns)]:
        yield f"results {returns} do not come in the order of the calls {calls}"
    if run["finished_at"] is not None and len(returns) != len(calls):
        yield f"{len(calls)} calls have {len(returns)} results"
    for number, entry in enumerate(journal):
        if entry["type"] == "assistant_message" and _open_calls(journal[:number]):
            yield f"the model was asked at position {number} before every call had its result"


def _open_calls(journal: Sequence[Row]) -> set[str]:
    made = {entry["call_id"] for entry in journal if entry["type"] == "tool_call_message"}
    return made - {entry["call_id"] for entry in journal if entry["type"] == "tool_return_message"}


# ── inbox ───────────────────────────────────────────────────────────────────────────────────────────────


def items_are_taken_once(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    for item in rows["inbox_items"]:
        thread = rows.thread.get(item["thread_id"])
        if thread is None:
            yield f"item {item['id']} is for a thread that is not there"
        elif item["claimed_by"] is not None:
            run = rows.run.get(item["claimed_by"])
            if run is None or run["thread_id"] != item["thread_id"]:
                yield f"item {item['id']} of thread {item['thread_id']} was claimed by {item['claimed_by']}"
        elif rows.is_paused(thread["agent_id"]) or rows.is_held(thread["id"]) or thread["state"] == "waiting":
            continue  # it waits for its agent to go on, or for the run that waits
        elif seen.at_rest or (thread["state"] == "idle" and _overdue(item, rows.now)):
            yield f"item {item['id']} waits while thread {thread['id']} is {thread['state']}"
    yield from (
        f"thread {thread} received {key} several times"
        for thread, key in repeated([(item["thread_id"], item["key"]) for item in rows["inbox_items"]])
    )
    claimed = Counter(item["claimed_by"] for item in rows["inbox_items"])
    for run in _remembered(rows):
        answers = orjson.loads(run["trigger"])["items"]
        if claimed[run["id"]] != answers:
            yield f"run {run['id']} answers {answers} items and took {claimed[run['id']]}"


def skills_are_started_once(seen: Seen) -> Iterator[str]:
    """By the message that wrote its name, in a thread that was made for it, with no more than its cause holds."""
    rows = seen.rows
    started = [item for item in rows["inbox_items"] if item["kind"] == "skill"]
    yield from (f"{key} was started several times" for key in repeated([item["key"] for item in started]))
    said = {message["id"]: message["wake"] or "" for message in rows.messages}
    for item in started:
        message_id, thread = item["key"].removeprefix("skill:"), rows.thread.get(item["thread_id"])
        if message_id in said and not said[message_id].startswith("skill:"):
            yield f"item {item['id']} is of a message that started nothing"
        if thread is not None and thread["scope"] != "fresh":
            yield f"item {item['id']} of a skill is in a thread that has a past"
    for skill in rows["skills"]:
        if skill["active"] is None and skill["proposed"] is None:
            yield f"skill {skill['id']} says nothing"


def _overdue(item: Row, now: int) -> bool:
    return item["rank"] == 0 or bool(item["due_at"] + PATIENCE_MS < now)


# ── schedules ───────────────────────────────────────────────────────────────────────────────────────────


def schedules_fire_once(seen: Seen) -> Iterator[str]:
    yield from schedules.firing_faults(seen.rows, at_rest=seen.at_rest)


# ── limits and rights ───────────────────────────────────────────────────────────────────────────────────


def limits_hold(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    for run in rows.runs:
        limits = rows.agent[run["agent_id"]]["definition"].get("limits", {})
        sent, may = len(run["message_ids"].split()), limits.get("max_messages", 5)
        if sent > may:
            yield f"run {run['id']} sent {sent} messages of {may}"
        if run["step"] > limits.get("max_steps", 20):
            yield f"run {run['id']} took {run['step']} steps"
        if run["depth"] > (depth := _depth_limit(limits, seen.chain_depth)):
            yield f"run {run['id']} has depth {run['depth']} of {depth}"
    yield from _chains_stop_once(rows)


def _depth_limit(limits: Mapping[str, Any], usual: int) -> int:
    own = limits.get("max_chain_depth")
    return usual if own is None else int(own)


def _chains_stop_once(rows: Snapshot) -> Iterator[str]:
    stops = Counter(stop["chain_id"] for stop in rows["chain_stops"])
    notices = Counter(orjson.loads(m["metadata"]).get("chainId") for m in rows.messages if m["author_kind"] == "system")
    notices.pop(None, None)
    if stops != notices:
        yield f"stopped chains {dict(stops)} and notices of them {dict(notices)} differ"


def spending_is_the_sum_of_the_steps(seen: Seen) -> Iterator[str]:
    yield from money.spending_faults(seen.rows)


def what_is_held_says_why(seen: Seen) -> Iterator[str]:
    yield from money.hold_faults(seen.rows)


def rights_only_shrink(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    made_by = {m["id"]: m["run_id"] for m in rows.messages if m["run_id"]}
    for item in rows["inbox_items"]:
        parent = rows.run.get(made_by.get(item["key"].removeprefix("message:"), ""))
        if parent is not None:
            if not parsed(item["grants"]) <= parsed(parent["grants"]):
                yield f"item {item['id']} holds more than the run {parent['id']} that caused it"
            if item["depth"] != parent["depth"] + 1 or item["chain_id"] != parent["chain_id"]:
                yield f"item {item['id']} does not go on the chain of run {parent['id']}"
        run = rows.run.get(item["claimed_by"] or "")
        if run is not None and not parsed(run["grants"]) <= parsed(item["grants"]):
            yield f"run {run['id']} holds more than the item {item['id']} that it answers"
    for run in rows.runs:
        most = rows.thread[run["thread_id"]]["grants"]
        if most is not None and not parsed(run["grants"]) <= parsed(most):
            yield f"run {run['id']} holds more than the thread {run['thread_id']} was made with"


def groups_keep_to_themselves(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    spaces = {space["id"]: space for space in rows["spaces"]}
    staying = {id for id, space in spaces.items() if preset(space["kind"], bool(space["main"])).stays}
    for message in rows.messages:
        run = rows.run.get(message["run_id"] or "")
        if run is not None and run["space_id"] in staying and message["space_id"] != run["space_id"]:
            yield f"message {message['id']} left the group {run['space_id']}"
    for chat in rows["chats"]:
        if chat["space_id"] is not None and chat["jid"] != _chat_of(spaces.get(chat["space_id"])):
            yield f"the chat {chat['jid']} is bound to {chat['space_id']}, which does not say so"


def _chat_of(space: Row | None) -> str | None:
    found: str | None = None if space is None else orjson.loads(space["options"]).get("bridge")
    return found


# ── leases ──────────────────────────────────────────────────────────────────────────────────────────────


def nothing_hangs(seen: Seen) -> Iterator[str]:
    """A card that is still being worked on belongs to a run that is still under way, or to a late approval."""
    late = deliveries.under_way(seen.rows)
    for message in seen.rows.messages:
        run = seen.rows.run.get(message["run_id"] or "")
        over = run is None or run["finished_at"] is not None
        if message["status"] == "streaming" and over and message["id"] not in late:
            yield f"message {message['id']} is streaming, and its run is over"


def nothing_runs_without_a_lease(seen: Seen) -> Iterator[str]:
    rows = seen.rows
    lease = {row["thread_id"]: row for row in rows["leases"]}
    busy = {run["thread_id"] for run in rows.runs if run["finished_at"] is None}
    for thread in rows["threads"]:
        id, held = thread["id"], lease.get(thread["id"])
        if held is None:
            yield f"thread {id} has no lease row"
        elif id in busy and thread["state"] == "idle":
            yield f"thread {id} rests, with a run under way"
        elif rows.is_paused(thread["agent_id"]) or rows.is_held(id):
            if seen.at_rest and held["owner"] is not None and held["until"] > rows.now:
                yield f"thread {id} is driven by {held['owner']}, though its agent is paused"
        elif thread["state"] == "waiting":
            continue  # somebody's answer, or its deadline, will let it go on
        elif seen.at_rest and (id in busy or thread["state"] != "idle" or held["owner"] is not None):
            yield f"thread {id} is {thread['state']}, leased by {held['owner']}, though nobody works"
        elif seen.lease_ms and thread["state"] != "idle":
            yield from _lease_faults(seen, thread, held)


def _lease_faults(seen: Seen, thread: Row, held: Row) -> Iterator[str]:
    """It should be moving: somebody drives it, or did so lately, and its run has something to show for it."""
    rows, patience = seen.rows, 2 * (seen.lease_ms or 0)
    if max(held["until"], thread["queued_at"]) + patience < rows.now:
        yield f"thread {thread['id']} is {thread['state']} and nobody has driven it for two leases"
    run = next((run for run in rows.runs if run["thread_id"] == thread["id"] and run["finished_at"] is None), None)
    if run is None:
        return
    journal = rows.journals.get(run["id"], [])
    wrote = datetime.fromisoformat(journal[-1]["at"] if journal else run["started_at"]).timestamp() * 1000
    if max(wrote, held["since"], thread["queued_at"]) + patience + seen.step_ms < rows.now:
        yield f"run {run['id']} is leased by {held['owner']} and has stood still since {journal[-1:] or 'it began'}"


def threads_wait_for_something(seen: Seen) -> Iterator[str]:
    yield from deliveries.thread_faults(seen.rows, lease_ms=seen.lease_ms)


# ── calls whose result comes later ──────────────────────────────────────────────────────────────────────────────────


def results_are_delivered_once(seen: Seen) -> Iterator[str]:
    yield from deliveries.faults(seen.rows, at_rest=seen.at_rest)


def what_is_carried_out_was_approved(seen: Seen) -> Iterator[str]:
    yield from deliveries.approval_faults(seen.rows)


def cards_show_how_calls_stand(seen: Seen) -> Iterator[str]:
    yield from deliveries.card_faults(seen.rows)


# ── effects, files, secrets, stores ─────────────────────────────────────────────────────────────────────────────────


def effects_fit_their_class(seen: Seen) -> Iterator[str]:
    """Outside effects, as a test's tools wrote them down."""
    calls = {entry["call_id"]: entry for entry in seen.rows["run_messages"] if entry["type"] == "tool_call_message"}
    for call_id, effects in grouped([asdict(effect) for effect in seen.effects], "call_id").items():
        kind = effects[0]["kind"]
        if kind == "once" and len(effects) > 1:
            yield f"{call_id} must happen once and happened {len(effects)} times"
        if len({effect["key"] for effect in effects}) > 1:
            yield f"{call_id} was repeated with another key"
        if call_id not in calls:
            yield f"{call_id} happened, but nobody asked for it"


def messages_go_out_once(seen: Seen) -> Iterator[str]:
    yield from outgoing.faults(seen.rows, seen.arrivals, at_rest=seen.at_rest)


def the_files_are_sound(seen: Seen) -> Iterator[str]:
    yield from seen.rows.faults


def files_are_counted(seen: Seen) -> Iterator[str]:
    """How often a file is shown, and how much is kept for whom: the counts are what there is."""
    rows = seen.rows
    shown = Counter(row["file_id"] for row in [*rows["message_files"], *rows["portraits"]])
    kept: Counter[Any] = Counter()
    for file in rows["files"]:
        counter = (file["owner_kind"], file["owner_id"]) if file["space_id"] is None else ("space", file["space_id"])
        kept[(*counter, "bytes")] += file["size"]
        kept[(*counter, "files")] += 1
        if file["attached"] != shown.pop(file["id"], 0):
            yield f"file {file['id']} counts {file['attached']} messages and portraits that show it"
    yield from (f"a message or a portrait shows file {id}, which is not there" for id in shown)
    counted = Counter({(r["kind"], r["id"], name): r[name] for r in rows["file_usage"] for name in ("bytes", "files")})
    for key in kept.keys() | counted.keys():
        if kept[key] != counted[key]:
            yield f"{key[0]} {key[1]} has {kept[key]} {key[2]} and counts {counted[key]}"
    yield from _messages_show_their_own(rows)


def _messages_show_their_own(rows: Snapshot) -> Iterator[str]:
    shows = Counter(row["message_id"] for row in rows["message_files"])
    place = {message["id"]: message["space_id"] for message in rows.messages}
    for message in rows.messages:
        id, count = message["id"], shows[message["id"]]
        if message["files"] != count or (count and message["deleted_at"] is not None):
            yield f"message {id} counts {message['files']} files and shows {count}"
    space = {file["id"]: file["space_id"] for file in rows["files"]}
    for row in rows["message_files"]:
        if place.get(row["message_id"], "") != space.get(row["file_id"]):
            yield f"message {row['message_id']} shows file {row['file_id']} of another space"


def files_have_their_bytes(seen: Seen) -> Iterator[str]:
    if seen.blobs is None:
        return
    there = {path.name: path for path in seen.blobs.glob("??/*")}
    for file in seen.rows["files"]:
        path = there.pop(file["id"], None)
        if file["thumbnail"] is not None:
            there.pop(f"{file['id']}.thumb", None)
        if path is None:
            yield f"file {file['id']} has no bytes"
        elif path.stat().st_size != file["size"] or sha256(path.read_bytes()).hexdigest() != file["sha256"]:
            yield f"file {file['id']} has other bytes than it was given"
    if seen.swept:
        partials = [path.name for path in seen.blobs.glob("partial/*")]
        dropped = [row["id"] for row in seen.rows["dropped_files"]]
        yield from (f"bytes that nobody needs: {name}" for name in sorted([*there, *partials, *dropped]))


def the_audit_log_holds(seen: Seen) -> Iterator[str]:
    chain = audit_rules.Chain()
    entries = [Entry(**{**row, "detail": orjson.loads(row["detail"])}) for row in seen.rows["audit"]]
    head = {row["key"]: row["value"] for row in seen.rows["meta"]}.get(audit_rows.HEAD)
    broken = chain.follow(sorted(entries, key=lambda entry: entry.number)) or chain.ends_at(*audit_rows.parsed(head))
    if broken is not None:
        yield f"the audit log is broken: {broken.reason}"


def no_canary_is_anywhere(seen: Seen) -> Iterator[str]:
    for canary in seen.canaries:
        for table, rows in seen.rows.tables.items():
            if any(isinstance(value, str) and canary in value for row in rows for value in row.values()):
                yield f"{canary[:8]}… stands in {table}"


def both_stores_tell_the_same(seen: Seen) -> Iterator[str]:
    if seen.other is not None:
        yield from telling.differences(telling.told(seen.rows), telling.told(seen.other))


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────


def events_tell_what_is_there(seen: Seen) -> Iterator[str]:
    """Every fact has its event, once, and no event tells of something that is not there."""
    rows = seen.rows
    if not rows.remembers_all_events:
        return
    forgotten = {run["id"] for run in rows.runs} - {run["id"] for run in _remembered(rows)}
    told = Counter(
        (event["type"], _about(event["body"]))
        for event in rows.events
        if (event["type"].startswith(("message_", "chain_")) or event["run_id"] not in forgotten)
        and event["body"].get("call", {}).get("code") != "abandoned"
    )
    expected = Counter(_facts(rows))
    found = Counter({key: count for key, count in told.items() if key[0] in COUNTED})
    for key in sorted((expected - found).keys() | (found - expected).keys(), key=str):
        yield f"{key[0]} of {key[1]}: {expected[key]} expected, {found[key]} there"
    yield from _states_tell_the_same(rows)


ENDS = ("tool.done", "tool.error")
COUNTED = frozenset(
    {
        "message_created",
        "message_deleted",
        "run_started",
        "run_finished",
        "tool.done",
        "tool.error",
        "chain_stopped",
        "pending_resolved",
    }
)


def _about(body: Row) -> Any:
    for noun, key in (("message", "id"), ("run", "id"), ("call", "callId"), ("chain", "id")):
        if noun in body:
            return body[noun][key]
    return None


def _facts(rows: Snapshot) -> Iterator[tuple[str, Any]]:
    for message in rows.messages:
        yield "message_created", message["id"]
        if message["deleted_at"] is not None:
            yield "message_deleted", message["id"]
    for run in _remembered(rows):
        yield "run_started", run["id"]
        if run["finished_at"] is not None:
            yield "run_finished", run["id"]
    for stop in rows["chain_stops"]:
        yield "chain_stopped", stop["chain_id"]
    yield from _ends(rows)
    remembered = {run["id"] for run in _remembered(rows)}
    for call in rows["pending_calls"]:
        if call["run_id"] in remembered:
            yield from [("pending_resolved", call["call_id"])] * deliveries.ends(call)


def _ends(rows: Snapshot) -> Iterator[tuple[str, Any]]:
    """How each call ended, if it has. What the run of a call that waits was told in the meantime is no end of it."""
    asked = {told.id: told for told in deliveries.calls(rows)}
    for entry in rows["run_messages"]:
        if entry["type"] == "tool_return_message" and entry["call_id"] not in asked:
            yield "tool.error" if entry["is_error"] else "tool.done", entry["call_id"]
    for told in asked.values():
        status, via = told.call["status"], told.call["delivered_via"]
        if status == "resolved" and via == "inline":
            yield from (("tool.error" if each["is_error"] else "tool.done", told.id) for each in told.returns)
        elif status == "resolved" and via == "inbox":
            failed = ["error" in orjson.loads(item["payload"]) for item in told.items]
            yield from (("tool.error" if each else "tool.done", told.id) for each in failed)
        elif status not in ("resolved", *deliveries.OPEN) and (told.returns or told.items):
            yield "tool.error", told.id


def _states_tell_the_same(rows: Snapshot) -> Iterator[str]:
    """What comes and goes: the events, added up, are what is there."""
    reactions: Counter[Any] = Counter()
    members: Counter[Any] = Counter()
    there_still = {message["id"] for message in rows.messages if message["deleted_at"] is None}
    spaces = {space["id"] for space in rows["spaces"]}
    for event in rows.events:
        body, sign = event["body"], -1 if event["type"] in ("reaction_removed", "member_left") else 1
        if event["type"] in ("reaction_added", "reaction_removed"):
            reactions[tuple(body["reaction"][name] for name in ("messageId", "memberId", "emoji"))] += sign
        elif event["type"] in ("member_joined", "member_left") and event["space_id"] in spaces:
            members[(event["space_id"], body["member"]["id"])] += sign
    there = Counter((r["message_id"], r["member_id"], r["emoji"]) for r in rows["reactions"])
    yield from _unequal("pin", _pins_told(rows, there_still), Counter(pin["message_id"] for pin in rows["pins"]))
    present = Counter((m["space_id"], m["member_id"]) for m in rows["members"])
    # A message that is taken back takes its reactions along; its own event says so.
    reactions = Counter({key: count for key, count in reactions.items() if key[0] in there_still})
    yield from _unequal("reaction", reactions, there)
    yield from _unequal("member", members, present)


def _pins_told(rows: Snapshot, there_still: set[str]) -> Counter[Any]:
    """A message that is taken back takes its pin along, too."""
    pinned: Counter[Any] = Counter()
    for event in rows.events:
        if event["type"] in ("message_pinned", "message_unpinned"):
            pinned[event["body"]["pin"]["messageId"]] += 1 if event["type"] == "message_pinned" else -1
    return Counter({id: count for id, count in pinned.items() if id in there_still})


def _unequal(noun: str, told: Counter[Any], there: Counter[Any]) -> Iterator[str]:
    for key in told.keys() | there.keys():
        if told[key] != there[key]:
            yield f"{noun} {key}: {there[key]} there, {told[key]} by its events"


def a_call_ends_before_the_next_begins(seen: Seen) -> Iterator[str]:
    """By the events of each run: a call's end comes before the next call's begin. A call that was seen while it was
    written began with its answer, and one that waits for somebody ends whenever that is."""
    if not seen.rows.remembers_all_events:
        return
    apart = {call["call_id"] for call in seen.rows["pending_calls"]} | _streamed(seen.rows)
    told = [event for event in seen.rows.events if event["body"].get("call", {}).get("callId") not in (None, *apart)]
    for run_id, events in grouped(told, "run_id").items():
        open_call = None
        for event in events:
            call = event["body"]["call"]["callId"]
            if event["type"] == "tool.started":
                if open_call is not None:
                    yield f"run {run_id}: {call} began while {open_call} was under way"
                open_call = call
            elif event["type"] in ENDS:
                if open_call not in (None, call):
                    yield f"run {run_id}: {call} ended while {open_call} was under way"
                open_call = None


def _streamed(rows: Snapshot) -> set[str]:
    """Calls that were told of while the model wrote them, whether or not their answer was kept."""
    kept = {entry["call_id"] for entry in rows["run_messages"] if entry["streamed"] is not None}
    there = {entry["call_id"] for entry in rows["run_messages"]}
    return kept | {event["body"]["call"]["callId"] for event in _call_events(rows)} - there


def _call_events(rows: Snapshot) -> list[Row]:
    return [event for event in rows.events if event["type"] in ("tool.started", *ENDS)]


def calls_begin_and_end_once(seen: Seen) -> Iterator[str]:
    """By their events: each call begins once and ends once, or its run is under way, or it waits for somebody."""
    rows = seen.rows
    if not rows.remembers_all_events:
        return
    under_way = {run["id"] for run in rows.runs if run["finished_at"] is None}
    waits = {told.id for told in deliveries.calls(rows) if told.ends_later}
    begun: Counter[str] = Counter()
    over: Counter[str] = Counter()
    for event in _call_events(rows):
        call_id = event["body"]["call"]["callId"]
        (begun if event["type"] == "tool.started" else over)[call_id] += 1
        if over[call_id] and not begun[call_id]:
            yield f"call {call_id} ended before it began"
    for event in _call_events(rows):
        call_id = event["body"]["call"]["callId"]
        goes_on = event["run_id"] in under_way or call_id in waits
        if event["type"] == "tool.started" and not over[call_id] and not goes_on:
            yield f"call {call_id} began and never ended"
    yield from (f"call {id} began {n} times" for id, n in begun.items() if n > 1)
    yield from (f"call {id} ended {n} times" for id, n in over.items() if n > 1)


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────

CHECKS: Mapping[str, Sequence[Check]] = {
    "V1": [sends_are_kept_once],
    "V2": [nothing_is_there_twice],
    "V3": [numbers_have_no_hole],
    "V4": [followers_see_each_event_once],
    "V5": [one_run_at_a_time],
    "V6": [journals_are_whole, a_call_ends_before_the_next_begins, calls_begin_and_end_once, nothing_hangs],
    "V7": [results_are_delivered_once, what_is_carried_out_was_approved, cards_show_how_calls_stand],
    "V8": [items_are_taken_once, skills_are_started_once],
    "V9": [schedules_fire_once],
    "V10": [effects_fit_their_class],
    "V11": [limits_hold, spending_is_the_sum_of_the_steps, what_is_held_says_why],
    "V12": [rights_only_shrink, groups_keep_to_themselves],
    "V13": [files_are_counted, files_have_their_bytes],
    "V14": [the_audit_log_holds],
    "V15": [nothing_runs_without_a_lease, threads_wait_for_something],
    "V16": [no_canary_is_anywhere],
    "V17": [the_files_are_sound],
    "V18": [both_stores_tell_the_same],
    "outbox": [messages_go_out_once],
    "events": [events_tell_what_is_there],
}
NOT_YET: tuple[str, ...] = ()


def check(seen: Seen) -> dict[str, list[str]]:
    """Each invariant, and how it is broken: empty lists are good news."""
    return {id: [line for one in checks for line in one(seen)] for id, checks in CHECKS.items()}


def violations(seen: Seen) -> list[str]:
    return [f"{id}: {line}" for id, lines in check(seen).items() for line in lines]


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bullpen.testing.invariants", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("url", metavar="DATABASE_URL", help="sqlite:///path or postgresql://…")
    parser.add_argument("--at-rest", action="store_true", help="nobody works on it: everything must be finished")
    parser.add_argument("--lease", type=float, metavar="SECONDS", help="somebody works on it, with leases this long")
    parser.add_argument("--step", type=float, default=600, metavar="SECONDS", help="the longest step of a run (600)")
    parser.add_argument("--chain-depth", type=int, default=3, metavar="N", help="the depth limit of the office (3)")
    parser.add_argument("--clients", type=Path, nargs="+", default=[], metavar="FILE", help="histories of senders (V1)")
    parser.add_argument(
        "--followers", type=Path, nargs="+", default=[], metavar="FILE", help="histories of followers (V4)"
    )
    parser.add_argument("--effects", type=Path, metavar="FILE", help="what tools did outside (V10)")
    parser.add_argument("--arrivals", type=Path, metavar="FILE", help="what arrived in chats elsewhere (outbox)")
    parser.add_argument("--canary", nargs="+", default=[], metavar="TEXT", help="must stand nowhere (V16)")
    parser.add_argument("--same-as", metavar="DATABASE_URL", help="another database that tells the same (V18)")
    parser.add_argument("--files", type=Path, metavar="DIR", help="where the bytes of files are: hashes them all (V13)")
    parser.add_argument("--swept", action="store_true", help="a sweep has just been: no bytes may be left over (V13)")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    return parser


async def _look(args: argparse.Namespace) -> Seen:
    return Seen(
        rows=await snapshot.read(args.url),
        at_rest=args.at_rest,
        lease_ms=None if args.lease is None else int(args.lease * 1000),
        step_ms=int(args.step * 1000),
        chain_depth=args.chain_depth,
        sends=[send for path in args.clients for send in read_sends(path)],
        followers=[read_follower(path) for path in args.followers],
        effects=[] if args.effects is None else read_effects(args.effects),
        arrivals=[] if args.arrivals is None else read_journal(args.arrivals),
        canaries=args.canary,
        other=None if args.same_as is None else await snapshot.read(args.same_as),
        blobs=args.files,
        swept=args.swept,
    )


def main(argv: Sequence[str] | None = None) -> int:
    args = _arguments().parse_args(argv)
    try:
        found = check(asyncio.run(_look(args)))
    except (CannotRead, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({"violations": found, "notYet": NOT_YET}, indent=2))
    else:
        for id, lines in found.items():
            print(f"{id:7} {'ok' if not lines else f'{len(lines)} violations'}")
            for line in lines[:20]:
                print(f"        {line}")
        if NOT_YET:
            print(f"{' '.join(NOT_YET)} wait for what they are about.")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
