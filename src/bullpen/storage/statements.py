"""Statements, compiled once per dialect and then run as plain strings.

A statement is written with SQLAlchemy Core and given its parameters by name. SQLAlchemy's own execution is not
used: it costs more per statement than the database does (docs/decisions/0002). So nothing here encodes
values, and lists go by `any_of`, never by `in_`. Text that one of the two databases could not keep is refused here,
before either of them sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Table, Text, and_, bindparam
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ClauseElement, ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Boolean

from bullpen.errors import Invalid

SQLITE: Dialect = sqlite.dialect(paramstyle="qmark")
POSTGRES: Dialect = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

UNSTORABLE = "Text must hold neither the NUL character nor half of a surrogate pair."


def storable(text: str) -> bool:
    """Can both databases keep it? PostgreSQL takes no NUL, and neither takes half of a surrogate pair."""
    return "\x00" not in text and (text.isascii() or _encodable(text))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Compiled:
    sql: str
    names: tuple[str, ...]
    required: frozenset[str]
    constants: Mapping[str, Any]
    lists: tuple[int, ...] = ()  # which of the names stand for lists

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        if given.keys() != self.required:
            self._complain(given)
        named = {**self.constants, **given} if self.constants else given
        values = [named[name] for name in self.names]
        for value in values:
            if type(value) is str:  # storable(), written out: this runs for every value of every statement
                if "\x00" in value or not (value.isascii() or _encodable(value)):
                    raise Invalid(UNSTORABLE)
            elif type(value) is list and not all(storable(item) for item in value if isinstance(item, str)):
                raise Invalid(UNSTORABLE)
        return values

    def _complain(self, given: Mapping[str, Any]) -> None:
        if missing := self.required - given.keys():
            raise KeyError(f"missing parameters: {', '.join(sorted(missing))}")
        if unknown := given.keys() - self.required - self.constants.keys():
            raise KeyError(f"unknown parameters: {', '.join(sorted(unknown))}")


class Statement:
    """One SQL statement for both databases. Unknown or missing parameters raise KeyError at once."""

    __slots__ = ("_compiled", "_expression")

    def __init__(self, expression: ClauseElement, *, postgresql: ClauseElement | None = None) -> None:
        self._expression = {"sqlite": expression, "postgresql": expression if postgresql is None else postgresql}
        self._compiled: dict[str, Compiled] = {}

    def on(self, dialect: Dialect) -> Compiled:
        found = self._compiled.get(dialect.name)
        if found is None:
            found = self._compiled[dialect.name] = _compile(self._expression[dialect.name], dialect)
        return found


def _compile(expression: ClauseElement, dialect: Dialect) -> Compiled:
    compiled: Any = expression.compile(dialect=dialect)
    if compiled.post_compile_params or compiled.literal_execute_params:
        raise TypeError(f"a list of unknown length cannot be compiled once: use any_of instead of in_\n{compiled}")
    names = tuple(compiled.positiontup or ())
    required = frozenset(name for name in names if compiled.binds[name].required)
    constants = {name: compiled.binds[name].effective_value for name in names if name not in required}
    lists = tuple(place for place, name in enumerate(names) if isinstance(compiled.binds[name].type, ARRAY))
    return Compiled(str(compiled), names, required, constants, lists)


def insert_or_ignore(table: Table) -> Statement:
    """Insert, unless a row with that key is there; the number of rows touched says which."""
    return Statement(
        sqlite.insert(table).on_conflict_do_nothing(), postgresql=postgresql.insert(table).on_conflict_do_nothing()
    )


def upsert(
    table: Table, keys: Sequence[str], changed: Sequence[str], *, where: ColumnElement[bool] | None = None
) -> Statement:
    """Insert, or give the row that has these keys the new values of `changed`, if it is as `where` says."""
    for_sqlite, for_postgres = sqlite.insert(table), postgresql.insert(table)
    return Statement(
        for_sqlite.on_conflict_do_update(
            index_elements=keys, set_={n: for_sqlite.excluded[n] for n in changed}, where=where
        ),
        postgresql=for_postgres.on_conflict_do_update(
            index_elements=keys, set_={n: for_postgres.excluded[n] for n in changed}, where=where
        ),
    )


def inside(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """`column` is in the window that `after` and `upto` give: after the one, up to the other."""
    return and_(column > bindparam("after"), column <= bindparam("upto"))


class any_of(FunctionElement[bool]):  # noqa: N801  reads as a predicate: any_of(messages.c.id, "ids")
    """`column` is one of the list given as `name`: one statement text for every length of list."""

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=ARRAY(column.type)))

    def self_group(self, against: Any = None) -> Any:
        # SQLite has no booleans, so SQLAlchemy would append "= 1", and then no index is used.
        return self


@compiles(any_of, "sqlite")
def _any_of_sqlite(element: any_of, compiler: Any, **kw: Any) -> str:
    column, values = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({values})))"


@compiles(any_of, "postgresql")
def _any_of_postgres(element: any_of, compiler: Any, **kw: Any) -> str:
    column, values = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"({column} = ANY ({values}))"


class contains(FunctionElement[bool]):  # noqa: N801
    """`column` contains the text given as `name`, letter for letter: nothing in it is a wildcard."""

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=Text()))

    def self_group(self, against: Any = None) -> Any:
        return self


@compiles(contains, "sqlite")
def _contains_sqlite(element: contains, compiler: Any, **kw: Any) -> str:
    column, text = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"(instr({column}, {text}) > 0)"


@compiles(contains, "postgresql")
def _contains_postgres(element: contains, compiler: Any, **kw: Any) -> str:
    column, text = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"(strpos({column}, {text}) > 0)"


class contains_all(FunctionElement[bool]):  # noqa: N801
    """`column` contains each text of the list given as `name`: one statement text for every length of list."""

    inherit_cache = True
    type = Boolean()

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        super().__init__(column, bindparam(name, type_=ARRAY(Text())))

    def self_group(self, against: Any = None) -> Any:
        return self


@compiles(contains_all, "sqlite")
def _contains_all_sqlite(element: contains_all, compiler: Any, **kw: Any) -> str:
    column, texts = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"(NOT EXISTS (SELECT 1 FROM json_each({texts}) AS wanted WHERE instr({column}, wanted.value) = 0))"


@compiles(contains_all, "postgresql")
def _contains_all_postgres(element: contains_all, compiler: Any, **kw: Any) -> str:
    column, texts = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"(NOT EXISTS (SELECT 1 FROM unnest({texts}) AS wanted (value) WHERE strpos({column}, wanted.value) = 0))"


class now_millis(ColumnElement[int]):  # noqa: N801  reads as a value
    """Milliseconds by the database's own clock, which every worker shares."""

    inherit_cache = True
    type = BigInteger()


