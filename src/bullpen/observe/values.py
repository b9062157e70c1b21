"""Finds known values in bytes: small automata that are built one at a time, however many values there are.

An automaton holds only the first bytes of each form (forms.py); the rest is compared where they are found. Building one
holds the interpreter, so a `Segment` has at most `MOST` forms: a few milliseconds, whatever somebody stores. A `Shelf`
is the values of one owner, in as many segments as they need. Does not know what a mask says.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from bullpen.observe.forms import forms

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

MOST: Final = 4096  # forms in one automaton
LARGE: Final = 1024  # a value of more forms has automata of its own
ANCHOR: Final = 16  # so many bytes of a form are in it
START: Final = 3  # so many bytes of a form tell that one may begin here

Match = tuple[int, int, bytes]  # from, to, the mask

_versions: Final = count(1)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """What is looked for, ready to be found."""

    automaton: BytesAhoCorasick
    behind: Sequence[Sequence[tuple[bytes, bytes]]]  # by the number of the anchor: forms and masks, longest first
    forms: Sequence[bytes]  # sorted: which of them begin with these bytes?
    starts: frozenset[bytes]
    longest: int


class Segment:
    """At most `MOST` forms. Compiled when a text is looked at, not for each of many values that are added together."""

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared  # of one value, and never changed
        self._held: dict[str, tuple[bytes, Sequence[bytes]]] = {}
        self._compiled: _Compiled | None = None
        self._lock = threading.Lock()  # a log line of another thread may compile it while the loop adds to it
        self.size = 0

    def add(self, value: str, mask: bytes, forms: Sequence[bytes]) -> None:
        with self._lock:
            self._held[value] = (mask, forms)
            self.size += len(forms)
            self._compiled = None

    def remove(self, value: str) -> None:
        with self._lock:
            held = self._held.pop(value, None)
            if held is not None:
                self.size -= len(held[1])
                self._compiled = None

    def compiled(self) -> _Compiled:
        found = self._compiled
        if found is None:
            with self._lock:
                found = self._compiled = _compile(self._held.values())
        return found

    @property
    def nodes(self) -> int:
        """How large its automaton can be at most: for tests and figures."""
        return sum(min(len(form), ANCHOR) for _, forms in self._held.values() for form in forms)

    def find(self, data: bytes) -> list[Match]:
        """Every place where a form begins, with the longest one there. They may overlap."""
        compiled = self._compiled or self.compiled()
        if not compiled.automaton.find_matches_as_indexes(data):
            return []
        found = []
        for number, start, _ in compiled.automaton.find_matches_as_indexes(data, overlapping=True):
            for form, mask in compiled.behind[number]:
                if data.startswith(form, start):
                    found.append((start, start + len(form), mask))
                    break
        return found

    def opens(self, tail: bytes) -> bool:
        """Are these bytes the beginning of a form, and not the whole of it?"""
        forms = self.compiled().forms
        place = bisect_left(forms, tail)
        if place < len(forms) and forms[place] == tail:
            place += 1  # it is there, whole; but it may be the beginning of another
        return place < len(forms) and forms[place].startswith(tail)


def _compile(held: Iterable[tuple[bytes, Sequence[bytes]]]) -> _Compiled:
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    masks: dict[bytes, bytes] = {}
    for mask, spellings in held:
        for form in spellings:
            masks.setdefault(form, mask)
    behind: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for form in sorted(masks, key=len, reverse=True):
        behind.setdefault(form[:ANCHOR], []).append((form, masks[form]))
    return _Compiled(
        BytesAhoCorasick(list(behind), MatchKind.Standard),
        list(behind.values()),
        sorted(masks),
        frozenset(form[:START] for form in masks),
        max(map(len, masks), default=0),
    )


@dataclass(frozen=True, slots=True)
class Spelled:
    """A value, ready to be looked for. One of many forms has automata of its own, which all shelves share."""

    mask: bytes
    forms: Sequence[bytes]
    own: tuple[Segment, ...] = ()


def spell(value: str, mask: bytes, between: Callable[[], None] = lambda: None) -> Spelled:
    """Takes a while for a long value: not for the event loop. `between` is called every few milliseconds."""
    found = forms(value, between)
    own: list[Segment] = []
    if len(found) > LARGE:
        for at in range(0, len(found), MOST):
            own.append(Segment(shared=True))
            own[-1].add(value, mask, found[at : at + MOST])
            own[-1].compiled()
            between()
    return Spelled(mask, found, tuple(own))


class Shelf:
    """The values of one owner, or of all."""

    def __init__(self) -> None:
        self.spelled: dict[str, Spelled] = {}
        self.segments: tuple[Segment, ...] = ()
        # Another number: other values. What was cleaned before may not be clean any more. No two shelves share one.
        self.version = next(_versions)

    def add(self, value: str, spelled: Spelled) -> None:
        if value in self.spelled:
            return
        self.spelled[value] = spelled
        if spelled.own:
            self.segments = (*self.segments, *spelled.own)
        else:
            self._place(len(spelled.forms)).add(value, spelled.mask, spelled.forms)
        self.version = next(_versions)

    def _place(self, size: int) -> Segment:
        """The first segment with room, so that adding and removing does not leave ever more of them."""
        for segment in self.segments:
            if not segment.shared and segment.size + size <= MOST:
                return segment
        self.segments = (*self.segments, made := Segment())
        return made

    def remove(self, value: str) -> None:
        spelled = self.spelled.pop(value, None)
        if spelled is None:
            return
        for segment in self.segments:
            if not segment.shared:
                segment.remove(value)
        self.segments = tuple(each for each in self.segments if each.size and each not in spelled.own)
        self.version = next(_versions)
