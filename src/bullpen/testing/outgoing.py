"""What must be true of the outbox: every message that goes out has one entry, and nothing is sent twice unmarked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bullpen.outbox import rules
from bullpen.testing.bridges import Arrival
from bullpen.testing.snapshot import Row, Snapshot, grouped


def faults(rows: Snapshot, arrivals: Sequence[Arrival], *, at_rest: bool) -> Iterator[str]:
    connected = {bridge["id"] for bridge in rows["bridges"]}
    for chat in rows["chats"]:
        if chat["space_id"] is not None and chat["jid"].partition(":")[0] in connected:
            yield from _chat_faults(rows, chat)
    for entry in rows["outbox"]:
        yield from (f"entry {entry['number']} of the outbox {what}" for what in _entry_faults(entry, at_rest))
    if arrivals:
        yield from _arrival_faults(rows, arrivals)


def _chat_faults(rows: Snapshot, chat: Row) -> Iterator[str]:
    entries = [entry for entry in rows["outbox"] if entry["chat"] == chat["jid"] and entry["kind"] == "message"]
    incoming = {row["message_id"] for row in rows["bridge_messages"] if row["chat"] == chat["jid"] and row["incoming"]}
    said = [message for message in rows.messages if message["space_id"] == chat["space_id"]]
    seq = {message["id"]: message["seq"] for message in said}
    # What was said before the space became this chat, and what is long sent and forgotten, has no entry.
    known = [seq[entry["message_id"]] for entry in entries if entry["message_id"] in seq and entry["status"] != "dead"]
    count = Counter(entry["message_id"] for entry in entries)
    for message in said:
        if known and message["seq"] >= min(known):
            expected = int(message["type"] in rules.GOING_OUT and message["id"] not in incoming)
            if count[message["id"]] != expected:
                yield f"message {message['id']} of the chat {chat['jid']} has {count[message['id']]} entries"
    order = [seq[entry["message_id"]] for entry in _by_number(entries) if entry["message_id"] in seq]
    yield from (f"{chat['jid']}: message {b} is queued after {a}" for a, b in pairwise(order) if b < a)


def _by_number(entries: list[Row]) -> list[Row]:
    return sorted(entries, key=lambda entry: entry["number"])


def _entry_faults(entry: Row, at_rest: bool) -> Iterator[str]:
    status = entry["status"]
    if (entry["finished_at"] is not None) != (status in ("sent", "dropped")):
        yield f"is {status} and was finished at {entry['finished_at']}"
    if status in ("dead", "dropped") and not entry["error"]:
        yield f"is {status} and nobody can see why"
    if status == "sent" and not entry["attempts"]:
        yield "is sent, and no attempt was made"
    if entry["repeated_part"] is not None and entry["repeated_part"] > entry["part"]:
        yield "was repeated before it was sent"
    if at_rest and status == "sending":
        yield "is being sent, and nobody sends it"


def _arrival_faults(rows: Snapshot, arrivals: Sequence[Arrival]) -> Iterator[str]:
    entries = {entry["number"]: entry for entry in rows["outbox"]}
    by_key = grouped([{"key": a.key, "arrival": a} for a in arrivals if a.kind == "message"], "key")
    for key, found in by_key.items():
        first, *others = [each["arrival"] for each in found]
        entry = entries.get(first.number)
        if entry is None:
            yield f"{key} arrived, and nobody sent it"
        elif len(others) > 1 or (others and not (others[0].repeated and entry["repeated_part"] is not None)):
            yield f"{key} arrived {len(found)} times without the mark"
    for entry in entries.values():
        if entry["kind"] == "message" and entry["status"] == "sent":
            keys = [f"{entry['message_id']}/{entry['number']}/{part}" for part in range(entry["part"] + 1)]
            yield from (f"{key} is sent, and did not arrive" for key in keys if key not in by_key)
