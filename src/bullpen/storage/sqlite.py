"""SQLite: one file, one process, one writer.

Writing. Bodies take turns on one connection, each under its own savepoint, inside one outer BEGIN. Leaving a body
hands the turn on; when nobody waits, or the batch is full, COMMIT makes all of them durable at once, and only then
does any of them return. A body that raises rolls back its own savepoint alone. If SQLite itself ended the outer
transaction (disk full, I/O error), the whole batch fails.

A lone body commits inline: one fsync on the loop costs less than half of the hop to a thread and back (measured in
bench/). A batch commits in a thread, so that the loop goes on while the disk works.

Reading. Connections of their own, on the loop: a point read takes some six microseconds, less than any hand-over. The
writer's connection would show uncommitted rows.

Bodies on this store never suspend: that is what makes turns microseconds long. `watch_turns` (tests) fails a body
that does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import orjson

from bullpen.clock import Clock
from bullpen.errors import Broken, BullpenError, CannotStart, DiskFull, Unavailable
from bullpen.storage.lock import FolderLock
from bullpen.storage.statements import SQLITE, Statement
from bullpen.storage.store import Body, RetryTransaction, Row, Store, Transaction
from bullpen.storage.turns import Turns, at_once

logger = logging.getLogger("bullpen.storage")

T = TypeVar("T")

BATCH = 64
# Somebody else may hold the file for a moment (a backup, the sqlite3 shell). Waiting here would stop the loop.
BUSY_SECONDS = 0.02

# Somebody who reads for long keeps the log from being emptied; it is emptied another time then.
SHRED_ATTEMPTS = 50

FAILED = "The disk failed to keep a change (fsync), so nothing more is written. Restart the server."


class SqliteTransaction(Transaction):
    def __init__(self, store: Store, connection: sqlite3.Connection) -> None:
        super().__init__(store)
        self._execute = connection.execute
        self._executemany = connection.executemany
        self.failed: sqlite3.Error | None = None

    def _cursor(self, statement: Statement, params: Mapping[str, Any]) -> sqlite3.Cursor:
        compiled = statement.on(SQLITE)
        values = compiled.values(params)
        for place in compiled.lists:
            if values[place] is not None:
                values[place] = orjson.dumps(values[place]).decode()
        try:
            return self._execute(compiled.sql, values)
        except sqlite3.Error as error:
            self._fail(error)
            raise

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        return self._cursor(statement, params).fetchall()

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        # fetchall, so that the statement is finished: a half-read cursor would hold a read lock open.
        rows = self._cursor(statement, params).fetchall()
        return rows[0] if rows else None

    async def run(self, statement: Statement, **params: Any) -> int:
        return self._cursor(statement, params).rowcount

    async def many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        compiled = statement.on(SQLITE)
        try:
            self._executemany(compiled.sql, [compiled.values(row) for row in rows])
        except sqlite3.Error as error:
            self._fail(error)
            raise

    def _fail(self, error: sqlite3.Error) -> None:
        # As on PostgreSQL, nothing can follow a statement that failed. If SQLite has ended the outer transaction by
        # itself, whatever a body did after catching the error would even commit at once, statement by statement.
        self.failed = error
        self.end()

    def end(self) -> None:
        """From here on the connection is somebody else's."""
        self._execute = self._executemany = _ended


def _ended(*_: Any) -> NoReturn:
    raise Broken("This transaction is over: a body must not keep its transaction for later.")


@dataclass(slots=True, eq=False)
class Batch:
    """Bodies that share one COMMIT."""

    ended: asyncio.Future[sqlite3.Error | None]  # None: durable
    bodies: int = 0
    kept: list[Transaction] = field(default_factory=list)  # those that did not raise


