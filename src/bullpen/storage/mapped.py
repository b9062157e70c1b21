"""Rows and classes, matched by field name.

`Mapped(Task, tasks)` reads and writes a class whose fields have the names of columns. The order of the columns stands
here and nowhere else, so a new column costs its table, its migration and its field. What a column cannot hold as it is
(a flag, a list, JSON, a moment) is named with a codec. A query with a few columns of its own unpacks them by name where
it is run, or takes `Transaction.value` and `values` for a single one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel
from sqlalchemy import Column, Table
from sqlalchemy.sql import ColumnElement

from bullpen.clock import Clock
from bullpen.replacing import is_open, make

T = TypeVar("T")


class Codec(NamedTuple):
    """How a field is kept in its column. NULL is kept for `empty`, which is None unless told otherwise."""

    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]
    empty: Any = None


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


FLAG = Codec(bool, int)
JSON = Codec(orjson.loads, _dump)
TUPLE = Codec(lambda kept: tuple(orjson.loads(kept)), _dump)  # a tuple, as a JSON array
TUPLE_OR_NULL = TUPLE._replace(empty=())  # the same; an empty one is kept as NULL
WORDS = Codec(lambda kept: tuple(kept.split()), " ".join)  # a tuple of words that hold no blank
MILLIS = Codec(Clock.at, Clock.read)  # a moment that people read, as milliseconds


def noun(kind: type[BaseModel]) -> Codec:
    """A noun of the wire, as JSON."""
    return Codec(lambda kept: kind(**orjson.loads(kept)), lambda value: _dump(value.model_dump()))


class Mapped(Generic[T]):
    """`columns` go into a `select`; `read` makes the value of such a row, `write` the parameters of an insert.

    `others` gives columns to fields that the table has none for: a column with another name, of this table (written
    under its own name) or of a joined one, or an expression. Fields that are `given` have no column at all: `read`
    takes them by name, or a noun of the wire has its defaults. A field that is a class of its own, over several
    columns, has a Mapped in place of a codec.
    """

    def __init__(
        self,
        kind: type[T],
        table: Table,
        *,
        others: Mapping[str, ColumnElement[Any]] | None = None,
        given: Collection[str] = (),
        **codecs: Codec | Mapped[Any],
    ) -> None:
        others, known = others or {}, _field_names(kind)
        if unknown := {*others, *given, *codecs}.difference(known):
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        self.names = [name for name in known if name not in given]
        self._kind = kind
        self._by_position = is_dataclass(kind)
        any_kind: Any = kind  # mypy: what is generic is not hashable
        self._is_open = is_open(any_kind)
        self._given = [(index, name) for index, name in enumerate(known) if name in given]
        self._parts: list[tuple[slice, Mapped[Any]]] = []
        self._decoders: list[tuple[int, Callable[[Any], Any], Any]] = []
        self.written: list[_Own] = []
        columns: list[ColumnElement[Any]] = []
        for name in self.names:
            codec = codecs.get(name)
            if isinstance(codec, Mapped):
                self._parts.insert(0, (slice(len(columns), len(columns) + len(codec.columns)), codec))
                self.written += [own._replace(path=f"{name}.{own.path}") for own in codec.written]
                columns += codec.columns
                continue
            column = others[name] if name in others else table.c[name]
            if codec is not None:
                self._decoders.append((len(columns), codec.decode, codec.empty))
            if _is_of(table, column):
                self.written.append(_Own(name, column.name, codec))
            columns.append(column)
        self.columns: tuple[ColumnElement[Any], ...] = tuple(columns)
        self._write = self.writer(self.names)

    def read(self, row: Sequence[Any], **given: Any) -> T:
        """The value of a row of `columns`."""
        values = list(row)
        for index, decode, empty in self._decoders:
            values[index] = decode(values[index]) if values[index] is not None else empty
        for place, part in self._parts:  # from the last to the first: what comes before stays in its place
            values[place] = [part.read(values[place])]
        if self._is_open:
            return make(self._kind, dict(zip(self.names, values, strict=True)) | given)
        if self._by_position:
            for index, name in self._given:
                values.insert(index, given[name])
            return self._kind(*values)
        return self._kind(**dict(zip(self.names, values, strict=True)), **given)

    def read_one(self, row: Sequence[Any] | None) -> T | None:
        return None if row is None else self.read(row)

    def read_all(self, rows: Sequence[Sequence[Any]]) -> list[T]:
        return [self.read(row) for row in rows]

    def write(self, value: T) -> dict[str, Any]:
        """What the table's own columns hold of the value, by name."""
        return self._write(value)

    def writer(self, names: Collection[str]) -> Callable[[T], dict[str, Any]]:
        """Like `write`, of these fields alone: for an update."""
        own = [each for each in self.written if each.path.partition(".")[0] in names]
        get, columns = _getter([each.path for each in own]), [each.column for each in own]
        encoders = [(n, each.codec.encode, each.codec.empty) for n, each in enumerate(own) if each.codec is not None]

        def write(value: T) -> dict[str, Any]:
            values = list(get(value))
            for index, encode, empty in encoders:
                values[index] = None if values[index] == empty else encode(values[index])
            return dict(zip(columns, values, strict=True))

        return write


class _Own(NamedTuple):
    """A column of the table itself, and the path to the field that stands in it."""

    path: str
    column: str
    codec: Codec | None


def _is_of(table: Table, column: ColumnElement[Any]) -> bool:
    return isinstance(column, Column) and column.table is table


def _getter(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [attrgetter(name)(value) for name in names]


def _field_names(kind: type[Any]) -> list[str]:
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind.model_fields)  # a noun of the wire
