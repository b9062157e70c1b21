"""Are these a person's own words? What somebody asked for themselves needs nobody's approval. Pure.

An agent that has been shown outside text may have been told to plan or to remember something. If what it wants to keep
says nothing but what the person said who woke it, in their order, then nobody else's words are in it. Words of a short
closed list may stand between them: they say how it is done and never what, where or for whom. All others have to be
the person's, so what a page made up is never among them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

MOST_LETTERS: Final = 4000  # longer texts are nobody's own words
_WORD: Final = re.compile(r"\w+")
_ENDINGS: Final = ("ing", "es", "ed", "s", "d")

# No names, no numbers, nothing that could say where something is sent, and nothing that turns a meaning around.
_SMALL: Final = """
    a about after again also am an and any are as asked asks at be because been before being by can could did do does
    doing done during each every everybody everyone for from get give had has have he her here hers him his how i if in
    into is it its just know let like likes make may me mine my next now of on once one or our out over please
    prefer prefers remember remembered remind reminded reminder request requested said say schedule scheduled she should
    so some something tell that the their them then there these they thing this those time to today told
    tomorrow tonight up us user user's want wanted wants was we were what when where which while who will wish wishes
    with would you your yours daily weekly monthly hourly morning afternoon evening night noon day days week weeks
    month months hour hours minute minutes monday tuesday wednesday thursday friday saturday sunday
    das dass dem den der des die ein eine einem einen einer er es ich ihm ihn ihr im in ist man mich mir sich sie soll
    und uns vom von was wenn wer will wir wird zu zum zur bitte daran erinnere erinnern erinnert
"""


def _stem(word: str) -> str:
    """`reminding` and `reminds` are the word `remind`. Short words are what they are."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold())]


_CLOSED: Final = frozenset(_words(_SMALL))


_OPENING: Final = frozenset("(<\"'")
_CLOSING: Final = frozenset(".,;:!?)>\"'")


def are_own(texts: Iterable[str], said: str, names: Iterable[str] = ()) -> bool:
    """Do all these texts say only what was said? `names`: of those who spoke with each other, and where."""
    told = _words(said[:MOST_LETTERS])
    known = _CLOSED | {word for name in names for word in _words(name)}
    return bool(told) and all(_is_own(text, told, known) for text in texts if text)


def stands_in(text: str, said: str) -> bool:
    """Did they write it letter by letter, and as a whole? Half an address is another one."""
    if not text.strip():
        return False
    ends = _ends(said)
    at = said.find(text)
    while at >= 0:
        if (at == 0 or said[at - 1].isspace() or said[at - 1] in _OPENING) and ends[at + len(text)]:
            return True
        at = said.find(text, at + 1)
    return False


def _ends(said: str) -> list[bool]:
    """At each place: does nothing but closing marks follow, until a blank or the end?"""
    ends = [True] * (len(said) + 1)
    for at in range(len(said) - 1, -1, -1):
        ends[at] = said[at].isspace() or (said[at] in _CLOSING and ends[at + 1])
    return ends


def _is_own(text: str, told: list[str], known: frozenset[str] | set[str]) -> bool:
    if len(text) > MOST_LETTERS:
        return False
    at = 0
    for word in _words(text):
        if word in known:
            continue
        if word not in told[at:]:
            return False
        at += told[at:].index(word) + 1
    return at > 0