class SqliteStore(Store):
    shared = False
    driver_errors = (sqlite3.Error,)

    def __init__(self, path: Path, clock: Clock | None = None, *, watch_turns: bool = False) -> None:
        super().__init__(clock or Clock())
        self.path = path
        self.location = f"sqlite:///{path}"
        self._watch_turns = watch_turns
        self._lock = FolderLock(path.parent)
        self._turns = Turns()
        self._batch: Batch | None = None
        self._is_open = False
        self._refusal: str | None = "The database is not open."
        self._failed = False

    # ── opening and closing ─────────────────────────────────────────────────────────────────────────────

    async def open(self) -> None:
        self._lock.take()
        try:
            make_private(self.path)
            self._writer = self._connect_writer()
            self._readers = [self._connect_reader()]
        except (sqlite3.Error, OSError) as error:
            self._lock.release()
            raise _cannot_open(self.path, error) from error
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="bullpen-commit")
        self._is_open, self._failed, self._refusal = True, False, None

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, cached_statements=512, timeout=BUSY_SECONDS
        )

    def _connect_writer(self) -> sqlite3.Connection:
        writer = self._connect()
        try:
            if writer.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
                raise sqlite3.OperationalError("this file system cannot hold a write-ahead log")
            writer.execute("PRAGMA synchronous=FULL")
            # What is deleted is overwritten: a message taken back must not stand in the file for years.
            writer.execute("PRAGMA secure_delete=ON")
            # A savepoint keeps what it may have to undo aside; above 64 KB that would go to a file of its own.
            writer.execute("PRAGMA temp_store=MEMORY")
        except sqlite3.Error:
            writer.close()
            raise
        return writer

    def _connect_reader(self) -> sqlite3.Connection:
        reader = self._connect()
        reader.execute("PRAGMA query_only=ON")
        return reader

    async def close(self) -> None:
        """Let everybody who waits already finish, then close. Closing twice is harmless."""
        if not self._is_open:
            return
        self._refusal = "The database is closed."
        await self._turns.take(self._go_on)
        if self._batch is not None:
            self._end(self._batch, self._try("COMMIT"))
        self._is_open = False
        self._thread.shutdown()
        for reader in self._readers:
            reader.close()
        self._writer.close()
        self._lock.release()
        self._go_on()

    async def shred(self) -> None:
        """Pages are overwritten when rows are deleted; the log, which holds them as they were, is emptied here."""
        await asyncio.get_running_loop().run_in_executor(None, self._empty_log)

    def _empty_log(self) -> None:
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None, timeout=BUSY_SECONDS)) as connection:
            for _ in range(SHRED_ATTEMPTS):
                # The first writes the pages while others go on; the second, which holds them up, has little left to do.
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    return
                time.sleep(BUSY_SECONDS)

    async def size(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    async def version(self) -> tuple[int, ...]:
        return sqlite3.sqlite_version_info

    async def faults(self) -> list[str]:
        with contextlib.closing(self._connect_reader()) as reader:
            try:
                found = [str(row[0]) for row in reader.execute("PRAGMA quick_check(20)")]
            except sqlite3.DatabaseError as error:
                return [str(error)]
        return [] if found == ["ok"] else found

    @property
    def broken(self) -> bool:
        return self._failed

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────

    async def read(self, body: Body[T]) -> T:
        if not self._is_open:
            raise Unavailable("The database is not open.")
        # Bodies do not suspend, so one reader would do; a second is for the one that does, against the rule.
        reader = self._readers.pop() if self._readers else self._connect_reader()
        tx = SqliteTransaction(self, reader)
        try:
            reader.execute("BEGIN")
            return await (at_once(body(tx)) if self._watch_turns else body(tx))
        except sqlite3.Error as error:
            raise _explained(error, reading=True) from error
        finally:
            tx.end()
            self._put_back(reader)

    def _put_back(self, reader: sqlite3.Connection) -> None:
        if reader.in_transaction:
            reader.execute("ROLLBACK")
        if self._is_open:
            self._readers.append(reader)
        else:
            reader.close()

    # ── writing ─────────────────────────────────────────────────────────────────────────────────────────

    async def transact_once(self, body: Body[T]) -> T:
        if self._refusal is not None:
            raise Unavailable(self._refusal)
        await self._turns.take(self._go_on)
        tx = SqliteTransaction(self, self._writer)
        try:
            batch = self._begin()
            work = self._work(body, tx)
            result = await (at_once(work) if self._watch_turns else work)
            self._writer.execute("RELEASE body")
        except BaseException as error:
            tx.end()
            self._undo(tx)
            if isinstance(error, sqlite3.Error):
                raise _explained(error) from error
            raise
        tx.end()
        batch.kept.append(tx)
        await self._leave(batch)
        return result

    @staticmethod
    async def _work(body: Body[T], tx: SqliteTransaction) -> T:
        result = await body(tx)
        await tx.settle()
        if tx.failed is not None:  # and the body went on as if nothing had happened
            raise tx.failed
        return result

    def _begin(self) -> Batch:
        if self._failed:
            raise Unavailable(FAILED)
        if self._batch is None:
            self._writer.execute("BEGIN IMMEDIATE")
            self._batch = Batch(asyncio.get_running_loop().create_future())
        self._batch.bodies += 1
        self._writer.execute("SAVEPOINT body")
        return self._batch

    def _undo(self, tx: SqliteTransaction) -> None:
        """The body raised: undo what it did, alone. Others of its batch still become durable, if SQLite lets them."""
        if self._batch is not None:
            fault = self._try("ROLLBACK TO body") or self._try("RELEASE body")
            if fault is not None:
                self._end(self._batch, tx.failed or fault)
        self._go_on()

    async def _leave(self, batch: Batch) -> None:
        """The body is done: hand the turn on, and wait until the batch is durable."""
        try:
            if not self._turns.awaited:
                await asyncio.sleep(0)  # one turn of the loop: whoever is ready now may join this batch
        finally:  # also when we are cancelled here: the batch is not ours alone
            self._go_on()
        error = await asyncio.shield(batch.ended)
        if error is not None:
            raise _explained(error) from error

    def _go_on(self) -> None:
        """The turn is ours to give: to the next body, to the commit, or back."""
        while True:
            batch = self._batch
            if (batch is None or batch.bodies < BATCH) and self._turns.pass_on():
                return
            if batch is None:
                self._turns.taken = False
                return
            if len(batch.kept) > 1:
                # A future and a callback, not a task: nobody can cancel it, not even the loop's own shutdown.
                commit = asyncio.get_running_loop().run_in_executor(self._thread, self._try, "COMMIT")
                commit.add_done_callback(partial(self._committed, batch))
                return
            self._end(batch, self._try("COMMIT" if batch.kept else "ROLLBACK"))

    def _committed(self, batch: Batch, commit: asyncio.Future[sqlite3.Error | None]) -> None:
        self._end(batch, commit.result())
        self._go_on()

    def _try(self, sql: str) -> sqlite3.Error | None:
        try:
            self._writer.execute(sql)
        except sqlite3.Error as error:
            return error
        return None

    def _end(self, batch: Batch, error: sqlite3.Error | None) -> None:
        """The outer transaction is over, one way or the other. Everybody of the batch is told."""
        self._batch = None
        if error is not None:
            self._recover(error)
        elif batch.kept:
            self.count_commit()
            for tx in batch.kept:
                tx.committed()
        batch.ended.set_result(error)

    def _recover(self, error: sqlite3.Error) -> None:
        if self._writer.in_transaction:
            self._try("ROLLBACK")
        if _code(error) == sqlite3.SQLITE_IOERR_FSYNC:
            # The kernel may have dropped the pages and say "fine" the next time. Only a new start tells what is there.
            self._failed, self._refusal = True, FAILED
            logger.critical("%s", FAILED)


class SqliteReader(SqliteStore):
    """The same file, looked at beside whoever holds it: takes no lock and writes nothing."""

    async def open(self) -> None:
        try:
            self._readers = [self._connect_reader()]
        except sqlite3.Error as error:
            raise _cannot_open(self.path, error) from error
        self._is_open, self._refusal = True, "The database was opened for reading only."

    def _connect(self) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5)

    async def close(self) -> None:
        self._is_open = False
        for reader in self._readers:
            reader.close()


