"""Names that people read: what may stand in them, and which of them look alike.

A name is how somebody is recognised, so nothing in it may be hidden, and no two should look the same. `check` says
what is wrong with a new one, `clean` takes out what hides in an old one, `skeleton` is the same for names that a reader
cannot tell apart. Pure, and built on the standard library's Unicode data; the table of look-alikes is our own, for the
letters of scripts that are mixed up in practice. Why: docs/decisions/0029-names-that-look-alike.md.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

# They count as letters or signs, and nothing is drawn for them.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159")
# Control characters, marks of direction and format, halves of characters, private ones, line ends. Not those that this
# Python does not know: a newer emoji is seen, and what is not is in the ranges.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_HIDDEN_RANGES: Final = (("\u2060", "\u206f"), ("\ufe00", "\ufe0e"), ("\ufff0", "\ufffb"), ("\U000e0000", "\U000e0fff"))
_JOINERS: Final = "\u200c\u200d"  # Persian, the scripts of India and emoji are written with them
_EMOJI_STYLE: Final = "\ufe0f"

# Each row: what is drawn, and letters of other scripts (or signs) that are drawn the same, as people type them.
_ALIKE: Final = """
    a аɑα          b ЬᏏ           c сϲᴄ          d ԁᏧ           e еҽ           f ƒք           g ɡց
    h һհᏂ          i іɩιı         j јϳ           k κкᴋ          l Iӏ1|Ι׀ІǀᏞ    n ոռ           o 0оοσօºᴏ
    p рρ           q ԛգ           r гᴦ           s ѕꜱ           t τтᴛ          u υսᴜ          v νѵᴠ
    w ԝաᴡ          x хχ           y уγүʏ         z ᴢ
    A АΑᎪ          B ВΒᏴ          C СϹᏟ          D Ꭰ            E ЕΕᎬ          F Ϝ            G ԌᏀ
    H НΗᎻ          J ЈᎫ           K КΚᏦK         L Ⅼ            M МΜᎷ          N Ν            O ОΟՕ
    P РΡᏢ          Q Ԛ            R Ꭱ            S ЅՏᏚ          T ТΤᎢ          U Ս            V ѴᏙ
    W ԜᎳ           X ХΧ           Y ҮΥ           Z ΖᏃ
    ' ’‘ʼ`´ʹ′      - ‐‑‒–—−ー       . ․۔           , ‚             : ։׃ː
"""
_SAME: Final = str.maketrans(
    {
        other: drawn
        for pair in _ALIKE.split("  ")
        if pair.strip()
        for drawn, others in [pair.split()]
        for other in others
    }
)
# Two letters that are drawn as one.
_TOGETHER: Final = (("rn", "m"), ("vv", "w"))


def check(name: str) -> str:
    """The name with plain single spaces, or ValueError with a sentence about what it may not hold."""
    for at, sign in enumerate(name):
        if _is_hidden(name, at):
            raise ValueError(
                f"must not hold U+{ord(sign):04X} ({unicodedata.name(sign, 'a control character')}): nobody sees it, "
                "or it changes how the rest is read. Type the name anew"
            )
    name = " ".join(name.split())
    if not any(unicodedata.category(sign)[0] in "LNPS" or unicodedata.category(sign) == "Cn" for sign in name):
        raise ValueError("must hold something that can be seen")
    return name


def clean(name: str) -> str:
    """The name without what is hidden in it; '' if nothing is left."""
    return " ".join("".join(sign for at, sign in enumerate(name) if not _is_hidden(name, at)).split())


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """The same for names that look the same."""
    # Apart from their accents first: an accented letter looks like another one with the same accent.
    # Apart from case last: Σ looks like nothing else, and σ like o.
    name = unicodedata.normalize("NFKD", clean(name)).translate(_SAME).casefold()
    for two, one in _TOGETHER:
        name = name.replace(two, one)
    return "".join(sign for sign in name if sign not in _JOINERS and sign != _EMOJI_STYLE)


def fold(name: str) -> str:
    """The same for names that are written the same, but for case, width and spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


def looks_like(name: str, other: str) -> bool:
    """Could a reader take one for the other, although they are written differently?"""
    return skeleton(name) == skeleton(other) and fold(name) != fold(other)


def _is_hidden(name: str, at: int) -> bool:
    sign = name[at]
    if sign in " \t\n\r":  # spaces are made plain; they hide nothing
        return False
    if sign in _BLANK or any(first <= sign <= last for first, last in _HIDDEN_RANGES):
        return True
    if sign == _EMOJI_STYLE:
        return at == 0 or unicodedata.category(name[at - 1]) not in ("So", "Po", "Nd", "Sm", "Sk")
    if sign in _JOINERS:
        return not (0 < at < len(name) - 1 and _joins(name[at - 1]) and _joins(name[at + 1]))
    return unicodedata.category(sign) in _HIDDEN


def _joins(sign: str) -> bool:
    """Is it of a script, or of the signs, that joiners are meant for? Never Latin, Greek or Cyrillic."""
    category = unicodedata.category(sign)
    return sign == _EMOJI_STYLE or category in ("So", "Sk") or (sign >= "\u0590" and category[0] in "LM")
