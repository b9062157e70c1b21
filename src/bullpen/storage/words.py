"""Which words a text consists of, for looking it up; and what a query asks for. Pure.

Both databases get text that is split and folded here, and never split it themselves: that is why they find the same.
Case, accents and width do not matter. Scripts that are written without spaces are cut into pairs of neighbours, so that
every part of a run can be found. A word is letters and digits; of other characters only pictographs can be looked up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

# Longer ones are looked up by their beginning: nobody types them, and PostgreSQL takes no word above 2 kB.
LONGEST: Final = 64
# A beginning shorter than this fits half of all words.
SHORTEST_PREFIX: Final = 2
# Words of a query that the index is asked for; whether the others are there, too, is looked up in what it finds.
ASKED: Final = 24

# Characters for private use stand in no word, so these mark what is not text: where it was said, by whom, as what.
Mark: TypeAlias = Literal["\ue000", "\ue001", "\ue002"]
SPACE: Final[Mark] = "\ue000"
AUTHOR: Final[Mark] = "\ue001"
TYPE: Final[Mark] = "\ue002"

# Thai and Lao, Hangul, Myanmar, Khmer, kana, Han.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
# Signs that belong to the letter before them but are no letters themselves, and the joiners between letters.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f90-\u0fbc\u200c\u200d"
)
_PICTOGRAPHS = "\u00a9\u00ae\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_PIECE = re.compile(rf"(?P<run>[{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[^\W_]|[{_SIGNS}])+|[{_PICTOGRAPHS}]")
_LOST_IN_FOLDING = re.compile("[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f]+")
# What unfolding a sign may bring in (a fraction's slash, a ligature's spaces) must not split the word again.
_NO_PART_OF_A_WORD = re.compile(r"[\x00-\x2f\x3a-\x60\x7b-\x7f\s]+")
_QUOTED = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Place:
    """A word and where it stands in the text."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must follow each other. Of the last one, with `prefix`, the beginning is enough."""

    words: tuple[str, ...]
    prefix: bool = False

    @property
    def needle(self) -> str:
        """What a text's `indexed` words must contain."""
        return f" {' '.join(self.words)}" + ("" if self.prefix else " ")


def fold(piece: str) -> str:
    if piece.isascii():
        return piece.lower()
    apart = unicodedata.normalize("NFKD", piece.casefold())
    together = unicodedata.normalize("NFKC", _LOST_IN_FOLDING.sub("", apart)).casefold()
    return _NO_PART_OF_A_WORD.sub("", together)


def words(text: str) -> list[str]:
    if text.isascii():
        return [word[:LONGEST] for word in _ASCII_WORD.findall(text.lower())]
    return [place.word for place in places(text)]


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Words as long as they are, and runs of scripts without spaces uncut; `True` for such a run."""
    if text.isascii():
        yield from ((word, False) for word in _ASCII_WORD.findall(text.lower()))
        return
    for piece in _PIECE.finditer(text):
        if folded := fold(piece[0]):
            yield folded, piece["run"] is not None


def fold_text(text: str) -> str:
    """Folded as words are, but with all that stands between them; each gap is one space."""
    line = " ".join(text.split())
    if line.isascii():
        return line.lower()
    apart = unicodedata.normalize("NFKD", line.casefold())
    return unicodedata.normalize("NFKC", _LOST_IN_FOLDING.sub("", apart)).casefold()


def places(text: str) -> Iterator[Place]:
    """The same words, with where they stand."""
    for piece in _PIECE.finditer(text):
        folded, start, end = fold(piece[0]), piece.start(), piece.end()
        if piece["run"] is None:
            if folded:
                yield Place(folded[:LONGEST], start, end)
        else:
            yield from _pairs(folded, start, end)


def _pairs(run: str, start: int, end: int) -> Iterator[Place]:
    """Each character with the next one, and the last one alone: so every character begins some word."""
    same_length = len(run) == end - start
    for number in range(len(run)):
        pair = run[number : number + 2]
        if same_length:
            yield Place(pair, start + number, start + number + len(pair))
        else:
            yield Place(pair, start, end)


def marked(mark: Mark, name: str) -> str:
    """An id as a word that no text holds."""
    return mark + "".join(c if c.isalnum() or c in "-_" else f"{ord(c):x}" for c in name.lower())


def indexed(text: str, *, space_id: str, author_id: str, type: str) -> str | None:
    """What is kept to look a message up by: its words with a space around each. None: it has none."""
    found = words(text)
    if not found:
        return None
    head = (marked(SPACE, space_id), marked(AUTHOR, author_id), marked(TYPE, type))
    return f" {' '.join(head)} {' '.join(found)} "


# ── queries ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def parse(query: str) -> list[Phrase]:
    """What is asked for: all of these, in any order. Nothing in a query is an operator, except a pair of quotes."""
    found: list[Phrase] = []
    at = 0
    for quoted in _QUOTED.finditer(query):
        found += _chunks(query[at : quoted.start()], ends_the_query=False)
        found += _phrase(quoted[1], prefix=False)
        at = quoted.end()
    found += _chunks(query[at:], ends_the_query=True)
    return list(dict.fromkeys(found))


def _chunks(text: str, *, ends_the_query: bool) -> list[Phrase]:
    """What stands without a space between, `don't` or `ada@office`, is found as it stands."""
    chunks = text.split()
    return [
        phrase
        for number, chunk in enumerate(chunks, 1)
        for phrase in _phrase(chunk, prefix=ends_the_query and number == len(chunks))
    ]


def _phrase(text: str, *, prefix: bool) -> list[Phrase]:
    found = [place.word for place in places(text)]
    if not found:
        return []
    last = found[-1]
    if _is_unspaced(last):
        if len(found) > 1 and len(found[-2]) == 2 and found[-2].endswith(last) and _is_unspaced(found[-2]):
            return [Phrase(tuple(found[:-1]))]  # part of a run: its end need not be the run's
        return [Phrase(tuple(found), prefix=True)]
    return [Phrase(tuple(found), prefix=prefix and len(last) >= SHORTEST_PREFIX)]


_UNSPACED_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}\Z")


def _is_unspaced(word: str) -> bool:
    return _UNSPACED_WORD.match(word) is not None


def asked(phrases: Sequence[Phrase]) -> list[tuple[str, bool]]:
    """The words to ask an index for, and which of them are beginnings. The longest, since those are rarest."""
    found: dict[str, bool] = {}
    for phrase in phrases:
        for word in phrase.words[:-1]:
            found[word] = False
        found[phrase.words[-1]] = found.get(phrase.words[-1], True) and phrase.prefix
    chosen = sorted(found, key=len, reverse=True)[:ASKED]
    return [(word, found[word]) for word in chosen]


def matches(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Where in a text the phrases stand, in order; what touches or overlaps is one."""
    found = list(places(text))
    spans = sorted(span for phrase in phrases for span in _where(found, phrase))
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _where(found: Sequence[Place], phrase: Phrase) -> Iterator[tuple[int, int]]:
    size = len(phrase.words)
    *before, last = phrase.words
    for number in range(len(found) - size + 1):
        here = found[number : number + size]
        ends = here[-1].word.startswith(last) if phrase.prefix else here[-1].word == last
        if ends and all(place.word == word for place, word in zip(here, before, strict=False)):
            # Of a pair of which only the first character was asked for, only that is shown.
            cut = len(here[-1].word) - len(last) if _is_unspaced(last) and phrase.prefix else 0
            yield here[0].start, max(here[0].start + 1, here[-1].end - cut)
