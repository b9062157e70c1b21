"""Takes secrets out of everything that leaves the executor: one redactor for the process, behind every sink.

Two ways: values that were added (whoever learns a secret says so, and whose it is), in all the forms of forms.py; and
shapes.py, texts that look like a secret whatever they hold. `REDACTOR` itself masks every value: for logs and errors.
`REDACTOR.masker(owners)` masks the office's values and those of these owners: for what people and models read, so that
one member's secret changes nobody else's words. `here()` is the one for the run that is under way.

What is given comes back as the very same object when there is nothing to hide, which is the common case. It knows no
sink: docs/internals/observe.md has the table of who calls it where.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final

import orjson

from bullpen.observe import names, shapes
from bullpen.observe.forms import SHORTEST
from bullpen.observe.shapes import MASK
from bullpen.observe.values import START, Match, Segment, Shelf, Spelled
from bullpen.observe.values import spell as spell_now

__all__ = ["MASK", "OFFICE", "REDACTOR", "SHORTEST", "Concern", "Masker", "Redactor", "Stream", "concerning", "here"]

_NAME: Final = re.compile(r"[\w.-]{1,64}")
# The name of a field, whatever secret is a word of it: without its fields nothing that was said can be understood.
_FIELD: Final = re.compile(r"[A-Za-z_]{1,24}")
_BACKSLASH: Final = b"\\\\"  # one, encoded

OFFICE: Final = ""  # the owner of what is masked in everybody's texts
SMALL: Final = 256  # the spellings of such a value are found while the loop waits
MOST_MASKERS: Final = 512


class Masker:
    """Masks the values of some shelves."""

    def __init__(self, shelves: Sequence[Shelf], kept: Collection[str] = ()) -> None:
        self.shelves = shelves
        self._kept = kept

    @property
    def version(self) -> object:
        """Something else: other values. What was cleaned before may not be clean any more."""
        return tuple(shelf.version for shelf in self.shelves)

    def keeping(self, kept: Collection[str]) -> Masker:
        """The same, but these names are left alone too."""
        return Masker(self.shelves, kept)

    # ── cleaning ────────────────────────────────────────────────────────────────────────────────────────

    def clean(self, text: str) -> str:
        """What an agent, a tool or a model said."""
        data = _encoded(text)
        cleaned = self.clean_bytes(data)
        return text if cleaned is data else _decoded(cleaned)

    def is_clean(self, *texts: str) -> bool:
        """Is there nothing to mask in any of them? One look at all together.

        May say no where cleaning then finds nothing: always, if there is a backslash, which may hide anything.
        """
        data = _encoded("\n".join(texts))
        return not (self._holds_value(data) or shapes.may_hold(data) or b"\\" in data)

    def clean_line(self, text: str) -> str:
        """A line of a log, or an error: besides, whatever stands behind the name of a secret is masked."""
        return shapes.mask_line(self.clean(text))

    def clean_bytes(self, data: bytes) -> bytes:
        if len(data) < SHORTEST:
            return data
        return shapes.mask(self.mask_values(data))

    def clean_json(self, value: Any) -> Any:
        """Every text inside a value, unusual names of fields included. The same object if none had to be changed.

        Looks at the encoded whole first, which is many times faster than walking through it: whatever stands in a text
        stands there too, escaped at most, and forms are looked for escaped as well. Only what was escaped before it got
        here is escaped twice then.
        """
        if isinstance(value, str):
            return self.clean(value)
        try:
            data = orjson.dumps(value)
        except (TypeError, ValueError):  # not JSON, or half a character: whoever keeps it has more to say about that
            return self._walk(value)
        if not (self._holds_value(data) or shapes.may_hold(data) or _BACKSLASH in data):
            return value
        walked = self._walk(value)
        # Not only texts, lists and objects may be encoded; what else there is may hold a secret too.
        again = data if walked is value else orjson.dumps(walked)
        return self._walk(orjson.loads(again)) if self._holds_value(again) else walked

    def clean_arguments(self, text: str) -> str:
        """What a model wrote as arguments: JSON if all went well, and JSON it stays."""
        if self.is_clean(text):
            return text
        try:
            # A model may escape what it likes, and a number may hold the digits of a PIN: only what it means tells.
            value = orjson.loads(text)
            walked = self._walk(value)
            return text if walked is value else orjson.dumps(walked).decode()
        except (ValueError, TypeError, RecursionError):  # no JSON, or nested too deep
            return self.clean(text)

    def stream(self) -> Stream:
        return Stream(self)

    def so_far(self, text: str) -> str:
        """The beginning of a text that is still growing, without an end that may turn out to be part of a secret."""
        return self.stream().feed(text)

    # ── values ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def segments(self) -> Iterator[Segment]:
        return chain.from_iterable(shelf.segments for shelf in self.shelves)

    def mask_values(self, data: bytes, before: bytes = b"") -> bytes:
        """`before` is what stood in front: what looks like a value may be the end of a name."""
        found = self._find(data, before)
        return _replaced(data, found, len(data)) if found else data

    def mask_so_far(self, data: bytes, before: bytes = b"") -> tuple[bytes, int]:
        """What can be decided already, with values masked, and where that ends: behind it a form may have begun."""
        segments = list(self.segments)
        if not segments:
            return data, len(data)
        in_names: list[Match] = []
        found = self._find(data, before, in_names)
        hold = _opening(segments, data, found)
        whole, shift = before + data, len(before)
        for start, stop, _ in found[-1:]:
            if names.may_begin_name(whole, start + shift, stop + shift, self._kept):
                hold = min(hold, start)
        for start, stop, _ in in_names:
            if names.is_last_word(whole, start + shift, stop + shift):
                hold = min(hold, start)
        return _replaced(data, [each for each in found if each[0] < hold], hold), hold

    def _holds_value(self, data: bytes) -> bool:
        return bool(self._find(data))

    def _find(self, data: bytes, before: bytes = b"", in_names: list[Match] | None = None) -> list[Match]:
        """The leftmost, and of those that begin there the longest. What stands in a name goes to `in_names`."""
        found: list[Match] = []
        for shelf in self.shelves:
            for segment in shelf.segments:
                found += segment.find(data)
        if not found:
            return found
        found.sort(key=lambda match: (match[0], -match[1]))
        kept, end, whole, shift = [], 0, before + data, len(before)
        for match in found:
            start, stop, _ = match
            if start < end:
                continue
            if not names.stands_in_name(whole, start + shift, stop + shift, self._kept):
                kept.append(match)
                end = stop
            elif in_names is not None:
                in_names.append(match)
        return kept

    def _mask_of(self, value: str) -> bytes | None:
        return next((shelf.spelled[value].mask for shelf in self.shelves if value in shelf.spelled), None)

    # ── JSON ────────────────────────────────────────────────────────────────────────────────────────────

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            walked = {self._field(name): self._walk(inner) for name, inner in value.items()}
            return value if _same(value, walked) and _same(value.values(), walked.values()) else walked
        if isinstance(value, list | tuple):
            items = [self._walk(item) for item in value]
            return value if _same(value, items) else items
        if isinstance(value, int | float) and not isinstance(value, bool):
            mask = self._mask_of(str(value))  # a PIN
            return value if mask is None else mask.decode()
        return value

    def _field(self, name: Any) -> Any:
        return name if not isinstance(name, str) or _FIELD.fullmatch(name) else self.clean(name)


class Redactor(Masker):
    """All values there are, each with its owners. It masks every one of them."""

    def __init__(self) -> None:
        self._all = Shelf()
        super().__init__((self._all,))
        self._shelves: dict[str, Shelf] = {}
        self._kinds: Counter[str] = Counter()  # of owners that have a shelf
        self._held: dict[str, set[tuple[str, str]]] = {}  # by owner: which values under which names
        self._holders: Counter[str] = Counter()  # by value: under how many names of all owners
        self._passing: Counter[str] = Counter()  # masked for a while only, and by how many
        self._maskers: dict[frozenset[str], Masker] = {}

    # ── what is known ───────────────────────────────────────────────────────────────────────────────────

    def add(self, value: str, name: str = "", owner: str = OFFICE, spelled: Spelled | None = None) -> bool:
        """From now on this is masked: in lines and errors everywhere, else where its owner is concerned.

        False: it is too short for that, or the name of something, and never will be.
        """
        held = self._held.get(owner)
        if held is not None and (name, value) in held:
            return True
        if not is_maskable(value):
            return False
        spelled = spelled or self.spelled(value) or spell_now(value, _mask(name))
        self._held.setdefault(owner, set()).add((name, value))
        self._holders[value] += 1
        if owner not in self._shelves:
            self._shelves[owner] = Shelf()
            self._kinds[_kind(owner)] += 1
            self._maskers.clear()
        self._shelves[owner].add(value, spelled)
        self._all.add(value, spelled)
        return True

    def replace(self, value: str, name: str, owner: str, spelled: Spelled | None = None) -> None:
        """The owner's value of this name is this, and no other any more."""
        self.add(value, name, owner, spelled)
        self._drop(owner, [pair for pair in self._held.get(owner, ()) if pair[0] == name and pair[1] != value])

    def drop(self, name: str, owner: str) -> None:
        """The owner has no value of this name any more."""
        self._drop(owner, [pair for pair in self._held.get(owner, ()) if pair[0] == name])

    def drop_all(self, owner: str) -> None:
        self._drop(owner, list(self._held.get(owner, ())))

    def forget(self, value: str, owner: str = OFFICE) -> None:
        self._drop(owner, [pair for pair in self._held.get(owner, ()) if pair[1] == value])

    def _drop(self, owner: str, pairs: Iterable[tuple[str, str]]) -> None:
        for name, value in pairs:
            held = self._held[owner]
            held.remove((name, value))
            self._holders[value] -= 1
            if all(pair[1] != value for pair in held):
                self._shelves[owner].remove(value)
            if not self._holders[value]:
                del self._holders[value]
                if value not in self._passing:
                    self._all.remove(value)
            if not held:
                del self._held[owner], self._shelves[owner]
                self._kinds[_kind(owner)] -= 1
                self._maskers.clear()

    @contextmanager
    def meanwhile(self, value: str, name: str = "", spelled: Spelled | None = None) -> Iterator[None]:
        """Masked in lines and errors until then; longer if somebody holds it."""
        if not is_maskable(value):
            yield
            return
        self._passing[value] += 1
        self._all.add(value, spelled or spell_now(value, _mask(name)))
        try:
            yield
        finally:
            self._passing[value] -= 1
            if not self._passing[value]:
                del self._passing[value]
                if value not in self._holders:
                    self._all.remove(value)

    def holds(self, value: str, name: str, owner: str) -> bool:
        return (name, value) in self._held.get(owner, ())

    def spelled(self, value: str) -> Spelled | None:
        """How a value is looked for that is known."""
        return self._all.spelled.get(value)

    def values(self, owner: str = OFFICE) -> set[str]:
        return {value for _, value in self._held.get(owner, ())}

    # ── whom it concerns ────────────────────────────────────────────────────────────────────────────────

    def clean_own(self, text: str, *owners: str) -> str:
        """What somebody wrote, without the secrets of their own that they wrote into it; others' are not looked for."""
        shelves = [self._shelves[each] for each in owners if each in self._shelves]
        return Masker(shelves).clean(text) if shelves else text

    def owns(self, kind: str) -> bool:
        """Has anybody of this kind a value of their own?"""
        return self._kinds[kind] > 0

    def masker(self, owners: Iterable[str] = ()) -> Masker:
        """Masks the values of the office and of these owners."""
        known = frozenset(owner for owner in (OFFICE, *owners) if owner in self._shelves)
        found = self._maskers.get(known)
        if found is None:
            if len(self._maskers) >= MOST_MASKERS:
                self._maskers.clear()
            found = self._maskers[known] = Masker([self._shelves[owner] for owner in sorted(known)])
        return found


