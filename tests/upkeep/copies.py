"""Backups and restores of the databases that tests use."""

from __future__ import annotations

from pathlib import Path

from bullpen.app import blobs_of, open_store
from bullpen.settings import Settings, load_settings
from bullpen.storage.copies import Progress
from bullpen.testing import snapshot
from bullpen.testing.snapshot import Row
from bullpen.upkeep import backup, restore
from tests.databases import Database

# Different after every restore, by intention: the name of this life, who is signed in, who drives what, and the row
# of the audit log that says so.
RENEWED = {"meta", "leases", "sessions", "audit"}


def settings_of(database: Database) -> Settings:
    return load_settings({}, data=database.data, database_url=database.url)


async def back_up(
    database: Database, path: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> backup.Backup:
    settings = settings_of(database)
    async with blobs_of(settings) as blobs:
        return await backup.write(
            settings, open_store(settings), path, blobs=blobs, overwrite=overwrite, progress=progress
        )


async def bring_back(database: Database, path: Path, *, force: bool = False) -> restore.Restored:
    settings = settings_of(database)
    async with blobs_of(settings) as blobs:
        return await restore.read(settings, open_store(settings), path, blobs=blobs, force=force)


async def rows_of(database: Database) -> dict[str, list[Row]]:
    """Every row of every table, but for what a restore renews. Of events the order counts, not the numbers."""
    seen = await snapshot.read(database.url)
    assert seen.faults == []
    tables = {name: sorted(rows, key=repr) for name, rows in seen.tables.items() if name not in RENEWED}
    tables["events"] = [
        {name: value for name, value in row.items() if name not in ("id", "xid", "place")} for row in seen.events
    ]
    tables["message_words"] = [{**row, "number": 0} for row in sorted(seen["message_words"], key=lambda r: r["number"])]
    return tables
