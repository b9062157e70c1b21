"""Which messages go out, and how an entry of the outbox changes. Pure.

An attempt is begun in a commit of its own, so an entry that is found `sending` has lost its sender: nobody knows
whether it arrived. Such a part is sent a second time, once, and keeps the mark. After that a person has to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, assert_never

from bullpen.errors import Broken
from bullpen.outbox.types import Entry, Refused, Result, Retry, Sent, Unknown
from bullpen.wire.cards import Card
from bullpen.wire.nouns import MessageStatus, MessageType, OutboxStatus

MOVES: Final[Mapping[OutboxStatus, frozenset[OutboxStatus]]] = {
    "queued": frozenset({"sending", "dropped", "dead", "queued", "sent"}),  # the last two: a sender that was late
    "sending": frozenset({"sent", "queued", "unknown", "dead"}),
    "unknown": frozenset({"sending", "sent", "queued", "dead"}),
    "dead": frozenset({"queued", "dropped"}),  # an owner decides
    "sent": frozenset(),
    "dropped": frozenset(),
}
UNSENT: Final[frozenset[OutboxStatus]] = frozenset({"queued", "sending", "unknown"})

# Seconds until the next attempt: after the first failure, the second, … After the last the entry is dead.
WAITS: Final = (1, 5, 15, 60, 300, 900, 3600, 3600, 3600)
JITTER: Final = 0.2
# Calls of tools are for the members of a space. Of those that wait for a person, a chat elsewhere sees that they do.
GOING_OUT: Final[frozenset[MessageType]] = frozenset({"text", "file", "voice", "system"})

_OVER: Final[Mapping[MessageStatus, str]] = {
    "complete": "done",
    "error": "failed",
    "expired": "nobody answered in time",
    "cancelled": "cancelled",
}

MAYBE_THERE: Final = "It was taken back here, but no answer came when it was sent: it may be there. Look there."
TWICE: Final = "No answer came twice, so nobody knows whether it arrived. Look there before you send it again."
RESTORED: Final = "The office was restored from a backup. It may have been sent before that."


def goes_out(type: MessageType, status: MessageStatus, chat: str | None, via: str | None) -> bool:
    """Is a message sent to the chat of its space? Not if it came from there."""
    return chat is not None and chat != via and (type in GOING_OUT or waits(type, status))


def waits(type: MessageType, status: MessageStatus) -> bool:
    """Is it a card that waits for somebody?"""
    return type == "tool" and status == "requires_action"


def outline(card: Card, status: MessageStatus, name: Callable[[str], str], link: str) -> str:
    """A card for people who may not see its arguments, and cannot answer it where they are. `link`: where they can."""
    tool = str(card.get("toolName", "a tool"))
    if status == "requires_action":
        asked = "values" if card.get("variables") else "approval" if card.get("approval") else "an answer"
        return f"{tool} waits for {asked}. Answer it in Bullpen{f': {link}' if link else '.'}"
    over = _OVER.get(status, "under way")
    if status == "error" and card.get("approval") and not card.get("approvedBy"):
        over = "not approved"
    people = [card.get("answeredBy"), card.get("approvedBy"), card.get("suppliedBy")]
    who = next((each for id in people if id and (each := name(str(id))) != id), None)
    return f"{tool}: {over}" + ("." if who is None else f", {who} answered.")


def _move(entry: Entry, to: OutboxStatus, **changes: Any) -> Entry:
    if to not in MOVES[entry.status]:
        raise Broken(f"Entry {entry.number} of the outbox cannot go from {entry.status} to {to}.")
    return replace(entry, status=to, **changes)


def begin(entry: Entry) -> Entry:
    """One more attempt; or dead, if it is not worth one. What was under way has lost its sender."""
    if entry.status == "sending":
        entry = lose(entry)
    if entry.status == "queued":
        return _move(entry, "sending", attempts=entry.attempts + 1)
    if entry.repeated_part == entry.part:
        return _move(entry, "dead", error=TWICE)
    return _move(entry, "sending", attempts=entry.attempts + 1, repeated_part=entry.part)


def lose(entry: Entry, error: str | None = None) -> Entry:
    return _move(entry, "unknown", error=error)


def drop(entry: Entry, reason: str, at: str) -> Entry:
    return _move(entry, "dropped", error=reason, finished_at=at)


def give_up(entry: Entry, reason: str, at: str) -> Entry:
    """There is nothing left to send. If an attempt lost its answer, somebody has to know."""
    return drop(entry, reason, at) if entry.status == "queued" else bury(entry, MAYBE_THERE)


def bury(entry: Entry, reason: str) -> Entry:
    return _move(entry, "dead", error=reason)


def revive(entry: Entry, now: int) -> Entry:
    """An owner wants it to be sent after all."""
    return _move(entry, "queued", failures=0, next_at=now, error=None)


def counts(current: Entry, begun: Entry, result: Result) -> bool:
    """Does the result of an attempt still count? That it arrived counts from anybody, and as long as it is unsent."""
    if isinstance(result, Sent):
        return current.status in UNSENT and current.part == begun.part
    return current.status == "sending" and current.attempts == begun.attempts


def settle(current: Entry, result: Result, *, now: int, at: str, luck: float) -> Entry:
    """What becomes of an entry. `luck` from 0 to 1 keeps many from coming back at once."""
    match result:
        case Sent(more=True):
            return _move(current, "queued", part=current.part + 1, failures=0, next_at=now, error=None)
        case Sent():
            return _move(current, "sent", error=None, finished_at=at)
        case Retry(reason, after):
            return _postpone(current, reason, after, now, luck)
        case Refused(reason):
            return bury(current, reason)
        case Unknown(reason):
            return replace(lose(current, reason), next_at=now)
        case _:
            assert_never(result)


def _postpone(entry: Entry, reason: str, after: float | None, now: int, luck: float) -> Entry:
    if after is not None:
        return _move(entry, "queued", next_at=now + int(after * 1000), error=reason)
    if entry.failures >= len(WAITS):
        return bury(entry, f"{entry.failures + 1} attempts have failed. {reason}")
    wait = WAITS[entry.failures] * (1 + JITTER * (2 * luck - 1))
    return _move(entry, "queued", failures=entry.failures + 1, next_at=now + int(wait * 1000), error=reason)
