"""Which fragments of words a passage is looked up by, and which ones a search asks for. Pure.

A word is found by any part of it that has three characters or more, so each three that follow each other are a
fragment; scripts without spaces are cut into pairs. Each fragment begins with the key of its scope: an index finds the
passages of a scope, and never walks through those of others. Both databases get the same fragments; a hit is looked at
once more, since fragments can stand apart in a text.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final
from zlib import crc32

from bullpen.storage import words

SIZE: Final = 3
# Of one piece of a query: enough to find it, and no more work than that.
ASKED: Final = 6
# Of a text: the words that its sketch is made of, at most and at least, and how many hashes make a mark.
SKETCHED: Final = 400
SHORTEST: Final = 4
BAND: Final = 3
MARK: Final = "\ue003"  # stands in no word
_SEEDS: Final = [n * 0x9E3779B1 & 0xFFFFFFFF for n in range(1, 13)]
_KEY: Final = 6  # 30 bits: two scopes may share a key, since a hit is looked at once more


@lru_cache(maxsize=4096)
def key(scope: str) -> str:
    return b32encode(sha256(scope.encode()).digest()).decode()[:_KEY].lower()


def folded(content: str, tags: Iterable[str]) -> str:
    """What needles are looked for in: the content and the tags, one to a line."""
    return "\n".join(words.fold_text(part) for part in (content, *tags))


def indexed(scope: str, text: str) -> str:
    """What is kept for a passage. `text` is folded."""
    head = key(scope)
    pieces = list(dict.fromkeys(words.pieces(text)))
    found = dict.fromkeys(fragment for piece, is_run in pieces for fragment in _cut(piece, is_run))
    return " ".join([head + fragment for fragment in (*found, *_sketch(pieces))])


def _cut(piece: str, is_run: bool) -> list[str]:
    if is_run:
        return [piece[at : at + 2] for at in range(len(piece))]
    return [piece[at : at + SIZE] for at in range(len(piece) - SIZE + 1)]


def _sketch(pieces: Sequence[tuple[str, bool]]) -> list[str]:
    """A few marks, of which texts share one if they have nearly all of their words in common: each is made of the
    smallest hashes of the words, by some hashes. So what is almost the same is found without comparing everything.
    Too short a text has none."""
    said = [part.encode() for piece, is_run in pieces[:SKETCHED] for part in (_cut(piece, True) if is_run else [piece])]
    if len(said) < SHORTEST:
        return []
    smallest = [min(crc32(word, seed) for word in said) for seed in _SEEDS]
    bands = range(0, len(smallest), BAND)
    return [f"{MARK}{at}{crc32(repr(smallest[at : at + BAND]).encode()):08x}" for at in bands]


def asked(needle: str) -> list[str]:
    """The fragments of what is looked for, without a key; none of them: only a scan finds it. The last one may be a
    single character of a script without spaces, which is the beginning of a fragment."""
    found: dict[str, None] = {}
    for piece, is_run in words.pieces(needle):
        size = 2 if is_run else SIZE
        if len(piece) >= size:
            found |= dict.fromkeys(piece[at : at + size] for at in range(len(piece) - size + 1))
        elif is_run:
            found[piece] = None
    return _spread(list(found))


def _spread(found: list[str]) -> list[str]:
    """Some of many, from all over the word."""
    if len(found) <= ASKED:
        return found
    return [found[round(n * (len(found) - 1) / (ASKED - 1))] for n in range(ASKED)]
