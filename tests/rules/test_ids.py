"""Ids sort by creation; a DM has one id, whichever way round; and some ids may not be chosen."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bullpen import ids

# Few letters, so that ids often resemble each other.
CHOSEN = st.text("ab_-", min_size=1, max_size=4).filter(ids.choosable)


@pytest.mark.parametrize(
    "make, prefix",
    [
        (ids.message, "msg_"),
        (ids.run, "run_"),
        (ids.run_message, "rmg_"),
        (ids.call, "call_"),
        (ids.space, "spc_"),
        (ids.agent, "agt_"),
        (ids.person, "psn_"),
        (ids.thread, "thr_"),
        (ids.inbox_item, "itm_"),
        (ids.passage, "psg_"),
        (ids.token, "tok_"),
        (ids.chain, "chn_"),
        (ids.file, "fil_"),
    ],
)
def test_an_id_names_its_noun_and_rises(make: object, prefix: str) -> None:
    assert callable(make)
    made = [make() for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(prefix + "[0-9a-v]{26}", id) for id in made)
    assert all(ids.choosable(id) for id in made)


def test_ids_made_in_many_threads_are_all_different() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [id for batch in pool.map(lambda _: [ids.run() for _ in range(500)], range(8)) for id in batch]
    assert len(set(made)) == 4000


def test_a_call_names_the_message_it_makes() -> None:
    call = ids.call()
    assert ids.message_for(call) == ids.message_for(call) == "msg_" + call.removeprefix("call_")


def test_runs_made_since_a_moment_sort_after_it() -> None:
    before = ids.run()
    millis = 2_000_000_000_000
    assert before < ids.runs_since(millis)
    assert ids.runs_since(0) < before
    assert ids.runs_since(millis) < ids.runs_since(millis + 1)


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ("michael", "jim", "dm-jim-michael"),
        ("jim", "michael", "dm-jim-michael"),
        ("mary-ann", "bo", "dm-bo--mary-ann"),
        ("a-b", "c-d", "dm-a-b--c-d"),
        ("a", "a_b", "dm-a-a_b"),
    ],
)
def test_a_dm_is_named_by_its_two_members_sorted(first: str, second: str, expected: str) -> None:
    assert ids.dm(first, second) == expected


@given(CHOSEN, CHOSEN)
def test_either_order_of_a_dms_members_is_understood(first: str, second: str) -> None:
    assume(first != second)
    id = ids.dm(first, second)
    joint = "--" if "-" in first + second else "-"
    assert ids.canonical_space(f"dm-{first}{joint}{second}") == id
    assert ids.canonical_space(f"dm-{second}{joint}{first}") == id
    assert ids.canonical_space(id) == id


@given(CHOSEN, CHOSEN, CHOSEN, CHOSEN)
def test_dm_ids_are_equal_only_for_the_same_members(a: str, b: str, c: str, d: str) -> None:
    if {a, b} != {c, d}:
        assert ids.dm(a, b) != ids.dm(c, d)


@pytest.mark.parametrize(
    "id", ["general", "dm-", "dm-a", "dm-a-b-c", "dm-a--b--c", "dm--", "dm--a", "dm-a-", "spc_1", ""]
)
def test_an_id_that_is_no_dm_is_left_unchanged(id: str) -> None:
    assert ids.canonical_space(id) == id


@pytest.mark.parametrize(
    "id, allowed",
    [
        ("general", True),
        ("a", True),
        ("0", True),
        ("a-b_c-9", True),
        ("x" * 64, True),
        ("dm", True),
        ("admin-dm-x", True),
        ("x" * 65, False),
        ("", False),
        ("-a", False),
        ("_a", False),
        ("A", False),
        ("a b", False),
        ("a\n", False),
        ("ä", False),
        ("a--b", False),
        ("dm-a", False),
        ("a/b", False),
    ],
)
def test_which_ids_a_caller_may_choose(id: str, allowed: bool) -> None:
    assert ids.choosable(id) is allowed
