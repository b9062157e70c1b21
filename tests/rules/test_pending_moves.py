"""The states of a pending call: a closed table, in which every call comes to an end and is delivered once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Broken
from bullpen.inbox.types import Cause
from bullpen.tools.rules import (
    PENDING_BEGINNINGS,
    PENDING_MOVES,
    Mover,
    PendingState,
    check_begin,
    check_move,
    pending_state,
)
from bullpen.tools.types import Execution, Waiting
from bullpen.wire.nouns import PendingStatus

PAGE = Path(__file__).parents[2] / "docs/internals/pending.md"
ENDS = {state for state, moves in PENDING_MOVES.items() if not moves}
MOVERS: tuple[Mover, ...] = get_args(Mover)
CALL = Waiting(
    "cal_1", "external", "waiting", "ada", "run_1", "thr_1", None, "t", {}, Cause("person", "p", ""), 0, "", ""
)


def call_in(state: PendingState) -> Waiting:
    kind, status, execution, via = state.value
    return replace(
        CALL,
        kind="approval" if kind == "approval" else "space",
        status=status,
        execution=execution,
        delivered_via=via,
    )


def reachable(starts: Iterator[PendingState] | frozenset[PendingState]) -> set[PendingState]:
    found, left = set(starts), list(starts)
    while left:
        for after in PENDING_MOVES[left.pop()]:
            if after not in found:
                found.add(after)
                left.append(after)
    return found


def test_every_state_stands_in_the_table_and_is_reached() -> None:
    assert set(PENDING_MOVES) == set(PendingState)
    assert reachable(PENDING_BEGINNINGS) == set(PendingState)


@pytest.mark.parametrize("state", PendingState)
def test_every_state_has_an_end(state: PendingState) -> None:
    assert reachable(frozenset({state})) & ENDS


def test_an_end_is_delivered_or_has_no_result() -> None:
    for state in ENDS:
        _, status, _, via = state.value
        assert (via is not None) == (status == "resolved"), state
        assert status not in ("waiting", "pending"), state


def test_a_delivered_result_is_never_moved_again() -> None:
    for state in PendingState:
        if state.value[3] is not None:
            assert not PENDING_MOVES[state], state


@given(st.data())
def test_no_path_leaves_the_table(data: st.DataObject) -> None:
    state = data.draw(st.sampled_from(sorted(PENDING_BEGINNINGS, key=lambda each: each.name)))
    check_begin(call_in(state))
    for _ in range(30):
        wanted, by = data.draw(st.sampled_from(list(PendingState))), data.draw(st.sampled_from(MOVERS))
        if by in PENDING_MOVES[state].get(wanted, ()):
            check_move(call_in(state), call_in(wanted), by)
            state = wanted
        else:
            with pytest.raises(Broken, match=f"from {state.name} to {wanted.name} by {by}"):
                check_move(call_in(state), call_in(wanted), by)


def test_other_combinations_of_columns_are_no_state() -> None:
    known = {state.value for state in PendingState}
    for status in get_args(PendingStatus):
        for execution in (None, *get_args(Execution)):
            for via in (None, "inline", "inbox"):
                for kind in ("external", "space", "approval"):
                    row = replace(CALL, kind=kind, status=status, execution=execution, delivered_via=via)
                    columns = ("approval" if kind == "approval" else "answer", status, execution, via)
                    if columns in known:
                        assert pending_state(row).value == columns
                    else:
                        with pytest.raises(Broken, match="in no state that there is"):
                            pending_state(row)


@pytest.mark.parametrize("state", [each for each in PendingState if each not in PENDING_BEGINNINGS])
def test_a_call_begins_in_an_open_state_only(state: PendingState) -> None:
    with pytest.raises(Broken, match=f"cannot begin as {state.name}"):
        check_begin(call_in(state))


# ── the drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_draws_the_table() -> None:
    page = PAGE.read_text()
    drawn = re.findall(r"^ +(\S+) --> (\S+)(?: : (.+))?$", page, flags=re.MULTILINE)
    moves = {
        (before.name, after.name, by)
        for before, row in PENDING_MOVES.items()
        for after, who in row.items()
        for by in who
    }
    assert {(a, b, by) for a, b, who in drawn if who for by in who.split(", ")} == moves
    assert {b for a, b, _ in drawn if a == "[*]"} == {state.name for state in PENDING_BEGINNINGS}
    assert {a for a, b, _ in drawn if b == "[*]"} == {state.name for state in ENDS}


def test_the_page_says_what_each_state_stands_for() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|(.+)\|$", PAGE.read_text(), flags=re.MULTILINE)
    told = {name: tuple(cell.strip() or None for cell in cells.split("|")) for name, cells in rows}
    assert told == {state.name: state.value for state in PendingState}
