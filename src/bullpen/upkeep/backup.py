"""Write a backup: a file that holds the whole office, taken while it works.

Reads the database itself, beside the server and not through it: a server that hangs can still be backed up. A SQLite
office is copied as a SQLite file, or as lines of JSON if the name ends with .jsonl or .jsonl.gz; PostgreSQL always as
lines. Lines can be restored into either. A name that ends with .tar holds the bytes of files, too (archive.py). The
file gets its name when it is whole and on the disk, never before.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bullpen.clock import Clock
from bullpen.errors import CannotStart
from bullpen.files.types import Blobs
from bullpen.settings import Settings
from bullpen.storage import Store, copies
from bullpen.storage.copies import Progress
from bullpen.upkeep import archive

LINES = (".jsonl", ".jsonl.gz")
ARCHIVE = ".tar"
Format = Literal["sqlite", "jsonl", "tar"]


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    format: Format
    schema: int
    rows: int
    size: int
    created_at: str
    holds: Mapping[str, bool]  # what is not in a database: `files`, their bytes; `key`, what secrets are sealed with
    files: int = 0  # how many the office has
    missing: int = 0  # of which there were no bytes to be kept

    def wire(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "format": self.format,
            "schema": self.schema,
            "rows": self.rows,
            "bytes": self.size,
            "createdAt": self.created_at,
            "holdsKey": self.holds["key"],
            "holdsFiles": self.holds["files"],
            "files": self.files,
            "missingFiles": self.missing,
        }


async def write(
    settings: Settings,
    store: Store,
    path: Path,
    *,
    blobs: Blobs | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Backup:
    """`store` is the one that the settings name; it need not be open. `blobs` is needed for a .tar."""
    path = _checked(settings, path, overwrite)
    missing = 0
    try:
        with copies.written_whole(path) as partial:
            if path.name.endswith(ARCHIVE):
                assert blobs is not None, "a .tar holds the files, so somebody must have them"
                header, missing = await _archive(settings, store, partial, blobs, progress)
            else:
                header = await _write(settings, store, path, partial, progress)
            size = _size(partial)
    except OSError as error:
        raise CannotStart(f"Cannot write {path}: {error.strerror or error}.") from error
    return Backup(
        path=path,
        format=_format(path),
        schema=header.schema,
        rows=sum(header.counts.values()),
        size=size,
        created_at=header.created_at,
        holds={"files": path.name.endswith(ARCHIVE), "key": False},
        files=header.counts.get("files", 0),
        missing=missing,
    )


def _format(path: Path) -> Format:
    if path.name.endswith(ARCHIVE):
        return "tar"
    return "jsonl" if path.name.endswith(LINES) else "sqlite"


async def _archive(
    settings: Settings, store: Store, partial: Path, blobs: Blobs, progress: Progress | None
) -> tuple[copies.Header, int]:
    """The lines first, as one view of the database; then the bytes of the files that this view knows."""
    lines = partial.with_name(f"{partial.name}.jsonl.gz")  # ours while the partial is, so nobody else writes it
    os.close(os.open(lines, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    try:
        header = await _write(settings, store, lines, lines, None)
        return header, await archive.write(partial, lines, header, blobs, progress)
    finally:
        lines.unlink(missing_ok=True)


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
            raise CannotStart(
                "PostgreSQL is backed up as lines: choose a name that ends with .jsonl.gz, .jsonl or .tar."
            )
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
