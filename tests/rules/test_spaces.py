"""Who is addressed by a message, and how a space wakes its agents."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.spaces import rules
from bullpen.wire import Wake
from bullpen.wire.nouns import SpaceKind, WakePolicy
from bullpen.wire.requests import WakeRequest

MENTIONS: list[tuple[str, bool]] = [
    ("@ada", True),
    ("@Ada Lovelace", True),
    ("hello @ADA!", True),
    ("hello,@ada", True),
    ("(@ada)", True),
    ("@ada.", True),
    ("@ada's", True),
    ("@ada:@bo", True),
    ("“@ada”", True),
    ("@ada lovelace", True),
    ("line\n@ada\nline", True),
    ("ada", False),
    ("Ada Lovelace", False),
    ("@adam", False),
    ("@ada_", False),
    ("@ada-b", False),
    ("@ada2", False),
    ("@adä", False),
    ("bob@ada", False),
    ("bob@ada.example", False),
    ("é@ada", False),
    ("@@ada", False),
    ("@ ada", False),
    ("", False),
    ("@", False),
]


@pytest.mark.parametrize("text, expected", MENTIONS)
def test_a_mention_is_an_id_or_name_at_word_boundaries(text: str, expected: bool) -> None:
    assert rules.mentions(text, id="ada", name="Ada Lovelace") is expected


@pytest.mark.parametrize(
    "text, name, expected",
    [
        ("ask @Zoë", "Zoë", True),
        ("ask @ZOË!", "Zoë", True),
        ("ask @R.2 (D2)", "R.2 (D2)", True),
        ("ask @RX2 (D2)", "R.2 (D2)", False),
        ("ask @李 now", "李", True),
        ("ask @李明 now", "李", False),
    ],
)
def test_names_with_pattern_characters_are_matched_literally(text: str, name: str, expected: bool) -> None:
    assert rules.mentions(text, id="x", name=name) is expected


@pytest.mark.parametrize(
    "text, word, expected",
    [
        ("Andy, hello", "andy", True),
        ("hello andy", "Andy", True),
        ("@Andy!", "@Andy", True),
        ("Andy", "@Andy", False),
        ("handy", "andy", False),
        ("andy's", "andy", True),
        ("@andy", "andy", False),
        ("C++ is fun", "C++", True),
    ],
)
def test_a_trigger_word_is_a_word(text: str, word: str, expected: bool) -> None:
    assert rules.says(text, word) is expected


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_at_name_surrounded_by_whitespace_is_a_mention(before: str, after: str) -> None:
    assert rules.mentions(f"{before} @ada {after}", id="ada", name="Ada")


@pytest.mark.parametrize(
    "kind, main, expected",
    [
        ("dm", False, ("all", "all")),
        ("dm", True, ("all", "all")),
        ("channel", False, ("mention", "mention")),
        ("channel", True, ("mention", "mention")),
        ("group", False, ("trigger", "none")),
        ("group", True, ("all", "none")),
    ],
)
def test_each_space_kind_has_wake_defaults_that_requests_override(
    kind: SpaceKind, main: bool, expected: tuple[WakePolicy, WakePolicy]
) -> None:
    people, agents = expected
    assert rules.wake(kind, WakeRequest(), main=main) == Wake(people=people, agents=agents)
    for policy in get_args(WakePolicy):
        fixed = kind == "dm"
        assert rules.wake(kind, WakeRequest(people=policy), main=main).people == (people if fixed else policy)
        assert rules.wake(kind, WakeRequest(people=policy), main=main).agents == agents
        assert rules.wake(kind, WakeRequest(agents=policy), main=main).agents == (agents if fixed else policy)


@pytest.mark.parametrize(
    "policy, text, replied, trigger, nobody",
    [
        ("none", "@ada andy", True, "andy", True),
        ("all", "", False, None, False),
        ("mention", "hello", False, None, True),
        ("mention", "hello", True, None, False),
        ("mention", "hello @", False, None, False),
        ("trigger", "hello", True, "andy", True),
        ("trigger", "@ada", False, "andy", True),
        ("trigger", "andy", False, "andy", False),
        ("trigger", "hello", False, None, True),
        ("trigger", "hello", True, None, False),
        ("trigger", "@ada", False, None, False),
    ],
)
def test_a_message_waking_nobody_is_detected_without_reading_members(
    policy: WakePolicy, text: str, replied: bool, trigger: str | None, nobody: bool
) -> None:
    assert rules.nobody_wakes(policy, text, replied=replied, trigger=trigger) is nobody
