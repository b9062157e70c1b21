"""Migrations: both ways to the schema agree, a backup comes first, and a migration happens whole or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.schema import CreateIndex, CreateTable

from bullpen.errors import CannotStart
from bullpen.storage import Store
from bullpen.storage.migrations import Migration, known, migrate
from bullpen.storage.statements import POSTGRES, SQLITE
from bullpen.storage.tables import metadata
from tests.databases import Database
from tests.storage.scratch import keys, put

BOUND = 60
Rows = list[tuple[Any, ...]]
Ask = Callable[..., Awaitable[Rows]]


@contextlib.asynccontextmanager
async def asking(database: Database) -> AsyncIterator[Ask]:
    """Plain SQL on a database, past our own code."""
    if database.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as connection:

            async def ask_sqlite(sql: str) -> Rows:
                return connection.execute(sql).fetchall()

            yield ask_sqlite
        return
    import asyncpg

    other = await asyncpg.connect(database.url)

    async def ask_postgres(sql: str) -> Rows:
        return [tuple(row) for row in await other.fetch(sql)]

    yield ask_postgres
    await other.close()


@contextlib.asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Store]:
    store = database.store()
    await store.open()
    yield store
    await store.close()


def migrations(folder: Path, *scripts: str) -> list[Migration]:
    """Ours, and then these."""
    ours = known()
    folder.mkdir(exist_ok=True)
    added = [Migration(ours[-1].number + n, f"added_{n}", folder) for n, _ in enumerate(scripts, 1)]
    for migration, script in zip(added, scripts, strict=True):
        for dialect in ("sqlite", "postgres"):
            (folder / f"{migration}.{dialect}.sql").write_text(script)
    return [*ours, *added]


async def applied(database: Database) -> list[int]:
    async with asking(database) as ask:
        return [row[0] for row in await ask("SELECT number FROM schema_migrations ORDER BY number")]


# Search has nothing in common on the two databases, so `tables.py` leaves it to the migration: see test_search.py.
SEARCH = ("message_fts", "message_words_lookup", "passage_fts", "passage_words_lookup")


async def tables(database: Database) -> set[str]:
    catalogue = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'pgqueuer%'",
    }
    async with asking(database) as ask:
        return {row[0] for row in await ask(catalogue[database.kind]) if not row[0].startswith(SEARCH)}


# ── the schema, both ways ───────────────────────────────────────────────────────────────────────────────────────────

SQLITE_SHAPES = {
    "columns": """
        SELECT t.name, c.cid, c.name, upper(c.type), c."notnull", c.dflt_value, c.pk
        FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
    """,
    "indexes": """
        SELECT t.name, i."unique", i.origin, i.partial, (SELECT group_concat(name) FROM pragma_index_info(i.name)),
               CASE WHEN i.origin = 'c' THEN i.name END,
               (SELECT substr(sql, instr(sql, ' WHERE ')) FROM sqlite_master WHERE name = i.name AND i.partial)
        FROM sqlite_master t, pragma_index_list(t.name) i WHERE t.type = 'table'
    """,
    "autoincrement": "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'",
}
POSTGRES_SHAPES = {
    "columns": """
        SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               pg_get_expr(d.adbin, d.adrelid), o.collname
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation o ON o.oid = a.attcollation
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    """,
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    """,
}


async def shape(database: Database) -> dict[str, Rows]:
    """Tables, columns, types, nullability, defaults, indexes and constraints, as the database itself tells them."""
    queries = SQLITE_SHAPES if database.kind == "sqlite" else POSTGRES_SHAPES
    async with asking(database) as ask:
        found = {name: await ask(query) for name, query in queries.items()}
    return {name: sorted((row for row in rows if not _is_apart(row)), key=repr) for name, rows in found.items()}


def _is_apart(row: tuple[Any, ...]) -> bool:
    return any(str(value).startswith(("pgqueuer", *SEARCH)) for value in row[:2])


async def test_migrations_and_tables_make_the_same_schema(empty_database: Database) -> None:
    dialect = SQLITE if empty_database.kind == "sqlite" else POSTGRES
    async with asking(empty_database) as ask:
        for table in metadata.sorted_tables:
            await ask(str(CreateTable(table).compile(dialect=dialect)))
            for index in table.indexes:
                await ask(str(CreateIndex(index).compile(dialect=dialect)))
    from_tables = await shape(empty_database)
    async with asking(empty_database) as ask:
        for table in metadata.sorted_tables:
            await ask(f"DROP TABLE {table.name}")
    assert await tables(empty_database) == set()
    async with opened(empty_database) as store:
        await migrate(store, empty_database.data / "backups")
    assert len(from_tables["columns"]) > 100
    assert await shape(empty_database) == from_tables


