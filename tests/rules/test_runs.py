"""Statuses and legal moves, limits, and what a run amounted to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from bullpen.errors import Broken
from bullpen.runs import rules
from bullpen.runs.loop import PASSES
from bullpen.runs.types import Run
from bullpen.wire import Limits
from bullpen.wire.nouns import Outcome, RunStatus, StopReason
from tests.rules.a_run import RUN


def run(**changes: Any) -> Run:
    return replace(RUN, **changes)


def test_every_status_has_transitions_and_final_ones_have_none() -> None:
    assert set(rules.MOVES) == set(get_args(RunStatus))
    assert rules.agrees_with_the_wire()
    assert {status for status, moves in rules.MOVES.items() if not moves} == {"completed", "failed", "cancelled"}
    assert {to for moves in rules.MOVES.values() for to in moves} <= set(rules.MOVES)
    assert sorted(rules.FINISHED) == ["cancelled", "completed", "failed"]
    # What is not over can be cancelled, and what the loop drives can end.
    assert all("cancelled" in moves for status, moves in rules.MOVES.items() if status not in rules.FINISHED)
    assert all(rules.MOVES[status] >= rules.FINISHED for status in PASSES)


@pytest.mark.parametrize("before", get_args(RunStatus))
@pytest.mark.parametrize("after", get_args(RunStatus))
def test_a_move_is_made_only_if_it_is_legal(before: RunStatus, after: RunStatus) -> None:
    if after in rules.MOVES[before]:
        assert rules.move(run(status=before), after) == after
    else:
        with pytest.raises(Broken, match=f"cannot go from {before} to {after}"):
            rules.move(run(status=before), after)


def test_every_stop_reason_maps_to_a_final_status() -> None:
    assert {reason: rules.status_of(reason) for reason in get_args(StopReason)} == {
        "done": "completed",
        "skipped": "completed",
        "not_needed": "completed",
        "max_steps": "completed",
        "max_seconds": "completed",
        "max_cost": "completed",
        "max_tokens": "completed",
        "cancelled": "cancelled",
        "model_unavailable": "failed",
        "model_refused": "failed",
        "agent_deleted": "cancelled",
        "variables_required": "failed",
        "no_rights": "cancelled",
        "broken": "failed",
    }


@pytest.mark.parametrize(
    "changes, limits, reason",
    [
        ({}, {}, None),
        ({"step": 19}, {}, None),
        ({"step": 20}, {}, "max_steps"),
        ({"step": 1}, {"max_steps": 1}, "max_steps"),
        ({"active_ms": 599_999}, {}, None),
        ({"active_ms": 600_000}, {}, "max_seconds"),
        ({"active_ms": 500}, {"max_seconds": 0.5}, "max_seconds"),
        ({"step": 20, "active_ms": 600_000}, {}, "max_steps"),
        ({"input_tokens": 90, "output_tokens": 9}, {"max_tokens_per_run": 100}, None),
        ({"input_tokens": 90, "output_tokens": 10}, {"max_tokens_per_run": 100}, "max_tokens"),
        ({}, {"max_tokens_per_run": 0}, "max_tokens"),
        ({"cost": 1000.0}, {"max_cost_per_day": 1.0}, None),
    ],
)
def test_a_limit_is_reached_when_usage_equals_it(
    changes: dict[str, Any], limits: dict[str, Any], reason: StopReason | None
) -> None:
    assert rules.limit_reached(run(**changes), Limits(**limits)) == reason


@pytest.mark.parametrize(
    "acts, unsent, expected",
    [
        (set(), False, "silent"),
        (set(), True, "unsent_text"),
        ({"silence"}, False, "silent"),
        ({"acted"}, True, "acted"),
        ({"acted", "silence", "ended"}, False, "acted"),
        ({"reacted", "acted"}, False, "reacted"),
        ({"spoke", "reacted", "acted", "silence"}, True, "spoke"),
        ({"delivered"}, True, "unsent_text"),
    ],
)
def test_the_outcome_is_the_first_that_holds(acts: set[str], unsent: bool, expected: Outcome) -> None:
    assert rules.outcome(frozenset(acts), unsent_text=unsent) == expected


@pytest.mark.parametrize(
    "text, acts, addressed, corrected, unsent, corrects",
    [
        ("words", set(), True, False, True, True),
        ("words", set(), True, True, True, False),
        ("words", set(), False, False, True, False),
        ("words", {"acted"}, True, False, True, True),
        ("words", {"spoke"}, True, False, False, False),
        ("words", {"reacted"}, True, False, False, False),
        ("words", {"silence"}, True, False, False, False),
        ("", set(), True, False, False, False),
        (" \n\t", set(), True, False, False, False),
    ],
)
def test_unspoken_text_is_unsent_and_corrected_once_if_addressed(
    text: str, acts: set[str], addressed: bool, corrected: bool, unsent: bool, corrects: bool
) -> None:
    it = run(acts=frozenset(acts), addressed=addressed, corrected=corrected)
    assert rules.is_unsent(it, text) is unsent
    assert rules.needs_correction(it, text, {"send_message"}) is corrects
    assert not rules.needs_correction(it, text, {"do_nothing"})


def test_only_deaths_of_other_processes_under_a_mark_count() -> None:
    mark = rules.next_mark(None, "call_1", "one")
    found = rules.find_mark(mark, "two")
    assert (found.owner, found.deaths) == (None, 1)
    assert rules.find_mark(found, "three") == found, "it died before it tried again"
    again = rules.next_mark(found, "call_1", "two")
    assert rules.find_mark(again, "two").deaths == 1, "it has lost its lease, and lives"
    assert rules.is_hopeless(rules.find_mark(again, "three"))
    assert not rules.is_hopeless(found)
    assert rules.next_mark(found, "call_2", "two").deaths == 0, "another call begins anew"
