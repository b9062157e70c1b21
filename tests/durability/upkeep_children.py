"""Children that write backups, restore them and erase people, and that die at a chosen point of it.

A point is anything they ask of the file system or of a database: a file opened, renamed or removed, a statement of
PostgreSQL, a page of rows. The n-th of them kills the process, before it is carried out or right after.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from bullpen.app import blobs_of, open_store
from bullpen.cli.loop import run_on_fast_loop
from bullpen.settings import Settings, load_settings
from bullpen.storage.postgres import PostgresStore
from bullpen.testing.crash import mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.serving import owner_of
from bullpen.upkeep import backup, restore
from bullpen.upkeep.rows import select_begun

POINTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.truncate", "shutil.copyfile", "sqlite3.connect"})


class Points:
    """Counts points, and dies at one of them."""

    def __init__(self, die_at: int | None) -> None:
        self.count = 0
        self._die_at = die_at
        sys.addaudithook(self._heard)
        connect = PostgresStore.connect

        async def connect_and_listen(store: PostgresStore) -> Any:
            connection = await connect(store)
            connection.add_query_logger(self.reached)
            return connection

        vars_of: Any = PostgresStore
        vars_of.connect = connect_and_listen

    def _heard(self, event: str, _: Any) -> None:
        if event in POINTS:
            self.reached()

    def reached(self, *_: Any) -> None:
        self.count += 1
        if self.count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def write_backup(report: Report, *, url: str, data: str, path: str, die_at: int | None = None) -> None:
    settings = load_settings({}, data=Path(data), database_url=url)
    points = Points(die_at)
    asyncio.run(backup.write(settings, open_store(settings), Path(path), overwrite=True, progress=points.reached))
    report({"points": points.count})


def read_backup(report: Report, *, url: str, data: str, path: str, die_at: int | None = None) -> None:
    settings = load_settings({}, data=Path(data), database_url=url)
    points = Points(die_at)
    asyncio.run(_restore(settings, path, points))
    report({"points": points.count})


async def _restore(settings: Settings, path: str, points: Points) -> None:
    async with blobs_of(settings) as blobs:
        await restore.read(settings, open_store(settings), Path(path), blobs=blobs, force=True, progress=points.reached)


def erase(report: Report, *, url: str, data: str, kind: str, id: str, die_after: int | None = None) -> None:
    """Begin an erasure, or find one begun; in either case end when none is left."""
    run_on_fast_loop(_erase(report, url, data, kind, id, die_after))


async def _erase(report: Report, url: str, data: str, kind: str, id: str, die_after: int | None) -> None:
    async with mortal_office(settings_for(url, data), die_after=die_after) as (opened, commits):
        began = commits.count
        if id:
            async with owner_of(opened) as bp:
                await bp.erase(kind, id)  # type: ignore[arg-type]
        while await opened.store.read(select_begun):
            await commits.next()
        report({"began": began, "commits": commits.count})
