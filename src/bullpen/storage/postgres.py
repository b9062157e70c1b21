"""PostgreSQL: many processes, one database.

A transaction is a connection of the pool with BEGIN and COMMIT around the body. Deadlocks, serialisation failures,
unique keys taken by somebody else meanwhile and connections lost before COMMIT run the body again. A connection lost
during COMMIT does not: nobody knows what became of the change, so the caller is told just that. The pool's
reset is a no-op: bodies leave no state behind, and the reset query would double the round trips of a small transaction.

Signals between processes (wake-ups, live frames) are NOTIFY on connections of their own: see events/signals.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bullpen.clock import Clock
from bullpen.errors import Broken, BullpenError, CannotStart, DiskFull, Unavailable
from bullpen.storage.outage import Muffler
from bullpen.storage.statements import POSTGRES, Statement
from bullpen.storage.store import Body, RetryTransaction, Row, Store, Transaction

try:
    import asyncpg
except ImportError as missing:  # pragma: no cover - an installation without the extra
    raise CannotStart(
        "PostgreSQL needs the extra: install `bullpen[postgres]`, or leave DATABASE_URL unset to use SQLite."
    ) from missing

T = TypeVar("T")

# Whatever asyncpg raises when a statement, or the connection under it, fails.
FAULTS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
AGAIN = (
    asyncpg.exceptions.DeadlockDetectedError,
    asyncpg.exceptions.SerializationError,
    asyncpg.exceptions.InvalidCachedStatementError,  # another server has migrated the schema under us
)
LOST = (
    asyncpg.exceptions.PostgresConnectionError,
    asyncpg.exceptions.AdminShutdownError,
    asyncpg.exceptions.CrashShutdownError,
    asyncpg.exceptions.CannotConnectNowError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    asyncpg.InternalClientError,  # the server has hung up, and the driver is just about to notice
)
SESSION = {
    "application_name": "bullpen",
    # A process that stops in the middle of a transaction (SIGSTOP, a frozen machine) must not hold its locks for ever,
    "idle_in_transaction_session_timeout": "5000",
    # nor one that was killed while the server worked for it: by itself the server looks only when it has an answer.
    "client_connection_check_interval": "1000",
    "jit": "off",
}


# Loggers of libraries that work with connections of ours.
LIBRARIES = ("asyncpg.pool", "pgqueuer")
CONNECT_SECONDS = 5.0
CLOSE_SECONDS = 3.0
ROLLBACK_SECONDS = 5.0


async def _no_reset(connection: Any) -> None:
    return None


class PostgresTransaction(Transaction):
    def __init__(self, store: Store, connection: Any) -> None:
        super().__init__(store)
        self.connection = connection

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        compiled = statement.on(POSTGRES)
        rows: Sequence[Row] = await self.connection.fetch(compiled.sql, *compiled.values(params))
        return rows

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        compiled = statement.on(POSTGRES)
        row: Row | None = await self.connection.fetchrow(compiled.sql, *compiled.values(params))
        return row

    async def run(self, statement: Statement, **params: Any) -> int:
        compiled = statement.on(POSTGRES)
        status = await self.connection.execute(compiled.sql, *compiled.values(params))
        return int(status.rpartition(" ")[2])

    async def many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        compiled = statement.on(POSTGRES)
        values = [compiled.values(row) for row in rows]
        if len(values) == 1:
            await self.connection.execute(compiled.sql, *values[0])
        elif values:
            await self.connection.executemany(compiled.sql, values)


class PostgresStore(Store):
    shared = True
    connection_errors = (Unavailable, *FAULTS)
    driver_errors = FAULTS

    def __init__(
        self, url: str, clock: Clock | None = None, *, pool_size: int = 10, answer_seconds: float = 15.0
    ) -> None:
        super().__init__(clock or Clock())
        self.location = _without_password(url)
        self._url = url
        self._pool_size = pool_size
        # How long a statement may take. A network that swallows everything says nothing, ever: only time tells.
        self._answer_seconds = answer_seconds
        self._endings: set[asyncio.Task[None]] = set()
        self._muffler = Muffler(self.outage, FAULTS)

    async def open(self) -> None:
        try:
            self.pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=self._pool_size,
                reset=_no_reset,
                timeout=CONNECT_SECONDS,
                command_timeout=self._answer_seconds,
                statement_cache_size=512,
                server_settings=SESSION,
            )
        except (*FAULTS, ValueError) as error:
            raise CannotStart(
                f"Cannot reach PostgreSQL: {error}. Check DATABASE_URL, and that the server is running."
            ) from error
        async with self.pool.acquire() as connection:
            encoding = connection.get_settings().server_encoding
        if encoding != "UTF8":
            await self.pool.close()
            raise CannotStart(f"The database keeps text as {encoding}. Create it with ENCODING 'UTF8'.")
        for library in LIBRARIES:
            logging.getLogger(library).addFilter(self._muffler)

    async def close(self) -> None:
        """Let commits under way end, unless the database no longer answers."""
        for library in LIBRARIES:
            logging.getLogger(library).removeFilter(self._muffler)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._endings:
                    await asyncio.wait(self._endings)
                await self.pool.close()
        except TimeoutError:
            self.pool.terminate()

    async def new_pool(self, size: int) -> Any:
        """Connections for work that must not wait behind ours. The queue leaves nothing behind on them either."""
        return await asyncpg.create_pool(
            self._url,
            min_size=1,
            max_size=size,
            reset=_no_reset,
            timeout=CONNECT_SECONDS,
            command_timeout=self._answer_seconds,
            server_settings={"application_name": "bullpen"},
        )

    async def connect(self) -> Any:
        """A connection of its own, outside the pool: for LISTEN, and for migrations."""
        return await asyncpg.connect(self._url, timeout=CONNECT_SECONDS, server_settings=SESSION)

    async def size(self) -> int:
        connection = await self._acquire()
        try:
            return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
        except FAULTS as error:
            raise _explained(error, connection) from error
        finally:
            await self.pool.release(connection)

    async def version(self) -> tuple[int, ...]:
        async with self.pool.acquire() as connection:
            found = connection.get_server_version()
            return found.major, found.minor

    async def faults(self) -> list[str]:
        """Indexes that PostgreSQL itself has marked as unusable. amcheck would say more, but is rarely installed."""
        connection = await self._acquire()
        try:
            found = await connection.fetch("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
            return [f"the index {name} is not valid" for (name,) in found]
        except FAULTS as error:
            raise _explained(error, connection) from error
        finally:
            await self.pool.release(connection)

    def on(self, connection: Any) -> Transaction:
        """A transaction that somebody has begun on a connection of their own. They settle it, and commit."""
        return PostgresTransaction(self, connection)

    # ── reading and writing ─────────────────────────────────────────────────────────────────────────────

    async def read(self, body: Body[T]) -> T:
        return await self.patiently(self._read_once, body)

    async def _read_once(self, body: Body[T]) -> T:
        connection = await self._acquire()
        try:
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return await body(PostgresTransaction(self, connection))
        except FAULTS as error:
            raise _explained(error, connection) from error
        finally:
            await self._finish(self._roll_back(connection))

    async def transact_once(self, body: Body[T]) -> T:
        connection = await self._acquire()
        tx = PostgresTransaction(self, connection)
        try:
            await connection.execute("BEGIN")
            result = await body(tx)
            await tx.settle()
        except FAULTS as error:
            # Before the connection goes back to the pool: a connection that was given back looks like one that is gone.
            explained = _explained(error, connection)
            await self._finish(self._roll_back(connection))
            raise explained from error
        except BaseException:
            await self._finish(self._roll_back(connection))
            raise
        await self._finish(self._commit(connection, tx))
        return result

    async def _acquire(self) -> Any:
        try:
            return await self.pool.acquire(timeout=self._answer_seconds)
        except FAULTS as error:
            if self.pool.is_closing():
                raise Unavailable("The database is closed.") from error
            raise _lost(error) from error

    async def _finish(self, ending: Coroutine[Any, Any, None]) -> None:
        """Wait for COMMIT or ROLLBACK, and for the connection to go home. Both happen even if we are cancelled."""
        task = asyncio.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        await asyncio.shield(task)

    async def _commit(self, connection: Any, tx: Transaction) -> None:
        try:
            status = await connection.execute("COMMIT")
        except FAULTS as error:
            if isinstance(error, asyncpg.PostgresError) and not isinstance(error, LOST):
                raise _explained(error, connection) from error  # it said no, so we know
            _hang_up(connection)
            raise Unavailable(
                "The connection to PostgreSQL was lost during a commit, so nobody knows whether the change was kept. "
                "Look before you try again."
            ) from error
        finally:
            await self.pool.release(connection)
        if status != "COMMIT":
            raise Broken("A transaction body went on after a statement had failed, so nothing was changed.")
        self.count_commit()
        tx.committed()

    async def _roll_back(self, connection: Any) -> None:
        try:
            # The bound is ours: the driver's own begins only when the server has heard of what it was asked to cancel.
            async with asyncio.timeout(ROLLBACK_SECONDS):
                if not _gone(connection):
                    await connection.execute("ROLLBACK")
        except FAULTS:
            _hang_up(connection)
        finally:
            await self.pool.release(connection)


# ── what PostgreSQL says, for people ────────────────────────────────────────────────────────────────────────────────


def _gone(connection: Any) -> bool:
    try:
        closed: bool = connection.is_closed()
    except asyncpg.InterfaceError:  # the pool has taken it back already, as it does when one is lost
        return True
    return closed


def _hang_up(connection: Any) -> None:
    if not _gone(connection):
        connection.terminate()


def _lost(error: Exception) -> RetryTransaction:
    why = str(error) or "it did not answer in time"
    return RetryTransaction(f"Cannot reach PostgreSQL, so nothing was changed: {why}.", lost=True)


def _explained(error: Exception, connection: Any) -> BullpenError:
    """What a failed statement before COMMIT means: nothing was changed, that much is certain."""
    if isinstance(error, LOST) or _gone(connection):
        return _lost(error)
    if isinstance(error, AGAIN):
        return RetryTransaction(f"PostgreSQL could not fit the change in, so nothing was changed: {error}.")
    if isinstance(error, asyncpg.exceptions.UniqueViolationError):
        # Somebody else took the key after we looked. The next attempt sees theirs; if not, the body never looks.
        broken = Broken(f"The database refused a statement: {error}.")
        return RetryTransaction(str(error), instead=broken, attempts=4)
    if isinstance(error, asyncpg.exceptions.DiskFullError):
        return DiskFull("The disk of the database is full, so nothing was changed. Make room and try again.")
    if isinstance(error, TimeoutError):
        return Unavailable("PostgreSQL took too long to answer, so nothing was changed.")
    return Broken(f"The database refused a statement: {error}.")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "password"]
    return urlunsplit(parts._replace(netloc=user.partition(":")[0] + at + host, query=urlencode(query, safe="/")))
