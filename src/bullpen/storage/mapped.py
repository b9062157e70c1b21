"""Rows and classes, matched by field name.

`Mapped(Task, tasks)` reads and writes a class whose fields have the names of columns. The order of the columns stands
here and nowhere else, so a new column costs its table, its migration and its field. What a column cannot hold as it is
(a flag, a list, JSON) is named with a codec. A query with a few columns of its own unpacks them by name where it is
run, or takes `Transaction.value` and `values` for a single one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from sqlalchemy import Table
from sqlalchemy.sql import ColumnElement

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


class Mapped(Generic[T]):
    """`columns` go into a `select`; `read` makes the value of such a row, `write` the parameters of an insert.

    `others` gives columns to fields that the table has none for: of a joined table, or a labelled expression.
    """

    def __init__(
        self, kind: type[T], table: Table, *, others: Mapping[str, ColumnElement[Any]] | None = None, **codecs: Codec
    ) -> None:
        others = others or {}
        self.names = _field_names(kind)
        self.columns = tuple(others[name] if name in others else table.c[name] for name in self.names)
        self._kind = kind
        self._by_position = is_dataclass(kind)
        unknown = codecs.keys() - set(self.names)
        if unknown:
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        self._decoders = [(self.names.index(name), codec.decode) for name, codec in codecs.items()]
        self._encoders = {name: codec.encode for name, codec in codecs.items()}
        self._written = [name for name in self.names if name not in others]
        self._get = attrgetter(*self._written) if len(self._written) > 1 else None

    def read(self, row: Sequence[Any]) -> T:
        """The value of a row of `columns`."""
        values = list(row)
        for index, decode in self._decoders:
            if values[index] is not None:
                values[index] = decode(values[index])
        if self._by_position:
            return self._kind(*values)
        return self._kind(**dict(zip(self.names, values, strict=True)))

    def read_one(self, row: Sequence[Any] | None) -> T | None:
        return None if row is None else self.read(row)

    def read_all(self, rows: Sequence[Sequence[Any]]) -> list[T]:
        return [self.read(row) for row in rows]

    def write(self, value: T) -> dict[str, Any]:
        """What the table's own columns hold of the value, by name."""
        kept = self._get(value) if self._get is not None else (getattr(value, self._written[0]),)
        values = dict(zip(self._written, kept, strict=True))
        for name, encode in self._encoders.items():
            if values.get(name) is not None:
                values[name] = encode(values[name])
        return values


def _field_names(kind: type[Any]) -> list[str]:
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind.model_fields)  # a noun of the wire