def test_every_migration_has_its_number_and_both_dialects() -> None:
    numbers = [migration.number for migration in known()]
    assert numbers == list(range(1, len(numbers) + 1))
    for migration in known():
        assert migration.script("sqlite")
        assert migration.script("postgres")


async def test_a_new_database_is_fully_migrated_once_without_a_backup(
    empty_database: Database,
) -> None:
    backups = empty_database.data / "backups"
    async with opened(empty_database) as store:
        assert await migrate(store, backups) == known()
        assert await migrate(store, backups) == []
    assert await applied(empty_database) == [migration.number for migration in known()]
    assert not backups.exists()


async def test_an_open_store_sees_what_a_migration_added(database: Database, tmp_path: Path) -> None:
    async with opened(database) as store:
        await store.transact(put("a"))
        await keys(store)
        await migrate(store, tmp_path / "b", migrations(tmp_path / "m", "ALTER TABLE meta ADD COLUMN colour TEXT;"))
        assert await keys(store) == ["a"]
        await store.transact(put("b"))


# ── the backup before ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_existing_database_is_backed_up_before_migrating(database: Database, tmp_path: Path) -> None:
    text = 'Zoë said: "hi"\nand 👋'
    backups = tmp_path / "backups"
    async with opened(database) as store:
        await store.transact(put("greeting", text))
        await migrate(store, backups, migrations(tmp_path / "m", "DELETE FROM meta;", "CREATE TABLE x (y TEXT);"))
        assert await keys(store) == []
    [backup] = backups.iterdir()
    assert backup.name.startswith(f"before-{known()[-1].number + 1:04}-")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backups.stat().st_mode & 0o777 == 0o700
    assert await _rows_in(database, backup, "meta") == [{"key": "greeting", "value": text}]


async def _rows_in(database: Database, backup: Path, table: str) -> list[dict[str, Any]]:
    if database.kind == "sqlite":
        copy = Database("sqlite", f"sqlite:///{backup}", backup.parent)
        async with opened(copy), asking(copy) as ask:  # it is a database like any other
            assert await ask("PRAGMA integrity_check") == [("ok",)]
            names = [row[1] for row in await ask(f"PRAGMA table_info({table})")]
            return [dict(zip(names, row, strict=True)) for row in await ask(f"SELECT * FROM {table}")]
    lines = [json.loads(line) for line in backup.read_text().splitlines()]
    return [line["row"] for line in lines if line.get("table") == table]


