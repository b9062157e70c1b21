"""Rows that decide what runs do, read with doubt: somebody may have been at the database.

`Checked` is a `Mapped` that takes no row in which a column holds another type than it was declared with, a word that
its field does not know, or JSON that cannot be read. Such a row raises `Unreadable`, which names the columns. `mend`
puts values into them that can be read, so that the run they belong to can be ended; nothing goes on from them.
"""

from __future__ import annotations

import logging
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import orjson
from sqlalchemy import Column, Table, bindparam, update
from sqlalchemy.sql import ColumnElement

from bullpen.errors import Unreadable
from bullpen.storage.mapped import Codec, Mapped
from bullpen.storage.statements import Statement
from bullpen.storage.store import Row, Transaction

logger = logging.getLogger("bullpen.storage")

T = TypeVar("T")
Expected: TypeAlias = tuple[type, ...]
# What decoding raises for what it does not know. What is no hashable word is none of ours either.
WRONG: Final = (ValueError, TypeError, LookupError, AttributeError)


class Checked(Mapped[T], Generic[T]):
    """The first column is the key. `instead` says what a column that cannot be read is given when it is mended, if
    that is not simply nothing."""

    def __init__(
        self,
        kind: type[T],
        table: Table,
        *,
        instead: Mapping[str, Any] | None = None,
        json: Sequence[str] = (),
        others: Mapping[str, ColumnElement[Any]] | None = None,
        **codecs: Codec | Mapped[Any],
    ) -> None:
        """`json` names fields that hold JSON and stay text."""
        hints = get_type_hints(kind)
        checking = {name: _checking(hints[name], codec) for name, codec in codecs.items()}
        super().__init__(kind, table, others=others, given=(), **checking)
        self.table = table
        self._own = [(at, column.name) for at, column in enumerate(self.columns) if _is_own(column, table)]
        self._expected: list[Expected] = [_types_in(column) for column in self.columns]
        self._shapes: set[tuple[type, ...]] = set()  # that were found to be right: there are only a few
        words = {name: _words_of(hint) for name, hint in hints.items() if name not in codecs}
        self._words = [(at, words[name]) for at, name in self._own if words.get(name)]
        self._json = [at for at, name in self._own if name in json]
        self._key = self._own[0][1]
        self._empty = {name: _nothing_in(table.c[name]) for _, name in self._own} | dict(instead or {})
        changed: dict[str, Any] = {name: bindparam(f"{name}_") for _, name in self._own[1:]}
        self._mend = Statement(update(table).where(table.c[self._key] == bindparam("key_")).values(**changed))

    def read(self, row: Sequence[Any], **given: Any) -> T:
        shape = tuple(map(type, row))
        if shape not in self._shapes:
            if self._strange(row):
                raise self.complain(row)
            self._shapes.add(shape)
        try:
            for at in self._json:
                if row[at] is not None:
                    orjson.loads(row[at])
            value = super().read(row, **given)
        except WRONG as error:
            raise self.complain(row) from error
        for at, words in self._words:
            if row[at] not in words:
                raise self.complain(row)
        return value

    def read_those(self, rows: Sequence[Row]) -> list[T]:
        """Of a list that people look at: what cannot be read is left out, and said in the log."""
        found = []
        for row in rows:
            try:
                found.append(self.read(row))
            except Unreadable as error:
                logger.warning("%s", error)
        return found

    def place_of(self, name: str) -> int:
        """Where a column of the table stands in a row."""
        return next(at for at, own in self._own if own == name)

    def key(self, row: Sequence[Any]) -> str:
        return str(row[self._own[0][0]])

    def complain(self, row: Sequence[Any]) -> Unreadable:
        return Unreadable(self.describe(row, self.faults(row)))

    def faults(self, row: Sequence[Any]) -> list[str]:
        """The columns of the table that cannot be read."""
        wrong = self._strange(row)
        decoders = [(at, decode) for at, decode, _ in self._decoders] + [(at, orjson.loads) for at in self._json]
        wrong |= {at for at, decode in decoders if row[at] is not None and not _decodes(decode, row[at])}
        wrong |= {at for at, words in self._words if row[at] not in words}
        return [name for at, name in self._own if at in wrong]

    def _strange(self, row: Sequence[Any]) -> set[int]:
        """Where the types are not those of the columns."""
        pairs = zip(row, self._expected, strict=True)
        return {at for at, (value, types) in enumerate(pairs) if value is not None and not isinstance(value, types)}

    async def mend(self, tx: Transaction, row: Sequence[Any], faults: Sequence[str], **instead: Any) -> str:
        """Give these columns values that can be read. What was wrong, for people."""
        kept = {name: row[at] for at, name in self._own}
        readable = kept | {name: self._empty[name] for name in faults} | instead
        changed = {f"{name}_": value for name, value in readable.items() if name != self._key}
        await tx.run(self._mend, key_=row[0], **changed)
        return self.describe(row, faults)

    def describe(self, row: Sequence[Any], columns: Sequence[str]) -> str:
        """For people."""
        named = ", ".join(columns) or "something"
        return f"The stored row {self.key(row)[:80]!r} of {self.table.name} cannot be read: {named}."


def _is_own(column: Any, table: Table) -> bool:
    return isinstance(column, Column) and column.table is table


def _types_in(column: Any) -> Expected:
    if not isinstance(column, Column):
        return (object,)
    kind = column.type.python_type
    return (float, int) if kind is float else (kind,)


def _nothing_in(column: Column[Any]) -> Any:
    return None if column.nullable else column.type.python_type()


def _decodes(decode: Callable[[Any], Any], kept: Any) -> bool:
    try:
        decode(kept)
    except WRONG:
        return False
    return True


# ── what a field may hold ───────────────────────────────────────────────────────────────────────────────────────────


def _words_of(hint: Any) -> frozenset[Any]:
    """The words that a field knows, if it knows only some."""
    found = [get_args(part) if get_origin(part) is Literal else (None,) for part in _parts(hint)]
    return (
        frozenset(word for words in found for word in words)
        if any(words != (None,) for words in found)
        else frozenset()
    )


def _checking(hint: Any, codec: Codec | Mapped[Any]) -> Codec | Mapped[Any]:
    """A codec that refuses what the annotation of its field does not allow."""
    kinds = tuple({get_origin(part) or part for part in _parts(hint)})
    if isinstance(codec, Mapped) or Any in kinds:
        return codec
    items = next((get_args(part)[0] for part in _parts(hint) if get_origin(part) in (tuple, list, frozenset)), object)
    return codec._replace(decode=partial(_expect, codec.decode, kinds, get_origin(items) or items))


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _expect(decode: Callable[[Any], Any], kinds: Expected, item: type, kept: Any) -> Any:
    found = decode(kept)
    if not isinstance(found, kinds):
        raise TypeError(f"a {type(found).__name__}")
    if isinstance(found, (tuple, list, frozenset)) and not all(isinstance(each, item) for each in found):
        raise TypeError("other items")
    return found