@compiles(now_millis, "sqlite")
def _now_millis_sqlite(element: now_millis, compiler: Any, **kw: Any) -> str:
    return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"


@compiles(now_millis, "postgresql")
def _now_millis_postgres(element: now_millis, compiler: Any, **kw: Any) -> str:
    return "CAST(extract(epoch from clock_timestamp()) * 1000 AS BIGINT)"


class current_xid(ColumnElement[int]):  # noqa: N801
    """The number of the writing transaction. SQLite has one writer, so its rows need none."""

    inherit_cache = True
    type = BigInteger()


@compiles(current_xid, "sqlite")
def _current_xid_sqlite(element: current_xid, compiler: Any, **kw: Any) -> str:
    return "0"


@compiles(current_xid, "postgresql")
def _current_xid_postgres(element: current_xid, compiler: Any, **kw: Any) -> str:
    return "CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"


class horizon(ColumnElement[int]):  # noqa: N801
    """Every transaction below this number has ended: rows below it are complete, so a reader cannot step over one."""

    inherit_cache = True
    type = BigInteger()


@compiles(horizon, "sqlite")
def _horizon_sqlite(element: horizon, compiler: Any, **kw: Any) -> str:
    return "9223372036854775807"


@compiles(horizon, "postgresql")
def _horizon_postgres(element: horizon, compiler: Any, **kw: Any) -> str:
    return "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
