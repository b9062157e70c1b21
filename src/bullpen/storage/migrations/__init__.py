"""Numbered changes of the schema, and the table of those applied.

A migration is a pair of files `NNNN_name.<dialect>.sql`, each run in one transaction with its row in
`schema_migrations` and what `filling.py` computes for it: it happens whole or not at all. Before anything is changed
in a database that has data, a copy is written to the backups folder. A database from a newer Bullpen is refused, never
guessed at. Two servers that start at once on PostgreSQL take turns.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bullpen.errors import CannotStart
from bullpen.storage import copies
from bullpen.storage.migrations import filling
from bullpen.storage.statements import Statement
from bullpen.storage.store import Store, Transaction
from bullpen.storage.tables import schema_migrations

FOLDER = Path(__file__).parent
# Any constant will do; it names the lock that starting servers take in turn.
POSTGRES_LOCK = 4_242_008_420
_SELECT_APPLIED = Statement(select(schema_migrations.c.number))


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    folder: Path = FOLDER

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}"

    def script(self, dialect: str) -> str:
        return (self.folder / f"{self}.{dialect}.sql").read_text()


def known(folder: Path = FOLDER) -> list[Migration]:
    found = []
    for path in sorted(folder.glob("[0-9]*.sqlite.sql")):
        number, _, name = path.name.removesuffix(".sqlite.sql").partition("_")
        found.append(Migration(int(number), name, folder))
    return found


async def is_current(tx: Transaction) -> bool:
    """Does the database have every change that this Bullpen knows, and none that it does not?"""
    return await applied(tx) == {migration.number for migration in known()}


async def applied(tx: Transaction) -> set[int]:
    return {row[0] for row in await tx.all(_SELECT_APPLIED)}


async def migrate(store: Store, backups: Path | None, migrations: Sequence[Migration] | None = None) -> list[Migration]:
    """Bring the schema up to date; the migrations applied now. Safe to call at every start.

    Without a folder for `backups` there is none: for a database that is a copy itself.
    """
    chosen = known() if migrations is None else migrations
    if store.shared:
        return await _migrate_postgres(store, backups, chosen)
    return _migrate_sqlite(store, backups, chosen)


def _pending(applied: Sequence[int], migrations: Sequence[Migration]) -> list[Migration]:
    newest = migrations[-1].number
    if applied and max(applied) > newest:
        raise CannotStart(
            f"The database has schema {max(applied)}, but this Bullpen knows only up to {newest}. "
            "Install the newer Bullpen that wrote it, or restore the backup made before the upgrade."
        )
    return [m for m in migrations if m.number not in applied]


def _failure(migration: Migration, error: Exception) -> CannotStart:
    return CannotStart(f"Migration {migration} failed and was undone, so nothing is changed: {error}.")


# ── the backup before ───────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _backup(backups: Path, migration: Migration, now: str, suffix: str) -> Iterator[Path]:
    """Where to write the backup. It gets its name only when it is whole."""
    stamp = now[:19].replace(":", "").replace("-", "")
    try:
        backups.mkdir(parents=True, exist_ok=True, mode=0o700)
        with copies.written_whole(backups / f"before-{migration.number:04}-{stamp}.{suffix}") as path:
            yield path
    except (OSError, sqlite3.Error) as error:
        raise CannotStart(f"Cannot write a backup to {backups}, so nothing was migrated: {error}.") from error


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _migrate_sqlite(store: Any, backups: Path | None, migrations: Sequence[Migration]) -> list[Migration]:
    with contextlib.closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        applied = _applied_sqlite(connection)
        pending = _pending(applied, migrations)
        if applied and pending and backups is not None:
            _backup_sqlite(store.path, backups, pending[0], store.clock.now())
        for migration in pending:
            apply_sqlite(connection, migration, store.clock.now())
    return pending


def _applied_sqlite(connection: sqlite3.Connection) -> list[int]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone():
        return []
    return [row[0] for row in connection.execute("SELECT number FROM schema_migrations")]


def apply_sqlite(connection: sqlite3.Connection, migration: Migration, now: str) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _statements(migration.script("sqlite")):
            connection.execute(statement)
        if (fill := filling.SQLITE.get(str(migration))) is not None:
            fill(connection)
        row = (migration.number, migration.name, now)
        connection.execute("INSERT INTO schema_migrations (number, name, applied_at) VALUES (?, ?, ?)", row)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise _failure(migration, error) from error


def _statements(script: str) -> Iterator[str]:
    # sqlite3's executescript would commit the transaction that we are in.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _backup_sqlite(database: Path, backups: Path, migration: Migration, now: str) -> None:
    with _backup(backups, migration, now, "db") as path, copies.looking_at(database) as source:
        copies.copy_sqlite(source, path)


# ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _migrate_postgres(store: Any, backups: Path | None, migrations: Sequence[Migration]) -> list[Migration]:
    connection = await store.connect()
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", POSTGRES_LOCK)
        applied = await _applied_postgres(connection)
        pending = _pending(applied, migrations)
        if applied and pending and backups is not None:
            await _backup_postgres(connection, backups, pending[0], store.clock.now())
        for migration in pending:
            await apply_postgres(connection, migration, store.clock.now())
        await _install_queue(connection)
    finally:
        await connection.close()  # lets go of the advisory lock too
    return pending


async def _applied_postgres(connection: Any) -> list[int]:
    import asyncpg

    if await connection.fetchval("SELECT to_regclass('schema_migrations')") is None:
        return []
    try:
        return [row[0] for row in await connection.fetch("SELECT number FROM schema_migrations")]
    except asyncpg.UndefinedColumnError as error:
        raise CannotStart("The database belongs to another program. Give Bullpen a database of its own.") from error


async def apply_postgres(connection: Any, migration: Migration, now: str) -> None:
    import asyncpg

    insert = "INSERT INTO schema_migrations (number, name, applied_at) VALUES ($1, $2, $3)"
    try:
        async with connection.transaction():
            await connection.execute(migration.script("postgres"))
            if (fill := filling.POSTGRES.get(str(migration))) is not None:
                await fill(connection)
            await connection.execute(insert, migration.number, migration.name, now)
    except asyncpg.PostgresError as error:
        raise _failure(migration, error) from error


async def _install_queue(connection: Any) -> None:
    """PgQueuer's tables are its own; it knows how to make and upgrade them."""
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    queries = Queries(AsyncpgDriver(connection))
    if await queries.schema_is_installed():
        await queries.upgrade()
    else:
        await queries.install()


async def _backup_postgres(connection: Any, backups: Path, migration: Migration, now: str) -> None:
    with _backup(backups, migration, now, "jsonl") as path:
        await copies.dump_postgres(connection, copies.LineWriter(path, packed=False), now)