def owner(kind: str, id: str) -> str:
    """How a person, a space, an agent or a thread is called here."""
    return f"{kind} {id}"


def _kind(owner: str) -> str:
    return owner.partition(" ")[0]


def _mask(name: str) -> bytes:
    return (f"{MASK}{name}{MASK}" if _NAME.fullmatch(name) else MASK).encode()


def is_maskable(value: str) -> bool:
    return len(value.strip()) >= SHORTEST and not names.is_name(value)


async def spell(value: str, name: str) -> Spelled:
    """Made ready to be looked for. That takes a while for a long value, and the event loop does not wait for it."""
    if len(value) <= SMALL:
        return spell_now(value, _mask(name))
    # Sleeping lets the loop have the interpreter, which a busy thread would hold for 5 ms at a time.
    return await asyncio.to_thread(spell_now, value, _mask(name), partial(time.sleep, 0.0001))


@dataclass(slots=True)
class Concern:
    """Whose values are masked in what a run reads and says: it grows with what the run is shown and what it opens."""

    owners: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # names that this run knows: its tools, its agent, its spaces
    _seen: tuple[Masker, int] | None = None
    _masker: Masker | None = None

    def masker(self) -> Masker:
        found = REDACTOR.masker(self.owners)
        if self._masker is None or self._seen != (found, len(self.kept)):
            self._masker, self._seen = found.keeping(self.kept), (found, len(self.kept))
        return self._masker


