"""Write a backup: a file that holds the whole office, taken while it works.

Reads the database itself, beside the server and not through it: a server that hangs can still be backed up. A SQLite
office is copied as a SQLite file, or as lines of JSON if the name ends with .jsonl or .jsonl.gz; PostgreSQL always as
lines. Lines can be restored into either. The file gets its name when it is whole and on the disk, never before.
"""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bullpen.clock import Clock
from bullpen.errors import CannotStart
from bullpen.settings import Settings
from bullpen.storage import Store, copies
from bullpen.storage.copies import Progress

LINES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    format: Literal["sqlite", "jsonl"]
    schema: int
    rows: int
    size: int
    created_at: str
    holds_key: bool = False  # there are no secrets yet, so no key that could open them

    def wire(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "format": self.format,
            "schema": self.schema,
            "rows": self.rows,
            "bytes": self.size,
            "createdAt": self.created_at,
            "holdsKey": self.holds_key,
        }


async def write(
    settings: Settings, store: Store, path: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> Backup:
    """`store` is the one that the settings name; it need not be open."""
    path = _checked(settings, path, overwrite)
    try:
        with copies.written_whole(path) as partial:
            header = await _write(settings, store, path, partial, progress)
            size = _size(partial)
    except OSError as error:
        raise CannotStart(f"Cannot write {path}: {error.strerror or error}.") from error
    return Backup(
        path=path,
        format="jsonl" if path.name.endswith(LINES) else "sqlite",
        schema=header.schema,
        rows=sum(header.counts.values()),
        size=size,
        created_at=header.created_at,
    )


def _checked(settings: Settings, path: Path, overwrite: bool) -> Path:
    if path.exists() and not overwrite:
        raise CannotStart(f"{path} is there already. Choose another name, or say --force to replace it.")
    if not settings.on_postgres and path.absolute() == settings.sqlite_path.absolute():
        raise CannotStart(f"{path} is the database itself. Choose another name.")
    return path.absolute()


def _size(path: Path) -> int:
    return path.stat().st_size


async def _write(
    settings: Settings, store: Store, path: Path, partial: Path, progress: Progress | None
) -> copies.Header:
    now = Clock().now()
    lines = path.name.endswith(LINES)
    if settings.on_postgres:
        if not lines:
            raise CannotStart("PostgreSQL is backed up as lines: choose a name that ends with .jsonl.gz or .jsonl.")
        return await _lines_of_postgres(store, partial, path.name.endswith(".gz"), now, progress)
    packed = path.name.endswith(".gz") if lines else None
    return await asyncio.to_thread(copy_of_sqlite, settings.sqlite_path, partial, packed, now, progress)


def copy_of_sqlite(
    database: Path, partial: Path, packed: bool | None, now: str, progress: Progress | None = None
) -> copies.Header:
    """`packed`: are the lines? None: no lines, but a SQLite file."""
    if not database.is_file():
        raise CannotStart(f"There is no office to back up at {database}. Say where it is with --data.")
    try:
        with copies.looking_at(database) as source:
            if packed is not None:
                return copies.dump_sqlite(source, copies.LineWriter(partial, packed=packed), now, progress)
            copies.copy_sqlite(source, partial, progress)
            (schema,) = source.execute("SELECT max(number) FROM schema_migrations").fetchone()
            return copies.Header(schema, "sqlite", now, copies.sqlite_shape(source).counts)
    except sqlite3.Error as error:
        raise CannotStart(f"Cannot read the database {database}: {error}.") from error


async def _lines_of_postgres(
    store: Any, partial: Path, packed: bool, now: str, progress: Progress | None
) -> copies.Header:
    try:
        connection = await store.connect()
        try:
            return await copies.dump_postgres(connection, copies.LineWriter(partial, packed=packed), now, progress)
        finally:
            await connection.close()
    except store.driver_errors as error:
        raise CannotStart(f"Cannot read the database: {error}.") from error
