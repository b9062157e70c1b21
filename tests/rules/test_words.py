"""Which words a text has, what a query asks for, and where it stands in the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.storage import words
from bullpen.storage.words import Phrase

TEXTS: list[tuple[str, list[str]]] = [
    ("Hello, World!", ["hello", "world"]),
    ("don't a_b-c 3.5", ["don", "t", "a", "b", "c", "3", "5"]),
    ("Zoë ZOE\u0308 ÉCOLE Straße", ["zoe", "zoe", "ecole", "strasse"]),
    ("ＡＢＣ ﬁn ½", ["abc", "fin", "1⁄2"]),
    ("Привет", ["привет"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("東京都", ["東京", "京都", "都"]),
    ("猫", ["猫"]),
    ("iPhone東京", ["iphone", "東京", "京"]),
    ("ｶﾞ", ["ガ"]),
    ("학교", ["학교", "교"]),
    ("done 🎉👍", ["done", "🎉", "👍"]),
    ("!?* \x00\x07 … —", []),
    ("\ue000space-a \ue001b", ["space", "a", "b"]),
    ("x" * 100, ["x" * 64]),
]


@pytest.mark.parametrize("text, found", TEXTS)
def test_a_text_is_split_and_folded(text: str, found: list[str]) -> None:
    assert words.words(text) == found


QUERIES: list[tuple[str, list[Phrase]]] = [
    ("", []),
    ('* "" (', []),
    ("Two Words", [Phrase(("two",)), Phrase(("words",), prefix=True)]),
    ("a", [Phrase(("a",))]),
    ('"of the" end', [Phrase(("of", "the")), Phrase(("end",), prefix=True)]),
    ('end "of the"', [Phrase(("end",)), Phrase(("of", "the"))]),
    ('"never closed', [Phrase(("never",)), Phrase(("closed",), prefix=True)]),
    ("don't stop", [Phrase(("don", "t")), Phrase(("stop",), prefix=True)]),
    ("NEAR(a b) OR x*", [Phrase(("near", "a")), Phrase(("b",)), Phrase(("or",)), Phrase(("x",))]),
    ("東京都", [Phrase(("東京", "京都"))]),
    ("都 猫", [Phrase(("都",), prefix=True), Phrase(("猫",), prefix=True)]),
    ("猫、猫", [Phrase(("猫", "猫"), prefix=True)]),
    ("same same", [Phrase(("same",)), Phrase(("same",), prefix=True)]),
]


@pytest.mark.parametrize("query, phrases", QUERIES)
def test_only_paired_quotes_are_operators_in_a_query(query: str, phrases: list[Phrase]) -> None:
    assert words.parse(query) == phrases


HITS: list[tuple[str, str, list[str]]] = [
    ("Ask Zoë, or ZOE's cat", "zoe", ["Zoë", "ZOE"]),
    ("the cat and the dog", '"the dog"', ["the dog"]),
    ("catalogue of cats", "cat", ["catalogue", "cats"]),
    ("私は東京都に行く", "京都", ["京都"]),
    ("子猫が", "猫", ["猫"]),
    ("nothing here", "else", []),
]


@pytest.mark.parametrize("text, query, shown", HITS)
def test_hits_are_marked_in_the_text_as_originally_written(text: str, query: str, shown: list[str]) -> None:
    assert [text[start:end] for start, end in words.matches(text, words.parse(query))] == shown


@given(st.text())
def test_every_word_is_plain_for_both_databases(text: str) -> None:
    found = words.words(text)
    assert not [word for word in found if not word or re.search(r"[\x00-\x2f\x3a-\x60\x7b-\x7f\s\ue000-\ue002]", word)]
    assert found == [place.word for place in words.places(text)]


@given(st.text(min_size=1), st.text(max_size=20), st.text(max_size=20))
def test_a_text_is_found_by_itself(text: str, before: str, after: str) -> None:
    """Whatever is said can be looked up by copying it, and what is found can be shown."""
    phrases = words.parse(f'"{text.replace(chr(34), " ")}"')
    whole = f"{before} {text} {after}"
    kept = words.indexed(whole, space_id="s", author_id="a", type="text")
    if phrases:
        assert kept is not None
        assert all(phrase.needle in kept for phrase in phrases)
        assert words.matches(whole, phrases)