_CONCERN: Final[ContextVar[Concern | None]] = ContextVar("concern", default=None)


@contextmanager
def concerning(concern: Concern) -> Iterator[None]:
    """What is cleaned by `here()` meanwhile is cleaned for this run, in this task and those it starts."""
    token = _CONCERN.set(concern)
    try:
        yield
    finally:
        _CONCERN.reset(token)


def current() -> Concern | None:
    return _CONCERN.get()


def here(*owners: str) -> Masker:
    """For the run that is under way here; outside of one, for these owners.

    Nobody has said whom it concerns: then every value is masked.
    """
    concern = _CONCERN.get()
    if concern is not None:
        return concern.masker()
    return REDACTOR.masker(owners) if owners else REDACTOR


def involve(*owners: str) -> None:
    """The run that is under way here has to do with them, too."""
    concern = _CONCERN.get()
    if concern is not None:
        concern.owners.update(owners)


def _same(before: Collection[Any], after: Collection[Any]) -> bool:
    return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))


def _replaced(data: bytes, found: Sequence[Match], end: int) -> bytes:
    pieces, begin = [], 0
    for start, stop, mask in found:
        pieces += [data[begin:start], mask]
        begin = stop
    return b"".join([*pieces, data[begin:end]])


def _opening(segments: Sequence[Segment], data: bytes, found: Sequence[Match]) -> int:
    """The first place from which on these bytes are the beginning of a form, and not inside one that was found."""
    size, passed = len(data), 0
    compiled = [segment.compiled() for segment in segments]
    longest = max(each.longest for each in compiled)
    for at in range(max(0, size - longest + 1), size):
        while passed < len(found) and found[passed][1] <= at:
            passed += 1
        if passed < len(found) and found[passed][0] < at:
            continue
        start = data[at : at + START]
        if len(start) == START and not any(start in each.starts for each in compiled):
            continue
        if any(segment.opens(data[at:]) for segment in segments):
            return at
    return size


