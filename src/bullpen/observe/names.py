"""Words that are never masked: names of tools, fields and events, and ids.

Without them nobody could act or understand an answer, so no value takes them away. `KEPT` is filled by whoever knows
such names (app.py at the start, `bullpen doctor`); names that only one run knows come with its `Concern`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

KEPT: Final[set[str]] = set()

# As ids.py makes them.
_ID: Final = re.compile(r"[a-z]{2,8}_[0-9a-v]{26}")
_ID_SO_FAR: Final = re.compile(r"[a-z]{2,8}_[0-9a-v]{0,26}")
_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_WIDE: Final = _WORD | frozenset(b".-")
LONGEST: Final = 128  # no name is longer


def keep(words: Iterable[str]) -> None:
    KEPT.update(words)


def is_name(text: str) -> bool:
    """Is it a tool, a field, an event or an id, in whatever case?"""
    lower = text.strip()[: LONGEST + 1].lower()
    return lower in {word.lower() for word in KEPT} or _ID.fullmatch(lower) is not None


def stands_in_name(data: bytes, start: int, stop: int, names: Collection[str] = ()) -> bool:
    """Is data[start:stop] a name, or part of one?"""
    if stop - start > LONGEST:
        return False
    for signs in (_WORD, _WIDE):
        text = _around(data, start, stop, signs).strip(b".-")
        if text and len(text) >= stop - start:
            word = text.decode("utf-8", "replace")
            if word in names or word in KEPT or _ID.fullmatch(word) is not None:
                return True
    return False


def is_last_word(data: bytes, start: int, stop: int) -> bool:
    """Does the word around data[start:stop] go to the end? Then more text may make another word of it."""
    text = _around(data, start, stop, _WIDE)
    return bool(text) and data.endswith(text)


def may_begin_name(data: bytes, start: int, stop: int, names: Collection[str] = ()) -> bool:
    """Does data[start:stop] stand at the end, in what may become a name when more text comes?"""
    if not is_last_word(data, start, stop):
        return False
    word = _around(data, start, stop, _WIDE).decode().lstrip(".-")
    return _ID_SO_FAR.fullmatch(word) is not None or any(name.startswith(word) for name in (*KEPT, *names))


def _around(data: bytes, start: int, stop: int, signs: frozenset[int]) -> bytes:
    """The whole word; empty if there is something else in it, or it is longer than a name can be."""
    if not signs.issuperset(data[start:stop]):
        return b""
    begin, end = start, stop
    while begin > 0 and data[begin - 1] in signs and end - begin <= LONGEST:
        begin -= 1
    while end < len(data) and data[end] in signs and end - begin <= LONGEST:
        end += 1
    return data[begin:end]
