"""Takes secrets out of everything that leaves the executor: one redactor for the process, behind every sink.

Two ways: values that were added (whoever learns a secret says so), in all the forms of forms.py; and shapes.py, texts
that look like a secret whatever they hold. What it is given comes back as the very same object when there is nothing to
hide, which is the common case. It knows no sink: docs/internals/observe.md has the table of who calls it where.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bullpen.observe import shapes
from bullpen.observe.forms import SHORTEST, forms
from bullpen.observe.shapes import MASK

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

__all__ = ["MASK", "REDACTOR", "SHORTEST", "Redactor", "Stream"]

_NAME: Final = re.compile(r"[\w.-]{1,64}")
# The name of a field, whatever secret is a word of it: without its fields nothing that was said can be understood.
_FIELD: Final = re.compile(r"[A-Za-z_]{1,24}")
_BACKSLASH: Final = b"\\\\"  # one, encoded
_START: Final = 3  # so many bytes of a form tell that one may begin here

Found = list[tuple[int, int, int]]  # which form, from, to


@dataclass(frozen=True, slots=True)
class _Compiled:
    """What is looked for, ready to be found."""

    automaton: BytesAhoCorasick
    masks: Sequence[bytes]  # by the number of the form
    forms: Sequence[bytes]  # sorted: which of them begin with these bytes?
    starts: frozenset[bytes]
    longest: int


class Redactor:
    def __init__(self) -> None:
        self._masks: dict[str, bytes] = {}
        self._forms: dict[str, tuple[bytes, ...]] = {}
        self._passing: Counter[str] = Counter()  # masked for a while only, and by how many
        self._compiled: _Compiled | None = None
        # Another number: other values. What was cleaned before may not be clean any more.
        self.version = 0

    def add(self, value: str, name: str = "") -> bool:
        """From now on this is masked wherever it stands. False: it is too short for that, and never will be."""
        self._passing.pop(value, None)
        return self._add(value, name)

    @contextmanager
    def meanwhile(self, value: str, name: str = "") -> Iterator[None]:
        """Masked until then; longer if it is a secret already, or somebody keeps it meanwhile."""
        if value in self._masks and value not in self._passing:
            yield
            return
        self._passing[value] += 1
        self._add(value, name)
        try:
            yield
        finally:
            if self._passing[value] == 1:
                self.forget(value)
            elif value in self._passing:
                self._passing[value] -= 1

    def _add(self, value: str, name: str) -> bool:
        if value not in self._masks:
            if len(value.strip()) < SHORTEST:
                return False
            self._masks[value] = (f"{MASK}{name}{MASK}" if _NAME.fullmatch(name) else MASK).encode()
            self._changed()
        return True

    def forget(self, value: str) -> None:
        self._passing.pop(value, None)
        if self._masks.pop(value, None) is not None:
            self._forms.pop(value, None)
            self._changed()

    def _changed(self) -> None:
        """Made again when it is needed next, not for each of many that are added together."""
        self.version += 1
        self._compiled = None

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

    def _compile(self) -> _Compiled | None:
        if self._compiled is None and self._masks:
            from ahocorasick_rs import BytesAhoCorasick, MatchKind

            found: dict[bytes, bytes] = {}
            for value, mask in list(self._masks.items()):
                if value not in self._forms:
                    self._forms[value] = forms(value)
                for form in self._forms[value]:
                    found.setdefault(form, mask)
            ordered = sorted(found)
            self._compiled = _Compiled(
                BytesAhoCorasick(ordered, MatchKind.LeftmostLongest),
                [found[form] for form in ordered],
                ordered,
                frozenset(form[:_START] for form in ordered),
                max(map(len, ordered)),
            )
        return self._compiled

    def mask_values(self, data: bytes) -> bytes:
        compiled = self._compile()
        if compiled is None:
            return data
        found = compiled.automaton.find_matches_as_indexes(data)
        return _replaced(compiled, data, found, len(data)) if found else data

    def mask_so_far(self, data: bytes) -> tuple[bytes, int]:
        """What can be decided already, with values masked, and where that ends: behind it a form may have begun."""
        compiled = self._compile()
        if compiled is None:
            return data, len(data)
        found = compiled.automaton.find_matches_as_indexes(data)
        hold = _opening(compiled, data, found)
        return _replaced(compiled, data, [each for each in found if each[1] < hold], hold), hold

    def _holds_value(self, data: bytes) -> bool:
        compiled = self._compile()
        return compiled is not None and bool(compiled.automaton.find_matches_as_indexes(data))

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
            mask = self._masks.get(str(value))  # a PIN
            return value if mask is None else mask.decode()
        return value

    def _field(self, name: Any) -> Any:
        return name if not isinstance(name, str) or _FIELD.fullmatch(name) else self.clean(name)


def _same(before: Collection[Any], after: Collection[Any]) -> bool:
    return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))


def _replaced(compiled: _Compiled, data: bytes, found: Found, end: int) -> bytes:
    pieces, begin = [], 0
    for number, start, stop in found:
        pieces += [data[begin:start], compiled.masks[number]]
        begin = stop
    return b"".join([*pieces, data[begin:end]])


def _opening(compiled: _Compiled, data: bytes, found: Found) -> int:
    """The first place from which on these bytes are the beginning of a form, and not inside one that was found."""
    size, passed = len(data), 0
    for at in range(max(0, size - compiled.longest + 1), size):
        while passed < len(found) and found[passed][2] <= at:
            passed += 1
        if passed < len(found) and found[passed][1] < at:
            continue
        if at + _START <= size and data[at : at + _START] not in compiled.starts:
            continue
        tail = data[at:]
        place = bisect_left(compiled.forms, tail)
        if place < len(compiled.forms) and compiled.forms[place] == tail:
            place += 1  # it is there, whole; but it may be the beginning of another
        if place < len(compiled.forms) and compiled.forms[place].startswith(tail):
            return at
    return size


class Stream:
    """A text that comes in pieces: the same as cleaning the whole, however it is cut.

    Holds back what may be the beginning of a value, at most the longest form less one byte, or of a shape, until it is
    decided. What was given out is never taken back.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._coming = b""  # may become a value
        self._masked = b""  # values are masked; may become a shape. Its first bytes were given out:
        self._given = 0

    def feed(self, chunk: str) -> str:
        """What is safe to show by now."""
        coming = self._coming + _encoded(chunk)
        masked, end = self._redactor.mask_so_far(coming)
        self._coming = coming[end:]
        data = self._masked + masked
        out, end = shapes.mask_so_far(data, self._given)
        # What a shape may look at before itself is kept, though it was given out.
        keep = max(0, end - shapes.BEHIND)
        self._masked, self._given = data[keep:], end - keep
        return _decoded(out)

    def end(self) -> str:
        """The text is over: what was held back, for what it is."""
        data = self._masked + self._redactor.mask_values(self._coming)
        out = shapes.mask(data, self._given)
        self._coming = self._masked = b""
        self._given = 0
        return _decoded(out)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


# One for the process: a secret that one part knows must not get out through another.
REDACTOR: Final = Redactor()
