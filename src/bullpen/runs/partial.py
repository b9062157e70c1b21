"""Arguments that a model is still writing, as far as they can be read. Pure.

What is read may still change: a model can name an argument twice, or name the space after the text. So the words of a
message are only found where the space is named once, as a whole, and before them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from bullpen.tools.types import Words

_DECODER: Final = json.JSONDecoder()
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
MOST: Final = 16  # members that are looked at: no such tool takes as many


class Said(NamedTuple):
    """The words of a message that is being written."""

    place: str | None  # the space that it names before the words; None: it names none
    text: str


class Unclear:
    """It names the space, or the words, more than once or too late: nobody can tell where it will go."""


UNCLEAR: Final = Unclear()


def read_words(arguments: str, words: Words) -> Said | Unclear | None:
    """None: there are no words yet."""
    places: list[str] = []
    text: str | None = None
    for count, (name, value, whole) in enumerate(_members(arguments)):
        if count >= MOST:
            return UNCLEAR
        match words.spellings.get(name):
            case words.place:
                if text is not None or not (value is None or _is_text(value)):
                    return UNCLEAR
                if not whole:
                    return None
                places.append(value or "")
            case words.text:
                if value is None and text is None and not whole:
                    return None
                if text is not None or not _is_text(value):
                    return UNCLEAR
                text = value
    if text is None:
        return None
    return UNCLEAR if len(places) > 1 else Said(places[0] or None if places else None, text)


def _is_text(value: Any) -> bool:
    """One that both databases can keep."""
    if not isinstance(value, str):
        return False
    try:
        return "\x00" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _members(arguments: str) -> Iterator[tuple[str, Any, bool]]:
    """The members of the object in their order, also those that are there twice: name, value, and whether it is whole.
    Of a text, what is there counts as its value; of anything else that is unfinished nothing does."""
    at = _skip(arguments, 0)
    if arguments[at : at + 1] != "{":
        return
    more = True
    while more:
        at = _skip(arguments, at + 1)
        if arguments[at : at + 1] != '"':
            return
        try:
            name, at = _DECODER.raw_decode(arguments, at)
        except ValueError:
            return  # the name is unfinished
        at = _skip(arguments, _skip(arguments, at) + 1)
        try:
            value, at = _DECODER.raw_decode(arguments, at)
        except (ValueError, RecursionError):
            yield name, _beginning(arguments[at:]), False
            return
        yield name, value, True
        at = _skip(arguments, at)
        more = arguments[at : at + 1] == ","


def _beginning(value: str) -> Any:
    """Of a text what is there. None: nothing that could be one."""
    if value[:1] != '"':
        return None
    try:
        return from_json(value, allow_partial="trailing-strings")
    except ValueError:
        return ...  # no JSON, and no text that anybody could read


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
