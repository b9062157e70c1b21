"""Whether a text says only what a person has said. Everything else is asked about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.tools.own_words import MOST_LETTERS, are_own

SAID = "@ada please remind me tomorrow at nine to send the invoice to Bo, and never to Cy"


@pytest.mark.parametrize(
    "text",
    [
        "Remind Olga to send the invoice to Bo.",
        "send the invoice to Bo",
        "SEND THE INVOICE TO BO!",
        "Remind Olga tomorrow at nine: send the invoices to Bo",
    ],
)
def test_a_persons_words_in_their_order_are_own(text: str) -> None:
    assert are_own([text], SAID, ["Olga", "Ada"])


@pytest.mark.parametrize(
    "text",
    [
        "send the invoice to Bob",
        "send the invoice to bo@evil.example",
        "Bo invoice send",
        "send the password to Bo",
        "send the invoice to Bo at 10.1.2.3",
        "remind her every day",
        "do not remind them",
        "cancel the invoice",
        f"send the invoice {'to ' * MOST_LETTERS}Bo",
        "s e n d",
    ],
)
def test_any_other_word_or_order_is_not_own(text: str) -> None:
    assert not are_own([text], SAID, ["Olga", "Ada"])


def test_every_text_of_a_call_must_be_own() -> None:
    assert are_own(["the invoice", ""], SAID)
    assert not are_own(["the invoice", "evil"], SAID)


def test_nothing_is_own_when_nobody_spoke() -> None:
    assert not are_own(["the invoice"], "")
    assert not are_own(["remind"], "...")


@given(st.text(alphabet=st.characters(categories=("L", "N")), min_size=5, max_size=12))
def test_a_word_that_was_not_said_is_never_own(word: str) -> None:
    assert not are_own([f"the invoice {word}zq"], SAID)
