"""Splits text into the pieces that MiniLM knows, as its uncased vocabulary wants them. Imports nothing of ours.

Text is cleaned, lower-cased and stripped of accents; words are split at blanks, punctuation and Chinese characters, and
each word into the longest pieces that the vocabulary holds. The work grows with the length of the text alone.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

LONGEST_WORD: Final = 100  # a longer one is unknown
CHARACTERS: Final = 4000  # what comes later in a text could not be among its first pieces
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_CHINESE: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieces:
    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers: Mapping[str, int] = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers["[UNK]"]
        self._first, self._last = self._numbers["[CLS]"], self._numbers["[SEP]"]
        self._split = lru_cache(20_000)(self._split_word)

    def numbers(self, text: str, most: int) -> list[int]:
        """The numbers of at most so many pieces, with the marks for beginning and end."""
        found: list[int] = []
        for word in _words(text[:CHARACTERS]):
            found += self._split(word)
            if len(found) >= most - 2:
                break
        return [self._first, *found[: most - 2], self._last]

    def _split_word(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        found, start = [], 0
        while start < len(word):
            number, end = self._longest(word, start)
            if number is None:
                return (self._unknown,)
            found.append(number)
            start = end
        return tuple(found)

    def _longest(self, word: str, start: int) -> tuple[int | None, int]:
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else f"##{word[start:end]}"
            if (number := self._numbers.get(piece)) is not None:
                return number, end
        return None, start


def _words(text: str) -> Iterator[str]:
    word: list[str] = []
    for sign in _plain(text):
        alone = _stands_alone(sign)
        if (alone or sign.isspace()) and word:
            yield "".join(word)
            word = []
        if alone:
            yield sign
        elif not sign.isspace():
            word.append(sign)
    if word:
        yield "".join(word)


def _plain(text: str) -> Iterator[str]:
    """Lower case, without accents and without what nobody sees."""
    for sign in unicodedata.normalize("NFD", "".join(_visible(text))):
        if unicodedata.category(sign) != "Mn":
            yield from sign.lower()


def _visible(text: str) -> Iterator[str]:
    for sign in text:
        if sign.isspace():
            yield " "
        elif sign != "\ufffd" and unicodedata.category(sign) not in _UNSEEN:
            yield sign


@lru_cache(20_000)
def _stands_alone(sign: str) -> bool:
    code = ord(sign)
    if code < 128:
        return 33 <= code <= 126 and not sign.isalnum()
    return unicodedata.category(sign).startswith("P") or any(low <= code <= high for low, high in _CHINESE)
