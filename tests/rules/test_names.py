"""Names: what may stand in them, and which of them a reader cannot tell apart."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.wire import names

HIDDEN = [
    "Ada\u202ekcab",  # the rest is read backwards
    "Ada\u2066",
    "\u200fAda",
    "me\u3164",  # fillers, which count as letters
    "me\uffa0",
    "me\u115f",
    "\u2800",
    "m\u200be",  # no width
    "me\u2060",
    "me\ufeff",
    "m\u00ade",
    "m\u034fe",
    "me\ufe0f",  # the style of an emoji, without one
    "m\u200de",  # joiners where nothing joins
    "\u200cme",
    "me\U000e0041",
    "me\U000e0100",
    "a\x07b",
    "a\u2028b",
    "me\ue000",
]
FINE = [
    "Ada",
    "Ada Lovelace",
    "O'Brien-Smith",
    "O’Neil",
    "José",
    "Zoë 😀",
    "R2-D2",
    "Ольга",
    "Μαρία",
    "שלום",
    "علی\u200cرضا",
    "क्\u200dष",
    "👩\u200d🚀",
    "❤\ufe0f",
    "山田太郎",
    "한글",
    "\U0001fae9",  # newer than this Python's data
]
ALIKE = [
    ("me", "mе"),
    ("me", "ｍｅ\u3164"),
    ("Olga", "Оlgа"),
    ("AI", "Al"),
    ("Ilya", "llya"),
    ("Carmen", "Carrnen"),
    ("Bob", "Bοb"),
    ("paypal", "раураl"),
    ("ANNA", "ΑΝΝΑ"),
    ("María", "Mαrίa"),
    ("bot 1", "bot l"),
    ("bot 0", "bot O"),
    ("O'Neil", "O’Neil"),
    ("علیرضا", "علی\u200cرضا"),
]
APART = [
    ("Σ1", "O1"),
    ("Al", "Ai"),
    ("Jose", "José"),
    ("Иван", "Ivan"),
    ("Ада", "Ada"),
    ("bot 1", "bot 2"),
    ("Ada", "ADA"),
    ("Bo", "Bo"),
]


@pytest.mark.parametrize("name", HIDDEN, ids=ascii)
def test_a_name_that_hides_something_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"must not hold U\+[0-9A-F]{4}"):
        names.check(name)
    assert names.clean(name) in ("Ada", "Adakcab", "me", "ab", "")


@pytest.mark.parametrize("name", ["", " ", "\u0301", "\u00a0\u3000"], ids=ascii)
def test_a_name_that_shows_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="can be seen"):
        names.check(name)


@pytest.mark.parametrize("name", FINE, ids=ascii)
def test_names_of_all_scripts_stay_as_they_are(name: str) -> None:
    assert names.check(name) == names.clean(name) == name


def test_spaces_become_plain_single_ones() -> None:
    assert names.check(" 山田\u3000太郎 \t\u00a0 x ") == "山田 太郎 x"


@pytest.mark.parametrize("name, other", ALIKE, ids=ascii)
def test_names_that_look_the_same_are_found(name: str, other: str) -> None:
    assert names.looks_like(name, other)
    assert names.looks_like(other, name)


@pytest.mark.parametrize("name, other", APART, ids=ascii)
def test_names_that_can_be_told_apart_are_left_alone(name: str, other: str) -> None:
    assert not names.looks_like(name, other)


@given(st.text(max_size=20))
def test_cleaning_leaves_what_a_new_name_may_hold(name: str) -> None:
    cleaned = names.clean(names.clean(name))
    if any(unicodedata.category(sign)[0] in "LNPS" for sign in cleaned):
        assert names.check(cleaned) == cleaned
    assert names.skeleton(name) == names.skeleton(names.clean(name))
