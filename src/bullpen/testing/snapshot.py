"""A database, read whole, in one consistent view.

For checks and comparisons, not for the server: every row of every table becomes a dict. SQLite is opened read-only and
without the folder's lock, so a stopped server's file and a running one's can be read alike.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import orjson
from sqlalchemy import Table, select

from bullpen.events.types import Place
from bullpen.storage.paused import ALL_PAUSED_KEY
from bullpen.storage.statements import POSTGRES, SQLITE, Statement, now_millis
from bullpen.storage.tables import metadata

Row: TypeAlias = dict[str, Any]

POSTGRES_URLS = ("postgresql://", "postgres://")

_WHOLE = {table.name: Statement(select(table)) for table in metadata.sorted_tables}


class CannotRead(Exception):
    """There is no database there, or none of ours."""


@dataclass(frozen=True)
class Snapshot:
    tables: dict[str, list[Row]]
    now: int  # milliseconds, by the database's clock
    faults: list[str]  # what the database's own check of its files found

    def __getitem__(self, table: str) -> list[Row]:
        return self.tables[table]

    # ── rows in the order in which they tell a story ────────────────────────────────────────────────────

    @cached_property
    def messages(self) -> list[Row]:
        return sorted(self["messages"], key=lambda row: (row["space_id"], row["seq"]))

    @cached_property
    def runs(self) -> list[Row]:
        return sorted(self["runs"], key=lambda row: (row["thread_id"], row["ordinal"]))

    @cached_property
    def run(self) -> dict[str, Row]:
        return {row["id"]: row for row in self["runs"]}

    @cached_property
    def thread(self) -> dict[str, Row]:
        return {row["id"]: row for row in self["threads"]}

    @cached_property
    def agent(self) -> dict[str, Row]:
        return {row["id"]: {**row, "definition": orjson.loads(row["definition"])} for row in self["agents"]}

    @cached_property
    def journals(self) -> dict[str, list[Row]]:
        """Run messages by run, in order."""
        return grouped(sorted(self["run_messages"], key=lambda row: row["position"]), "run_id")

    @cached_property
    def events(self) -> list[Row]:
        """In the order of the stream, with their bodies parsed."""
        found = [
            {**row, "body": orjson.loads(row["body"]), "place": Place(row["xid"], row["id"])} for row in self["events"]
        ]
        return sorted(found, key=lambda row: row["place"])

    def is_paused(self, agent_id: str) -> bool:
        agent = self.agent[agent_id]
        everybody = any(row["key"] == ALL_PAUSED_KEY for row in self["meta"])
        return agent["deleted_at"] is None and (everybody or agent["paused_at"] is not None)

    def is_held(self, thread_id: str) -> bool:
        """Is a budget used up, and its run put aside?"""
        return any(row["thread_id"] == thread_id for row in self["holds"])

    @property
    def remembers_all_events(self) -> bool:
        """False once retention has removed some."""
        return not any(row["key"] == "events_forgotten" for row in self["meta"])


def grouped(rows: list[Row], column: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


async def read(url: str) -> Snapshot:
    """Everything in the database at this URL (`sqlite:///path` or `postgresql://…`)."""
    if url.startswith(POSTGRES_URLS):
        return await _read_postgres(url)
    return _read_sqlite(Path(url.removeprefix("sqlite:///")))


async def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    """A small question that both databases understand."""
    if not url.startswith(POSTGRES_URLS):
        with contextlib.closing(_open_sqlite(Path(url.removeprefix("sqlite:///")))) as connection:
            return connection.execute(sql).fetchall()
    import asyncpg

    found = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await found.fetch(sql)]
    finally:
        await found.close()


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────────────


def _open_sqlite(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)


def _read_sqlite(path: Path) -> Snapshot:
    try:
        with contextlib.closing(_open_sqlite(path)) as connection:
            connection.execute("BEGIN")
            tables = {table.name: _rows_of(connection, table) for table in metadata.sorted_tables}
            (now,) = connection.execute(Statement(select(now_millis())).on(SQLITE).sql).fetchone()
            faults = [fault for (fault,) in connection.execute("PRAGMA integrity_check") if fault != "ok"]
    except sqlite3.Error as error:
        raise CannotRead(f"Cannot read {path}: {error}.") from error
    return Snapshot(tables, now, faults)


def _rows_of(connection: sqlite3.Connection, table: Table) -> list[Row]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in connection.execute(_WHOLE[table.name].on(SQLITE).sql)]


# ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────────────


async def _read_postgres(url: str) -> Snapshot:
    import asyncpg

    try:
        connection = await asyncpg.connect(url)
    except (OSError, asyncpg.PostgresError) as error:
        raise CannotRead(f"Cannot reach PostgreSQL: {error}.") from error
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            tables = {
                name: [dict(row) for row in await connection.fetch(whole.on(POSTGRES).sql)]
                for name, whole in _WHOLE.items()
            }
            now = await connection.fetchval(Statement(select(now_millis())).on(POSTGRES).sql)
            faults = await _check_indexes(connection)
    except asyncpg.UndefinedTableError as error:
        raise CannotRead(f"This is no database of Bullpen, or of another version: {error}.") from error
    finally:
        await connection.close()
    return Snapshot(tables, now, faults)


async def _check_indexes(connection: Any) -> list[str]:
    """amcheck, where the operator has installed it: an index that does not fit its table is a corrupt database."""
    import asyncpg

    if not await connection.fetchval("SELECT count(*) FROM pg_extension WHERE extname = 'amcheck'"):
        return []
    faults = []
    for (name,) in await connection.fetch(_INDEXES):
        try:
            await connection.execute("SELECT bt_index_check($1::regclass, true)", name)
        except asyncpg.PostgresError as error:
            faults.append(f"{name}: {error}")
            break  # the transaction is over
    return faults


_INDEXES = """
    SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_am am ON am.oid = c.relam JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE am.amname = 'btree' AND n.nspname = current_schema() AND c.relname NOT LIKE 'pgqueuer%'
"""
