"""The floor: what a run writes, written again by plain sqlite3, with nothing else around it.

One run is recorded: every statement that changes a row, and where each transaction ends. Then it is replayed with new
ids on a copy of the database: the same rows in the same tables, one COMMIT per transaction, parameters ready made. What
the server costs beyond this is ours: reading, deciding, encoding, and turning the loop.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bullpen.storage import Statement
from bullpen.storage.sqlite import SqliteTransaction
from bullpen.storage.statements import SQLITE

_MADE_ID = re.compile(r"\b(msg|run|rmg|call|itm|psg)_[0-9a-v]{8}([0-9a-v]{18})\b")

_INTO = re.compile(r"INSERT (?:OR \w+ )?INTO (\w+)")

Params = list[Any]


@dataclass(frozen=True, slots=True)
class Write:
    sql: str
    names: tuple[str, ...]
    rows: list[Params]


@dataclass(slots=True)
class Recording:
    """What was written, transaction by transaction."""

    by_transaction: dict[int, list[Write]] = field(default_factory=dict)

    @property
    def transactions(self) -> list[list[Write]]:
        return list(self.by_transaction.values())

    def add(self, tx: SqliteTransaction, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        compiled = statement.on(SQLITE)
        if not compiled.sql.lstrip().upper().startswith("SELECT"):
            write = Write(compiled.sql, compiled.names, [_encoded(compiled.values(row)) for row in rows])
            self.by_transaction.setdefault(id(tx), []).append(write)


def _encoded(values: Params) -> Params:
    """Lists go to SQLite as JSON."""
    return [orjson.dumps(value).decode() if isinstance(value, list) else value for value in values]


@contextlib.contextmanager
def recorded() -> Iterator[Recording]:
    """Everything that stores of this process write inside the block."""
    recording = Recording()
    alive: list[SqliteTransaction] = []  # so that no two have the same id()
    cursor, many = SqliteTransaction._cursor, SqliteTransaction.many

    def heard_cursor(self: SqliteTransaction, statement: Statement, params: Mapping[str, Any]) -> sqlite3.Cursor:
        alive.append(self)
        recording.add(self, statement, [params])
        return cursor(self, statement, params)

    async def heard_many(self: SqliteTransaction, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        alive.append(self)
        recording.add(self, statement, rows)
        await many(self, statement, rows)

    SqliteTransaction._cursor, SqliteTransaction.many = heard_cursor, heard_many  # type: ignore[method-assign]
    try:
        yield recording
    finally:
        SqliteTransaction._cursor, SqliteTransaction.many = cursor, many  # type: ignore[method-assign]


class BareLoop:
    """Replays a recorded run on a copy of the database, as often as asked, each time with new ids."""

    def __init__(self, recording: Recording, path: Path) -> None:
        self._transactions = recording.transactions
        self._connection = sqlite3.connect(path, isolation_level=None, cached_statements=512)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._replays = 0
        self._tables = sorted(
            {found[1] for writes in self._transactions for w in writes if (found := _INTO.match(w.sql))}
        )
        self._rows_before = self._count_rows()
        self._rows_of_one = 0

    @property
    def commits(self) -> int:
        return len(self._transactions)

    @property
    def rows(self) -> int:
        return sum(len(write.rows) for writes in self._transactions for write in writes)

    def prepared(self) -> list[list[Write]]:
        """The next replay. Not part of what is measured."""
        self._replays += 1
        return [[self._renewed(write) for write in writes] for writes in self._transactions]

    def _renewed(self, write: Write) -> Write:
        change = self._passage_value if "INTO passages" in write.sql else self._value
        rows = [[change(name, value) for name, value in zip(write.names, row, strict=True)] for row in write.rows]
        return Write(write.sql, write.names, rows)

    def _value(self, name: str, value: Any) -> Any:
        if name == "seq":
            return value + 2 * self._replays  # a run leaves two messages
        if isinstance(value, str):
            # `v` sorts after every id of this millennium, so new rows go where new rows go: to the end.
            return _MADE_ID.sub(rf"\1_v{self._replays:07}\2", value)
        return value

    def _passage_value(self, name: str, value: Any) -> Any:
        return f"{self._replays:064}" if name == "hash" else self._value(name, value)

    def replay(self, transactions: list[list[Write]]) -> None:
        execute, executemany = self._connection.execute, self._connection.executemany
        for writes in transactions:
            execute("BEGIN IMMEDIATE")
            for write in writes:
                if len(write.rows) == 1:
                    execute(write.sql, write.rows[0]).fetchall()
                else:
                    executemany(write.sql, write.rows)
            execute("COMMIT")
        if self._replays == 1:
            self._rows_of_one = self._count_rows() - self._rows_before

    def _count_rows(self) -> int:
        """In the tables that a run adds to. SQLite's own count of changes also holds what the index of words merges."""
        counts = [self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in self._tables]
        return sum(counts)

    def close(self) -> None:
        """Done; and every replay must have added as many rows as the first, or its ids were not new."""
        added = self._count_rows() - self._rows_before
        self._connection.close()
        assert added == self._replays * self._rows_of_one > 0, f"{added} rows in {self._replays} replays"


def copied(source: Path, target: Path) -> Path:
    """A copy of a database that is in use."""
    with contextlib.closing(sqlite3.connect(source)) as from_, contextlib.closing(sqlite3.connect(target)) as to:
        from_.backup(to)
    return target
