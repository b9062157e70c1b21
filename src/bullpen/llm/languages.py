"""Is a text English? Only as sure as a search needs to be: an English model should not rank questions it cannot read.

A script that is not Latin, a letter or a sign that English does not write, or more small words of other languages than
of English say no. A name or a number alone says nothing, and counts as English.
"""

from __future__ import annotations

import re
from typing import Final

_WORD = re.compile(r"[^\W\d_]+")
_SIGNS: Final = "¿¡「」。、"
_SMALL_ENGLISH: Final = """
    a about all an and any are as at be because but by can did do does for from get had has have how i if in is it its
    may me must my not of off on or our shall should so that the their them there they this to us was we were what when
    where which who whom whose why will with would you your
"""
# German, Spanish, French, Italian, Portuguese, Dutch.
_SMALL_OTHERS: Final = """
    aber als auch auf aus bei bin bis das dass dem den der des die ein eine einen einer es für habe haben hat ich ihr im
    ist kann kein keine mit nach nicht noch nur oder sie sind soll über um und uns vom von vor wann warum was wegen
    welche wer wie wir wird wo wohin zu zum zur
    al como con cual cuando del desde donde el ella en es esta este hasta la las lo los mi muy para pero por porque que
    quien se ser si sin sobre su sus tiene un una y ya
    au aux avec ce ces cette chez comment dans de des du elle est et il je le les leur mais ne nous ou où par pas plus
    pour pourquoi qu quand qui sur une vous
    che chi come cosa da dei della di gli ho il io lei non per perché più quando sono una
    ao as da das do dos ele em eu foi não nos o os ou para pelo quem são seu uma você
    aan bij dat de een er het hij hoe ik in is met naar niet of om ook op te van voor waar waarom wat wie wij zijn
"""
_ENGLISH: Final = frozenset(_SMALL_ENGLISH.split())
_OTHERS: Final = frozenset(_SMALL_OTHERS.split()) - _ENGLISH  # which say something


def is_english(text: str) -> bool:
    if any(not sign.isascii() and (sign.isalpha() or sign in _SIGNS) for sign in text):
        return False
    words = [word.casefold() for word in _WORD.findall(text)]
    return sum(word in _ENGLISH for word in words) >= sum(word in _OTHERS for word in words)
