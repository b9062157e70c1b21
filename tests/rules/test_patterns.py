"""Patterns that others write: how large they are, and that no text takes long."""

from __future__ import annotations

import pytest

from bullpen.patterns import ENDLESS, WIDE, BadPattern, compile_linear, is_explosive, measure


@pytest.mark.parametrize(
    "pattern, letters",
    [
        ("tea", 3),
        ("(tea|milk)", 9),
        ("[a-z]{2,20}", 20),
        ("[^a]{300}", 300 * WIDE),
        (r"\w+", WIDE),
        ("(ab{3}){5}", 25),
        ("((a{9999}){9999}){9999}", 9999**3),
        ("(((((a{9999}){9999}){9999}){9999}){9999}){9999}", ENDLESS),
    ],
)
def test_a_pattern_is_as_large_as_what_it_repeats(pattern: str, letters: int) -> None:
    assert measure(pattern) == pytest.approx(letters, rel=0.2)


@pytest.mark.parametrize("pattern", ["[", "(", "a{2,1}", "(" * 5000, "*"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    assert is_explosive(pattern)
    with pytest.raises(BadPattern):
        measure(pattern)


@pytest.mark.parametrize("pattern", ["(?=tea)t", "(?<!no )tea", r"(a)\1", r"\w{9999}"])
def test_a_pattern_that_is_not_linear_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern, match="linear"):
        compile_linear(pattern)


@pytest.mark.proves("L11")
@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)*c", "(a*)*(a*)*c", "a*a*a*a*a*a*c"])
def test_a_hostile_text_is_searched_in_linear_time(pattern: str) -> None:
    search = compile_linear(pattern)
    assert not search("a" * 20_000 + "b")


def test_a_pattern_is_searched_for_anywhere_and_in_any_case() -> None:
    search = compile_linear(r"(?i)\btea\b")
    assert [search(text) for text in ("More TEA, please", "one\ntea", "team", "")] == [True, True, False, False]
