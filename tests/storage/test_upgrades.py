"""Upgrades: an office of every version that was released goes on in this one, with all it held.

tests/storage/schemas/ holds, for each of them, its schema and what an office had in it (tools/schemas.py).
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from bullpen.audit.actions import verify
from bullpen.storage.migrations import known
from bullpen.testing import invariants, snapshot
from tests.databases import Database
from tests.driver import Offices
from tests.upkeep.copies import back_up, bring_back

FOLDER = Path(__file__).parent / "schemas"
RELEASED = sorted({int(path.name[:4]) for path in FOLDER.glob("[0-9]*.rows.sql")})


async def load(database: Database, number: int) -> None:
    schema = (FOLDER / f"{number:04}.{database.kind}.sql").read_text()
    rows = (FOLDER / f"{number:04}.rows.sql").read_text()
    if database.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(database.path)) as connection:
            connection.executescript(schema + rows)
        return
    import asyncpg

    connection = await asyncpg.connect(database.url)
    await connection.execute(schema)
    await connection.execute(rows)
    await connection.execute("SELECT setval('events_id_seq', (SELECT max(id) FROM events))")
    await connection.close()


def test_the_first_schema_is_among_those_that_are_kept() -> None:
    assert RELEASED[0] == 1
    assert RELEASED[-1] <= known()[-1].number


@pytest.mark.parametrize("number", RELEASED)
async def test_an_office_from_an_earlier_version_continues_working(empty_database: Database, number: int) -> None:
    await load(empty_database, number)
    async with contextlib.AsyncExitStack() as stack:
        office = await Offices(empty_database, stack).open()
        await office.idle()  # what was asked for before the upgrade is done after it
        said = await office.texts("general")
        assert said[0].startswith("Hello, everyone")
        assert any("still here" in text for text in said)
        assert all(run["status"] == "completed" for run in await office.runs())
        found = await office.items("/search", q="still here")
        assert [hit["text"] for hit in found][-1].endswith("still here?"), "what was said before is found"
        await office.post("general", "On we go")
        await office.idle()
        assert isinstance(await verify(office.office.store), int)
    seen = await snapshot.read(empty_database.url)
    assert [row["number"] for row in sorted(seen["schema_migrations"], key=lambda row: row["number"])] == [
        migration.number for migration in known()
    ]
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
    assert list((empty_database.data / "backups").iterdir()), "a backup was written before"


async def test_earlier_limits_and_spending_are_carried_over_into_budgets(empty_database: Database) -> None:
    await load(empty_database, 1)
    limits = 'UPDATE agents SET definition = replace(definition, \'"limits":{\', \'"limits":{"max_cost_per_day":%s,\')'
    await change(
        empty_database,
        f"{limits % '2.5'} WHERE id = 'mira'",
        f"{limits % '1e12'} WHERE id = 'otto'",
        "UPDATE runs SET cost = 0.1 + 0.2 WHERE agent_id = 'mira'",
    )
    async with contextlib.AsyncExitStack() as stack:
        office = await Offices(empty_database, stack).open()
        kept = {row["subjectId"]: (row["amount"], row["origin"]) for row in await office.items("/budgets")}
        assert kept == {"mira": (2.5, "limits"), "otto": (1e9, "limits")}
        (mira,) = [row for row in await office.items("/usage", days=366) if row["id"] == "mira"]
        assert (mira["cost"], mira["runs"] >= 1, mira["steps"] >= 2, mira["budget"]) == (0.3, True, True, 2.5)
        rooms = {row["id"]: row["cost"] for row in await office.items("/usage", by="space", days=366)}
        assert rooms["general"] == 0.3
        await office.ask("PATCH", "/agents/otto", json={"name": "Otto the Second"})


async def change(database: Database, *statements: str) -> None:
    if database.kind == "sqlite":
        with contextlib.closing(sqlite3.connect(database.path)) as connection:
            connection.executescript(";".join(statements))
        return
    import asyncpg

    connection = await asyncpg.connect(database.url)
    await connection.execute(";".join(statements))
    await connection.close()


@pytest.mark.parametrize("number", RELEASED)
async def test_a_backup_from_an_earlier_version_is_restored_and_migrated(
    empty_database: Database, number: int, tmp_path: Path
) -> None:
    await load(empty_database, number)
    before = await counts(empty_database)
    names = ["old.jsonl.gz", "old.db"] if empty_database.kind == "sqlite" else ["old.jsonl.gz"]
    for name in names:
        made = await back_up(empty_database, tmp_path / name)
        assert made.schema == number
    for name in names:
        restored = await bring_back(empty_database, tmp_path / name, force=True)
        assert restored.migrated == [str(migration) for migration in known() if migration.number > number]
        after = await counts(empty_database)
        assert {table: after[table] for table in before if table not in ("meta", "schema_migrations")} == {
            table: count for table, count in before.items() if table not in ("meta", "schema_migrations")
        }


async def counts(database: Database) -> dict[str, int]:
    catalogue = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'pgqueuer%'",
    }
    tables = [row[0] for row in await snapshot.ask(database.url, catalogue[database.kind])]
    return {table: (await snapshot.ask(database.url, f"SELECT count(*) FROM {table}"))[0][0] for table in tables}