class Stream:
    """A text that comes in pieces: the same as cleaning the whole, however it is cut.

    Holds back what may be the beginning of a value, at most the longest form less one byte, or of a shape, until it is
    decided. What was given out is never taken back.
    """

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._before = b""  # was given out; the beginning of a name may stand there
        self._coming = b""  # may become a value
        self._masked = b""  # values are masked; may become a shape. Its first bytes were given out:
        self._given = 0

    def feed(self, chunk: str) -> str:
        """What is safe to show by now."""
        coming = self._coming + _encoded(chunk)
        masked, end = self._masker.mask_so_far(coming, self._before)
        self._before = (self._before + coming[:end])[-names.LONGEST :]
        self._coming = coming[end:]
        data = self._masked + masked
        out, end = shapes.mask_so_far(data, self._given)
        # What a shape may look at before itself is kept, though it was given out.
        keep = max(0, end - shapes.BEHIND)
        self._masked, self._given = data[keep:], end - keep
        return _decoded(out)

    def end(self) -> str:
        """The text is over: what was held back, for what it is."""
        data = self._masked + self._masker.mask_values(self._coming, self._before)
        out = shapes.mask(data, self._given)
        self._before = self._coming = self._masked = b""
        self._given = 0
        return _decoded(out)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


# One for the process: a secret that one part knows must not get out through another.
REDACTOR: Final = Redactor()