async def test_without_a_backup_nothing_is_migrated(database: Database, tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("not a folder")
    async with opened(database) as store:
        with pytest.raises(CannotStart, match="Cannot write a backup"):
            await migrate(store, tmp_path / "backups", migrations(tmp_path / "m", "CREATE TABLE x (y TEXT);"))
    assert "x" not in await tables(database)


# ── refusals and failures ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_newer_schema_is_refused_clearly_and_left_unchanged(database: Database, tmp_path: Path) -> None:
    async with asking(database) as ask:
        await ask("INSERT INTO schema_migrations VALUES (999, 'from_the_future', '')")
    async with opened(database) as store:
        with pytest.raises(CannotStart, match=r"schema 999, but this Bullpen knows only up to \d+\. Install the newer"):
            await migrate(store, tmp_path / "backups")
    assert not (tmp_path / "backups").exists()


async def test_a_failed_migration_is_undone_and_earlier_ones_stay(database: Database, tmp_path: Path) -> None:
    bad = "CREATE TABLE second (y TEXT);\nINSERT INTO meta VALUES ('a', 'b');\nINSERT INTO nowhere VALUES (1);\n"
    chosen = migrations(tmp_path / "m", "CREATE TABLE first (y TEXT);", bad)
    async with opened(database) as store:
        for _ in range(2):
            with pytest.raises(CannotStart, match=rf"Migration {chosen[-1]} failed and was undone.*nowhere"):
                await migrate(store, tmp_path / "backups", chosen)
            assert await keys(store) == []
    assert await applied(database) == [migration.number for migration in chosen[:-1]]
    found = await tables(database)
    assert "first" in found
    assert "second" not in found


async def test_a_script_may_hold_triggers_comments_and_semicolons_in_text(database: Database, tmp_path: Path) -> None:
    trigger = {
        "sqlite": "CREATE TRIGGER t AFTER INSERT ON meta BEGIN\n  UPDATE meta SET value = 'x;\n';\n  SELECT 1;\nEND;\n",
        "postgres": (
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\n"
            "  UPDATE meta SET value = 'x;\n'; RETURN NULL;\nEND $$;\n"
            "CREATE TRIGGER t AFTER INSERT ON meta FOR EACH ROW EXECUTE FUNCTION f();\n"
        ),
    }
    script = (
        "-- a comment; with a semicolon\n" + trigger[database.kind] + "CREATE TABLE last (y TEXT) -- no semicolon\n"
    )
    async with opened(database) as store:
        await migrate(store, tmp_path / "backups", migrations(tmp_path / "m", script))
        await store.transact(put("a"))
    async with asking(database) as ask:
        assert await ask("SELECT value FROM meta WHERE key = 'a'") == [("x;\n",)]
    assert "last" in await tables(database)


@pytest.mark.parametrize("empty_database", ["postgres"], indirect=True)
async def test_a_database_of_another_program_is_refused(empty_database: Database) -> None:
    async with asking(empty_database) as ask:
        await ask("CREATE TABLE schema_migrations (version text)")
    async with opened(empty_database) as store:
        with pytest.raises(CannotStart, match="a database of its own"):
            await migrate(store, empty_database.data / "backups")


# ── two at once, and none at the end ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("empty_database", ["postgres"], indirect=True)
async def test_servers_that_start_at_once_take_turns(empty_database: Database) -> None:
    async with contextlib.AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(opened(empty_database)) for _ in range(4)]
        done = await asyncio.gather(*(migrate(store, empty_database.data / "backups") for store in stores))
    assert sorted(map(len, done)) == [0, 0, 0, len(known())]
    assert await applied(empty_database) == [migration.number for migration in known()]


MIGRATE = """
import asyncio, sys
from pathlib import Path
from bullpen.storage.migrations import known, migrate

async def main():
    url, ours = sys.argv[1], Path(sys.argv[2])
    if url.startswith("sqlite"):
        from bullpen.storage.sqlite import SqliteStore
        store = SqliteStore(Path(url.removeprefix("sqlite:///")))
    else:
        from bullpen.storage.postgres import PostgresStore
        store = PostgresStore(url)
    await store.open()
    await migrate(store, ours / "backups", known() + known(ours))
    await store.close()

asyncio.run(main())
"""
FOR_EVER = {
    "sqlite": "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c;\n",
    "postgres": "SELECT pg_sleep(600);\n",
}


@contextlib.contextmanager
def migrating(database: Database, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", MIGRATE, database.url, folder]) as process:
        try:
            yield process
        finally:
            process.kill()


ASLEEP = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"


async def _in_the_last_statement(database: Database, ask: Ask) -> bool:
    if database.kind == "postgres":
        return bool(await ask(ASLEEP))
    try:
        await ask("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return True
    await ask("ROLLBACK")
    return False


async def test_a_migration_killed_midway_is_undone_and_completed_next_start(database: Database, tmp_path: Path) -> None:
    change = "CREATE TABLE second (y TEXT);\nINSERT INTO meta VALUES ('migrated', '');\n"
    migrations(tmp_path, "CREATE TABLE first (y TEXT);\n", change + FOR_EVER[database.kind])
    async with asking(database) as ask:
        if database.kind == "sqlite":
            await ask("PRAGMA busy_timeout=0")
        with migrating(database, tmp_path) as process:
            async with asyncio.timeout(BOUND):
                while "first" not in await tables(database) or not await _in_the_last_statement(database, ask):
                    assert process.poll() is None
                    await asyncio.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
    assert "second" not in await tables(database)
    assert len(await applied(database)) == len(known()) + 1
    migrations(tmp_path, "CREATE TABLE first (y TEXT);\n", change)
    with migrating(database, tmp_path) as process:
        assert await asyncio.to_thread(process.wait, BOUND) == 0
    assert {"first", "second"} <= await tables(database)
    async with asking(database) as ask:
        assert await ask("SELECT key FROM meta") == [("migrated",)]
    assert not [path for path in (tmp_path / "backups").iterdir() if path.suffix == ".partial"]


async def test_a_migrated_database_holds_our_tables_and_no_others(database: Database) -> None:
    assert await tables(database) == set(metadata.tables)
