"""The words of a message that is being written are read only if nobody can doubt where they will go."""

from __future__ import annotations

import pytest

from bullpen.runs.partial import UNCLEAR, Said, Unclear, read_words
from bullpen.toolbox.messaging.send_message import send_message

CASES: dict[str, Said | Unclear | None] = {
    "": None,
    "{": None,
    '{"te': None,
    '{"text"': None,
    '{"text":': None,
    '{"text": ': None,
    '{"spaceId": "a", "text"': None,
    '{"spaceId": "gen': None,
    '{"spaceId": "general"': None,
    '{"spaceId": "general", "text": "': Said("general", ""),
    '{"spaceId": "general", "text": "Hel': Said("general", "Hel"),
    '{"channel_id": "general", "content": "Hel': Said("general", "Hel"),
    '{"sp\\u0061ceId": "general", "text": "Hel\\u00': Said("general", "Hel"),
    '{"spaceId": null, "text": "Hel': Said(None, "Hel"),
    '{"replyTo": "msg_1", "text": "Hello", "spa': Said(None, "Hello"),
    '{"text": "Hello", "spaceId"': UNCLEAR,
    '{"text": "Hello", "spaceId": "gen': UNCLEAR,
    '{"spaceId": "a", "spaceId": "b", "text": "Hel': UNCLEAR,
    '{"spaceId": "a", "channelId": "a", "text": "Hel': UNCLEAR,
    '{"spaceId": "a", "text": "one", "text": "two': UNCLEAR,
    '{"spaceId": 7, "text": "Hel': UNCLEAR,
    '{"spaceId": "a", "text": ["Hel': None,
    '{"spaceId": "a", "text": ["Hello"]': UNCLEAR,
    '{"spaceId": "a", "text": "Hel\nlo': UNCLEAR,
    '{"spaceId": "a", "text": "\\u0000': UNCLEAR,
    '{"spaceId": "a", "text": "\\ud800 "': UNCLEAR,
    "{" + '"x": 1, ' * 40 + '"text": "Hel': UNCLEAR,
}


@pytest.mark.parametrize("written", CASES)
def test_words_are_read_if_their_space_comes_first(written: str) -> None:
    assert send_message.words is not None
    assert read_words(written, send_message.words) == CASES[written]


def test_a_megabyte_of_blanks_is_skipped_at_once() -> None:
    assert send_message.words is not None
    written = "{" + " " * 20_000_000 + '"spaceId": "a", "text": "Hel'
    assert read_words(written, send_message.words) == Said("a", "Hel")
