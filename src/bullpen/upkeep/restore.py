"""Restore a backup: the office is what the file says, or what it was; never something between.

On SQLite the new file is built in a folder beside the old one, checked, migrated, and then takes its place by one
rename. On PostgreSQL everything is one transaction. What was there is kept as a backup first. A server that works on
the database is never restored under its feet: the folder's lock, or its connections, tell of it. A backup that holds
the bytes of files has them put back first, so that no row is ever there without its bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from bullpen.access import rows as access_rows
from bullpen.access import rules as access
from bullpen.audit import actions as audit
from bullpen.audit.types import Break
from bullpen.clock import Clock
from bullpen.engine import leases
from bullpen.errors import CannotStart
from bullpen.events import rows as event_rows
from bullpen.files import checking
from bullpen.files.types import Blobs
from bullpen.outbox import actions as outbox
from bullpen.settings import Settings
from bullpen.storage import Store, Transaction, copies, migrations
from bullpen.storage.copies import LineReader, Progress
from bullpen.storage.lock import FolderLock
from bullpen.storage.sqlite import SqliteStore
from bullpen.upkeep import archive, backup
from bullpen.webhooks import rows as webhook_rows

CLOSING_SECONDS = 2.0

# An office in which nothing has happened yet has rows of these.
ALWAYS_THERE = frozenset({"meta", "schema_migrations"})


@dataclass(frozen=True, slots=True)
class Restored:
    path: Path
    schema: int  # of the file
    migrated: list[str]
    kept: Path | None  # what was there before
    audit: int | Break  # rows of the chain that hold, or where it breaks
    holds: Mapping[str, bool]  # what the file had beside the database: `files`, `key`
    files: int = 0  # how many the office has now
    missing: int = 0  # of which there are no bytes here

    def wire(self) -> dict[str, Any]:
        broken = {"auditBrokenAt": self.audit.number} if isinstance(self.audit, Break) else {}
        return {
            "path": str(self.path),
            "schema": self.schema,
            "migrated": self.migrated,
            "kept": None if self.kept is None else str(self.kept),
            "holdsKey": self.holds["key"],
            "holdsFiles": self.holds["files"],
            "files": self.files,
            "missingFiles": self.missing,
            **broken,
        }


async def read(
    settings: Settings,
    store: Store,
    path: Path,
    *,
    blobs: Blobs,
    force: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """`store` is the one that the settings name, not open. `blobs` is where the bytes of files belong."""
    try:
        if archive.is_archive(path):
            return await _from_archive(settings, store, path, blobs, force, progress)
        return await _read(settings, store, Source(path, path, blobs), force, progress)
    except sqlite3.Error as error:
        raise CannotStart(f"Cannot restore {path}, so nothing was changed: {error}.") from error
    except OSError as error:
        raise CannotStart(f"Cannot restore {path}: {error.strerror or error}.") from error


@dataclass(frozen=True, slots=True)
class Source:
    """What is restored: the file that was named, its database, and how the bytes of its files come back, if any do."""

    path: Path
    database: Path
    blobs: Blobs
    put_back: Callable[[], Awaitable[object]] | None = None

    @property
    def holds(self) -> dict[str, bool]:
        return {"files": self.put_back is not None, "key": False}


async def _from_archive(
    settings: Settings, store: Store, path: Path, blobs: Blobs, force: bool, progress: Progress | None
) -> Restored:
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _workshop(settings.data / "unpacking", archive.LINES) as place, archive.opened(path, place) as (tar, lines):
        source = Source(path, lines, blobs, partial(archive.put_back, path, tar, lines, blobs))
        return await _read(settings, store, source, force, progress)


async def _read(settings: Settings, store: Store, source: Source, force: bool, progress: Progress | None) -> Restored:
    if settings.on_postgres:
        return await _into_postgres(settings, store, source, force, progress)
    return await _into_sqlite(settings, source, force, progress)


def _refuse_newer(path: Path, schema: int) -> None:
    newest = migrations.known()[-1].number
    if schema > newest:
        raise CannotStart(
            f"{path} has schema {schema}, but this Bullpen knows only up to {newest}. Install a newer one."
        )


def _refuse_to_overwrite(where: str) -> CannotStart:
    return CannotStart(
        f"{where} holds an office already. Choose another --data folder or database, or say --force: "
        "what is there is then kept in its backups folder."
    )


def _renewed(path: Path) -> Any:
    async def body(tx: Transaction) -> None:
        incarnation = await begin_new_life(tx)
        audit.note(tx, access.SYSTEM, "office.restored", "office", incarnation, file=path.name)

    return body


async def begin_new_life(tx: Transaction) -> str:
    """Nobody drives a thread yet, nobody is signed in, and a cursor from before names nothing here. What webhooks were
    about to be told is long past, and what was about to be sent to chats may have been sent."""
    await leases.release_every(tx)
    await access_rows.end_all_sessions(tx)
    await webhook_rows.drop_queued(tx, None, "The office was restored from a backup.")
    await outbox.bury_unsent(tx)
    return await event_rows.renew_incarnation(tx)


def _stamp() -> str:
    return Clock().now().translate({ord(sign): None for sign in ":-.Z"})


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _into_sqlite(settings: Settings, source: Source, force: bool, progress: Progress | None) -> Restored:
    place = settings.sqlite_path.absolute()
    lock = FolderLock(place.parent)
    lock.take()
    try:
        if not force and _in_use(place):
            raise _refuse_to_overwrite(str(place))
        with _workshop(place.with_name("restoring"), place.name) as new:
            schema = _build(source.database, new, progress)
            built = SqliteStore(new)
            await built.open()
            try:
                applied = await migrations.migrate(built, None)
                await built.transact(_renewed(source.path))
                chain = await audit.verify(built)
                if source.put_back is not None:
                    await source.put_back()  # before the rows that tell of them are there
                lost, files = await checking.missing(built, source.blobs)
            finally:
                await built.close()
            kept = _take_its_place(new, place, settings.backups)
    finally:
        lock.release()
    names = [str(migration) for migration in applied]
    return Restored(source.path, schema, names, kept, chain, source.holds, files, len(lost))


def _take_its_place(new: Path, place: Path, backups: Path) -> Path | None:
    kept = _put_aside(place, backups) if place.exists() else None
    _sync(new)
    new.replace(place)
    copies.sync_folder(place.parent)
    return kept


def _in_use(place: Path) -> bool:
    if not place.exists() or not place.stat().st_size:
        return False
    try:
        with copies.looking_at(place) as connection:
            counts = copies.sqlite_shape(connection).counts
    except sqlite3.Error:
        return True  # whatever it is, it is somebody's
    return any(count for table, count in counts.items() if table not in ALWAYS_THERE)


@contextlib.contextmanager
def _workshop(folder: Path, name: str) -> Iterator[Path]:
    """A folder on the same disk, so that the last step is a rename. What a killed restore left there is worthless."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder / name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build(path: Path, new: Path, progress: Progress | None) -> int:
    """The database that the file describes, at the file's own schema; which that is."""
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if copies.is_sqlite(path):
        return _copy(path, new)
    with contextlib.closing(LineReader(path)) as lines:
        _refuse_newer(path, lines.header.schema)
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous=OFF")  # synced as a whole, before it gets its name
            for migration in migrations.known():
                if migration.number <= lines.header.schema:
                    migrations.apply_sqlite(connection, migration, lines.header.created_at)
            connection.execute("BEGIN")
            copies.load_sqlite(connection, lines, progress)
            connection.execute("COMMIT")
        return lines.header.schema


