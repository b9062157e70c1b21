"""Whom a message wakes, how deep the chain is, and which items one run takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.inbox import rules
from bullpen.inbox.types import Cause, Item, Recipient
from bullpen.spaces import rules as space_rules
from bullpen.wire.nouns import WakePolicy


def recipient(chain_limit: int | None = None) -> Recipient:
    return Recipient("ada", "Ada", "space", chain_limit, None)


def item(number: int, grants: str) -> Item:
    return Item(f"itm_{number}", "thr", "message", None, {}, Cause("person", "p", grants), 0, "chn", False, None)


@pytest.mark.parametrize(
    "policy, mentioned, trigger, triggered, expected",
    [
        ("all", False, None, False, True),
        ("all", True, "andy", True, True),
        ("mention", True, "andy", False, True),
        ("mention", False, "andy", True, False),
        ("trigger", True, "andy", False, False),
        ("trigger", False, "andy", True, True),
        ("trigger", True, None, False, True),
        ("trigger", False, None, False, False),
        ("none", True, "andy", True, False),
    ],
)
def test_a_message_wakes_by_policy(
    policy: WakePolicy, mentioned: bool, trigger: str | None, triggered: bool, expected: bool
) -> None:
    assert rules.wakes(policy, mentioned=mentioned, trigger=trigger, triggered=triggered) is expected


@given(
    st.sampled_from(["all", "mention", "trigger", "none"]),
    st.sampled_from(["hello", "@ada", "andy", "@ada andy", "bob@ada"]),
    st.booleans(),
    st.sampled_from([None, "andy"]),
)
def test_the_shortcut_never_hides_somebody_who_would_wake(
    policy: WakePolicy, text: str, replied: bool, trigger: str | None
) -> None:
    mentioned = space_rules.mentions(text, id="ada", name="Ada") or replied
    triggered = trigger is not None and space_rules.says(text, trigger)
    if space_rules.nobody_wakes(policy, text, replied=replied, trigger=trigger):
        assert not rules.wakes(policy, mentioned=mentioned, trigger=trigger, triggered=triggered)


@pytest.mark.parametrize(
    "kind, depth, own, limit, goes_on, next_depth",
    [
        ("person", 0, None, 3, True, 0),
        ("person", 0, 0, 0, True, 0),
        ("agent", 0, None, 3, True, 1),
        ("agent", 2, None, 3, True, 3),
        ("agent", 3, None, 3, False, 4),
        ("agent", 0, None, 0, False, 1),
        ("agent", 0, 0, 3, False, 1),
        ("agent", 3, 5, 3, True, 4),
        ("agent", 5, 5, 9, False, 6),
    ],
)
def test_a_message_wakes_agents_only_below_the_depth_limit(
    kind: str, depth: int, own: int | None, limit: int, goes_on: bool, next_depth: int
) -> None:
    assert rules.chain_goes_on(kind, depth, recipient(own), limit) is goes_on
    assert rules.depth_of_run(kind, depth) == next_depth


@pytest.mark.parametrize(
    "grants, taken", [("", 0), ("a", 1), ("aaaa", 4), ("ab", 1), ("aaba", 2), ("baaa", 1), ("abab", 1)]
)
def test_a_run_takes_oldest_items_while_their_grants_match(grants: str, taken: int) -> None:
    items = [item(n, grant) for n, grant in enumerate(grants)]
    assert list(rules.drained(items)) == items[:taken]
