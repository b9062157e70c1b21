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

T = TypeVar("T")


class Codec(NamedTuple):
    """How a field is kept in its column. None stays None."""

    decode: Callable[[Any], Any]
    encode: Callable[[Any], Any]


def _dump(value: Any) -> str:
    return orjson.dumps(value).decode()


FLAG = Codec(bool, int)
JSON = Codec(orjson.loads, _dump)
TUPLE = Codec(lambda kept: tuple(orjson.loads(kept)), _dump)  # a tuple, as a JSON array
WORDS = Codec(lambda kept: tuple(kept.split()), " ".join)  # a tuple of words that hold no blank
MILLIS = Codec(Clock.at, Clock.read)  # a moment that people read, as milliseconds


def noun(kind: type[BaseModel]) -> Codec:
    """A noun of the wire, as JSON."""
    return Codec(lambda kept: kind(**orjson.loads(kept)), lambda value: _dump(value.model_dump()))


class Mapped(Generic[T]):
    """`columns` go into a `select`; `read` makes the value of such a row, `write` the parameters of an insert.

    `others` gives columns to fields that the table has none for: a column with another name, of this table (written
    under its own name) or of a joined one, or an expression. Fields that are `given` have no column at all: `read`
    takes them by name.
    """

    def __init__(
        self,
        kind: type[T],
        table: Table,
        *,
        others: Mapping[str, ColumnElement[Any]] | None = None,
        given: Collection[str] = (),
        **codecs: Codec,
    ) -> None:
        others, known = others or {}, _field_names(kind)
        if unknown := {*others, *given, *codecs}.difference(known):
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        self.names = [name for name in known if name not in given]
        self.columns = tuple(others[name] if name in others else table.c[name] for name in self.names)
        self._kind = kind
        self._by_position = is_dataclass(kind)
        self._given = [(index, name) for index, name in enumerate(known) if name in given]
        self._decoders = [(self.names.index(name), codec.decode) for name, codec in codecs.items()]
        own = [(name, column) for name, column in zip(self.names, self.columns, strict=True) if _is_of(table, column)]
        self._written = [column.name for _, column in own]
        self._get = _getter([name for name, _ in own])
        self._encoders = [(column.name, codecs[name].encode) for name, column in own if name in codecs]

    def read(self, row: Sequence[Any], **given: Any) -> T:
        """The value of a row of `columns`."""
        values = list(row)
        for index, decode in self._decoders:
            if values[index] is not None:
                values[index] = decode(values[index])
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
        values = dict(zip(self._written, self._get(value), strict=True))
        for name, encode in self._encoders:
            if values[name] is not None:
                values[name] = encode(values[name])
        return values


def _is_of(table: Table, column: ColumnElement[Any]) -> bool:
    return isinstance(column, Column) and column.table is table


def _getter(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _field_names(kind: type[Any]) -> list[str]:
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind.model_fields)  # a noun of the wire