# ── files for us alone ──────────────────────────────────────────────────────────────────────────────────────────────


def make_private(path: Path) -> None:
    """Let nobody else read the database, wherever it is. SQLite gives new files beside it the same mode."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
        # Another user's file cannot be changed; whether it can be used, SQLite says.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


# ── what SQLite says, for people ────────────────────────────────────────────────────────────────────────────────────


def _code(error: sqlite3.Error) -> int:
    # The module's own complaints (a closed connection, a wrong type) come without a code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code


def _cannot_open(path: Path, error: sqlite3.Error | OSError) -> CannotStart:
    damaged = isinstance(error, sqlite3.Error) and _code(error) & 0xFF in (
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CORRUPT,
    )
    advice = " Restore a backup with `bullpen restore FILE`." if damaged else ""
    said = error.strerror if isinstance(error, OSError) else error
    return CannotStart(f"Cannot open the database {path}: {said}.{advice}")


def _explained(error: sqlite3.Error, *, reading: bool = False) -> BullpenError:
    if _code(error) == sqlite3.SQLITE_IOERR_FSYNC:
        return Unavailable("The disk failed while it kept the change; whether it did shows after a restart.")
    code = _code(error) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull("The disk is full, so nothing was changed. Make room and try again.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return RetryTransaction("Another program holds the database file, so nothing was changed. Try again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) and not reading:
        return Unavailable("The database file may not be written just now (read-only), so nothing was changed.")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN):
        return Unavailable(f"The database file cannot be used, so nothing was changed: {error}.")
    return Broken(f"The database refused a statement: {error}.")
