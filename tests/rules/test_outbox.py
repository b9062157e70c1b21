"""How an entry of the outbox changes: every move is in the table, and what is uncertain is never hidden."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from bullpen.errors import Broken
from bullpen.outbox import rules
from bullpen.outbox.types import Entry, Refused, Result, Retry, Sent, Unknown
from bullpen.wire.nouns import MessageType, OutboxStatus

STATUSES: tuple[OutboxStatus, ...] = get_args(OutboxStatus)
ENTRY = Entry(
    number=1,
    bridge="mem",
    chat="mem:1",
    space_id="s",
    message_id="msg_1",
    kind="message",
    member_id=None,
    emoji=None,
    status="queued",
    part=0,
    attempts=0,
    failures=0,
    next_at=0,
    repeated_part=None,
    error=None,
    created_at="t",
    finished_at=None,
)


def settle(entry: Entry, result: Result, luck: float = 0.5) -> Entry:
    return rules.settle(entry, result, now=1000, at="now", luck=luck)


def test_the_table_of_moves_names_every_status() -> None:
    assert set(rules.MOVES) == set(STATUSES)
    assert {status for moves in rules.MOVES.values() for status in moves} <= set(STATUSES)
    assert {status for status, moves in rules.MOVES.items() if not moves} == {"sent", "dropped"}
    assert {status for status, moves in rules.MOVES.items() if "sending" in moves} | {"sending"} == rules.UNSENT


@pytest.mark.parametrize("status", STATUSES)
def test_only_unsent_entries_can_begin(status: OutboxStatus) -> None:
    entry = replace(ENTRY, status=status)
    if status in rules.UNSENT:
        assert rules.begin(entry).status == "sending"
    else:
        with pytest.raises(Broken):
            rules.begin(entry)


@pytest.mark.parametrize("status", ["sending", "unknown"])
def test_a_lost_answer_is_repeated_once_and_marked(status: OutboxStatus) -> None:
    lost = replace(ENTRY, status=status, attempts=1)
    again = rules.begin(lost)
    assert (again.status, again.attempts, again.repeated_part) == ("sending", 2, 0)
    dead = rules.begin(again)
    assert (dead.status, dead.error) == ("dead", rules.TWICE)


def test_each_part_may_be_repeated_and_the_mark_stays() -> None:
    second = settle(rules.begin(rules.begin(ENTRY)), Sent("r1", more=True))
    assert (second.status, second.part, second.repeated_part) == ("queued", 1, 0)
    again = rules.begin(rules.begin(second))
    assert (again.status, again.repeated_part) == ("sending", 1)
    assert settle(again, Sent("r2")).repeated_part == 1


def test_failures_wait_longer_each_time_and_end_dead() -> None:
    entry, waits = ENTRY, []
    while entry.status != "dead":
        entry = settle(rules.begin(entry), Retry("not there"))
        waits.append(entry.next_at - 1000)
    assert waits[:-1] == [wait * 1000 for wait in rules.WAITS]
    assert entry.error == f"{len(rules.WAITS) + 1} attempts have failed. not there"
    assert rules.revive(entry, 7).failures == 0


@pytest.mark.parametrize("luck", [0.0, 1.0])
def test_luck_spreads_attempts_by_a_fifth(luck: float) -> None:
    wait = settle(replace(rules.begin(ENTRY), failures=3), Retry("x"), luck).next_at - 1000
    assert wait == pytest.approx(60_000 * (0.8 if luck == 0 else 1.2))


def test_being_asked_to_wait_never_counts_as_failure() -> None:
    entry = ENTRY
    for _ in range(50):
        entry = settle(rules.begin(entry), Retry("too many", after=30))
    assert (entry.status, entry.failures, entry.next_at) == ("queued", 0, 31_000)


@pytest.mark.parametrize(
    "result, status",
    [(Sent("r"), "sent"), (Refused("no"), "dead"), (Unknown("silence"), "unknown"), (Retry("later"), "queued")],
)
def test_every_result_has_its_status(result: Result, status: OutboxStatus) -> None:
    assert settle(rules.begin(ENTRY), result).status == status


@pytest.mark.parametrize("status", STATUSES)
def test_a_late_arrival_counts_unless_it_is_over(status: OutboxStatus) -> None:
    begun = rules.begin(ENTRY)
    current = replace(begun, status=status, attempts=5)
    assert rules.counts(current, begun, Sent("r")) == (status in rules.UNSENT)
    assert not rules.counts(current, begun, Retry("x")), "somebody else has begun another attempt"
    assert not rules.counts(replace(current, part=1), begun, Sent("r"))
    if status in rules.UNSENT:
        assert settle(current, Sent("r")).status == "sent"


@pytest.mark.parametrize("status, after", [("queued", "dropped"), ("sending", "dead"), ("unknown", "dead")])
def test_nothing_left_to_send_is_dropped_unless_uncertain(status: OutboxStatus, after: OutboxStatus) -> None:
    assert rules.give_up(replace(ENTRY, status=status), "gone", "now").status == after


@pytest.mark.parametrize("type", get_args(MessageType))
def test_messages_go_out_unless_they_came_from_there(type: MessageType) -> None:
    assert rules.goes_out(type, "complete", "mem:1", None) == (type != "tool")
    assert rules.goes_out(type, "requires_action", "mem:1", "mem:2")
    assert not rules.goes_out(type, "requires_action", "mem:1", "mem:1")
    assert not rules.goes_out(type, "complete", None, None)