def _copy(path: Path, new: Path) -> int:
    if path.with_name(path.name + "-wal").exists():
        with copies.looking_at(path) as source:  # taken with its log: part of it stands there
            copies.copy_sqlite(source, new)
    else:
        shutil.copyfile(path, new)
    if faults := copies.sqlite_faults(new):
        raise CannotStart(f"{path} is no whole backup: {faults[0]}. Use another one.")
    with contextlib.closing(sqlite3.connect(new)) as connection:
        try:
            (schema,) = connection.execute("SELECT max(number) FROM schema_migrations").fetchone()
        except sqlite3.OperationalError:
            raise CannotStart(f"{path} is a SQLite file, but no backup of Bullpen.") from None
    _refuse_newer(path, schema)
    return int(schema)


def _put_aside(place: Path, backups: Path) -> Path:
    """Keep what is there, and leave no log beside it: the next file of that name would take it for its own."""
    backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = backups / f"before-restore-{_stamp()}.db"
    log, memory = (place.with_name(place.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        with copies.written_whole(kept) as partial, copies.looking_at(place) as source:
            copies.copy_sqlite(source, partial)
        with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error:  # it is damaged, which may be why it is replaced: kept as it is, for whoever can read it
        for file in (place, log, memory):
            if file.exists():
                with copies.written_whole(kept.with_name(kept.name + file.name.removeprefix(place.name))) as partial:
                    shutil.copyfile(file, partial)
        log.unlink(missing_ok=True)
        memory.unlink(missing_ok=True)
    return kept


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _into_postgres(
    settings: Settings, store: Any, source: Source, force: bool, progress: Progress | None
) -> Restored:
    path = source.path
    if copies.is_sqlite(path):
        raise CannotStart(
            f"{path} is a SQLite file. PostgreSQL reads lines: `bullpen backup office.jsonl.gz` writes them."
        )
    try:
        connection = await store.connect()
        try:
            applied, schema, kept = await _replace(connection, settings, store, source, force, progress)
        finally:
            await connection.close()  # lets go of the advisory lock too
    except store.driver_errors as error:
        raise CannotStart(f"Cannot restore {path}, so nothing was changed: {error}.") from error
    await store.open()
    try:
        chain = await audit.verify(store)
        lost, files = await checking.missing(store, source.blobs)
    finally:
        await store.close()
    return Restored(path, schema, applied, kept, chain, source.holds, files, len(lost))


async def _replace(
    connection: Any, settings: Settings, store: Any, source: Source, force: bool, progress: Progress | None
) -> tuple[list[str], int, Path | None]:
    await _refuse_while_served(connection)
    in_use = await _holds_rows(connection)
    if in_use and not force:
        raise _refuse_to_overwrite("The database")
    with contextlib.closing(LineReader(source.database)) as lines:
        schema = lines.header.schema
        _refuse_newer(source.path, schema)
        kept = await _keep_postgres(settings, store) if in_use else None
        if source.put_back is not None:
            await source.put_back()  # before the rows that tell of them are there
        async with connection.transaction():
            await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            applied = await _fill(connection, store, lines, progress)
            await _settle(connection, store, source.path)
    return applied, schema, kept


async def _refuse_while_served(connection: Any) -> None:
    """Starting servers wait for this lock; running ones have connections open, always.

    The database needs a moment to see that a server which was just stopped has closed its own.
    """
    free = await connection.fetchval("SELECT pg_try_advisory_lock($1)", migrations.POSTGRES_LOCK)
    give_up = monotonic() + CLOSING_SECONDS
    while free and await connection.fetchval(_OTHERS):
        free = monotonic() < give_up
        await asyncio.sleep(0.05)
    if not free:
        raise CannotStart("A server or a worker uses this database. Stop all of them first, then restore.")


_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'bullpen' AND pid <> pg_backend_pid()
"""


async def _holds_rows(connection: Any) -> bool:
    counts = (await copies.postgres_shape(connection)).counts
    if counts and "schema_migrations" not in counts:
        raise CannotStart("The database belongs to another program. Give Bullpen a database of its own.")
    return any(count for table, count in counts.items() if table not in ALWAYS_THERE)


async def _keep_postgres(settings: Settings, store: Store) -> Path:
    settings.backups.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = settings.backups / f"before-restore-{_stamp()}.jsonl.gz"
    await backup.write(settings, store, kept)
    return kept


async def _fill(connection: Any, store: Any, lines: LineReader, progress: Progress | None) -> list[str]:
    """The file's own schema, its rows, and then whatever migrations came later; the names of those."""
    await copies.clear_postgres(connection)
    later = []
    for migration in migrations.known():
        if migration.number <= lines.header.schema:
            await migrations.apply_postgres(connection, migration, lines.header.created_at)
        else:
            later.append(migration)
    await copies.load_postgres(connection, lines, progress)
    for migration in later:
        await migrations.apply_postgres(connection, migration, store.clock.now())
    return [str(migration) for migration in later]


async def _settle(connection: Any, store: Any, path: Path) -> None:
    tx = store.on(connection)
    await _renewed(path)(tx)
    await tx.settle()
