"""PostgreSQL: retries, locks, cancellation, and connections that go away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import bindparam, insert, select, update

from bullpen.errors import Broken, CannotStart, Unavailable
from bullpen.storage import Stage, Statement, Transaction
from bullpen.storage.postgres import PostgresStore
from bullpen.storage.store import RetryTransaction
from bullpen.storage.tables import events, leases, spaces
from tests.databases import Database, drop, postgres_database, sql
from tests.postgres import PostgresServer, started
from tests.storage.scratch import INSERT, SELECT_ONE, Oops, keys, put

BOUND = 30

INSERT_LEASE = Statement(insert(leases))
LOCK = Statement(select(leases.c.token).where(leases.c.thread_id == bindparam("id")).with_for_update())


@pytest.fixture
def database(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Database]:
    made = postgres_database(postgres_server, tmp_path / "data")
    yield made
    drop(postgres_server, made)


@pytest.fixture
async def store(database: Database) -> AsyncIterator[PostgresStore]:
    made = PostgresStore(database.url, pool_size=20)
    await made.open()
    yield made
    await asyncio.wait_for(made.close(), BOUND)


@pytest.fixture
async def other(database: Database) -> AsyncIterator[Any]:
    """A plain connection: somebody else at the same database."""
    connection = await asyncpg.connect(database.url)
    yield connection
    await connection.close()


async def until(question: Callable[[], Awaitable[Any]]) -> Any:
    """Ask the server until it says yes: only it knows who waits for what."""
    async with asyncio.timeout(BOUND):
        while not (answer := await question()):
            await asyncio.sleep(0.005)
    return answer


async def backend_of(tx: Transaction) -> int:
    return int(await tx.connection.fetchval("SELECT pg_backend_pid()"))  # type: ignore[attr-defined]


async def add_leases(store: PostgresStore, *names: str) -> None:
    async def body(tx: Transaction) -> None:
        for name in names:
            await tx.run(INSERT_LEASE, thread_id=name, owner=None, epoch=0, token=0, until=0, since=0)

    await store.transact(body)


# ── bodies that run again ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_deadlock_runs_the_body_again(store: PostgresStore) -> None:
    await add_leases(store, "a", "b")
    both_hold_one = asyncio.Barrier(2)
    attempts: list[str] = []

    def locking(first: str, second: str) -> Callable[[Transaction], Awaitable[None]]:
        async def body(tx: Transaction) -> None:
            attempts.append(first)
            await tx.one(LOCK, id=first)
            if attempts.count(first) == 1:
                await both_hold_one.wait()
            await tx.one(LOCK, id=second)
            await tx.run(INSERT, key=first, value="")

        return body

    await asyncio.wait_for(asyncio.gather(store.transact(locking("a", "b")), store.transact(locking("b", "a"))), BOUND)
    assert sorted(attempts) in (["a", "a", "b"], ["a", "b", "b"])
    assert await keys(store) == ["a", "b"]


async def test_a_key_conflict_reruns_the_body_which_sees_the_row(store: PostgresStore) -> None:
    nobody_has_it = asyncio.Barrier(2)
    attempts: list[int] = []

    def get_or_make(value: str) -> Callable[[Transaction], Awaitable[str]]:
        async def body(tx: Transaction) -> str:
            attempts.append(1)
            if (row := await tx.one(SELECT_ONE, key="k")) is not None:
                return str(row[0])
            if len(attempts) <= 2:
                await nobody_has_it.wait()
            await tx.run(INSERT, key="k", value=value)
            return value

        return body

    first, second = await asyncio.gather(store.transact(get_or_make("one")), store.transact(get_or_make("two")))
    assert first == second
    assert len(attempts) == 3


async def test_a_retry_forgets_the_failed_attempts_deferred_work_and_callbacks(store: PostgresStore) -> None:
    done: list[str] = []
    attempts: list[int] = []
    told = asyncio.Event()

    async def body(tx: Transaction) -> None:
        attempts.append(1)
        number = len(attempts)

        async def work(_: Transaction) -> None:
            done.append(f"deferred {number}")
            if number == 1:
                raise RetryTransaction("once more")

        tx.defer(Stage.SPACES, "s", work)
        tx.after_commit(lambda: done.append(f"told {number}"))
        tx.after_commit(told.set)

    await store.transact(body)
    await asyncio.wait_for(told.wait(), BOUND)
    assert done == ["deferred 1", "deferred 2", "told 2"]


async def test_a_database_that_keeps_refusing_is_reported_to_the_caller(store: PostgresStore) -> None:
    attempts: list[int] = []

    async def body(tx: Transaction) -> None:
        attempts.append(1)
        await tx.connection.execute(  # type: ignore[attr-defined]
            "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'serialization_failure'; END $$"
        )

    with pytest.raises(RetryTransaction, match="nothing was changed"):
        await store.transact(body)
    assert len(attempts) == 12


async def test_a_schema_changed_by_another_server_runs_the_body_again(store: PostgresStore, other: Any) -> None:
    everything = Statement(select(spaces))

    async def look(tx: Transaction) -> int:
        return len(await tx.all(everything))

    assert await store.transact(look) == 0
    await other.execute("ALTER TABLE spaces ALTER COLUMN main TYPE text USING main::text")
    assert await store.transact(look) == 0
    assert await store.read(look) == 0


# ── the lock order ──────────────────────────────────────────────────────────────────────────────────────────────────

BUMP = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"))
    .values(last_seq=spaces.c.last_seq + 1)
    .returning(spaces.c.last_seq)
)


async def add_spaces(store: PostgresStore, *names: str) -> None:
    texts = {column.name: "" for column in spaces.c if column.type.python_type is str}
    numbers = {column.name: 0 for column in spaces.c if column.name not in texts}

    async def body(tx: Transaction) -> None:
        for name in names:
            await tx.run(Statement(insert(spaces)), **{**texts, **numbers, "id": name})

    await store.transact(body)


async def test_posts_in_any_space_order_neither_deadlock_nor_leave_gaps(store: PostgresStore, other: Any) -> None:
    names = ["a", "b", "c", "d"]
    await add_spaces(store, *names)
    seqs: dict[str, list[int]] = {name: [] for name in names}
    attempts: list[int] = []

    def posting(order: list[str]) -> Callable[[Transaction], Awaitable[list[tuple[str, int]]]]:
        async def body(tx: Transaction) -> list[tuple[str, int]]:
            attempts.append(1)
            numbered: list[tuple[str, int]] = []

            def number(name: str) -> Callable[[Transaction], Awaitable[None]]:
                async def work(tx: Transaction) -> None:
                    row = await tx.one(BUMP, id_=name)
                    assert row is not None
                    numbered.append((name, row[0]))

                return work

            for name in order:
                tx.defer(Stage.SPACES, name, number(name))
            return numbered

        return body

    orders = [names, names[::-1], ["b", "d", "a"], ["c", "b"]] * 25
    for numbered in await asyncio.gather(*(store.transact(posting(order)) for order in orders)):
        for name, seq in numbered:
            seqs[name].append(seq)
    assert len(attempts) == len(orders)
    for name in names:
        assert sorted(seqs[name]) == list(range(1, len(seqs[name]) + 1))
    assert await other.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0


async def test_deferred_locks_are_taken_in_a_fixed_order(store: PostgresStore, other: Any) -> None:
    """While one transaction waits for the first space in the order, nobody is kept from the later ones."""
    await add_spaces(store, "a", "b")
    holding = other.transaction()
    await holding.start()
    await other.execute("UPDATE spaces SET last_seq = 7 WHERE id = 'a'")

    async def body(tx: Transaction) -> None:
        for name in ("b", "a"):
            tx.defer(Stage.SPACES, name, lambda tx, name=name: _bump(tx, name))  # type: ignore[misc]

    task = asyncio.create_task(store.transact(body))
    await until(lambda: other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    await other.execute("UPDATE spaces SET last_seq = 7 WHERE id = 'b'")
    await holding.commit()
    await asyncio.wait_for(task, BOUND)
    assert await other.fetch("SELECT id, last_seq FROM spaces ORDER BY id") == [("a", 8), ("b", 8)]


async def _bump(tx: Transaction, name: str) -> None:
    await tx.one(BUMP, id_=name)


async def test_a_reader_cannot_skip_events_of_an_open_transaction(store: PostgresStore, other: Any) -> None:
    from bullpen.storage.statements import current_xid, horizon

    record = Statement(insert(events).values(xid=current_xid(), type="t", audience="", at="", body=bindparam("text")))
    complete = Statement(select(events.c.body).where(events.c.xid < horizon()).order_by(events.c.xid, events.c.id))
    early_wrote, late_committed = asyncio.Event(), asyncio.Event()

    async def early(tx: Transaction) -> None:
        await tx.run(record, text="early")
        early_wrote.set()
        await late_committed.wait()

    async def late(tx: Transaction) -> None:
        await tx.run(record, text="late")

    async def seen(tx: Transaction) -> list[str]:
        return [row[0] for row in await tx.all(complete)]

    task = asyncio.create_task(store.transact(early))
    await asyncio.wait_for(early_wrote.wait(), BOUND)
    await store.transact(late)
    assert await store.read(seen) == []
    late_committed.set()
    await asyncio.wait_for(task, BOUND)
    assert await store.read(seen) == ["early", "late"]


# ── cancellation ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_cancelling_a_statement_releases_locks_and_keeps_the_connection(store: PostgresStore, other: Any) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    await add_leases(store, "a", "b")
    holding = other.transaction()
    await holding.start()
    await other.execute("UPDATE leases SET token = 9 WHERE thread_id = 'b'")

    async def body(tx: Transaction) -> None:
        await tx.one(LOCK, id="a")
        await tx.one(LOCK, id="b")

    task = asyncio.create_task(store.transact(body))
    await until(lambda: other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    await other.execute("UPDATE leases SET token = 9 WHERE thread_id = 'a'")  # would wait if it were still locked
    await holding.commit()
    assert store.pool.get_idle_size() == store.pool.get_size()
    await store.transact(put("after"))
    assert complaints == []  # nobody had to clean up after us


SLOW_COMMIT = """
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_lock_shared(99); PERFORM pg_advisory_unlock_shared(99); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON meta DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION dawdle();
"""


@contextlib.asynccontextmanager
async def held_commits(other: Any) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """COMMIT of a transaction that wrote to `meta` waits until this block ends. Gives: the backend that waits there."""
    await other.execute(SLOW_COMMIT)
    await other.execute("SELECT pg_advisory_lock(99)")
    waiting = "SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event_type = 'Lock'"
    yield lambda: until(lambda: other.fetchval(waiting))
    await other.execute("SELECT pg_advisory_unlock(99)")


@pytest.mark.parametrize("cancels", [1, 3])
async def test_a_cancellation_during_the_commit_undoes_nothing(store: PostgresStore, other: Any, cancels: int) -> None:
    told = asyncio.Event()

    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="a", value="")
        tx.after_commit(told.set)

    async with held_commits(other) as committing:
        task = asyncio.create_task(store.transact(body))
        await committing()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
    await asyncio.wait_for(told.wait(), BOUND)
    assert await keys(store) == ["a"]


async def test_cancelling_during_rollback_still_returns_the_connection(store: PostgresStore) -> None:
    reached = asyncio.Event()

    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="never", value="")
        reached.set()
        await asyncio.Event().wait()

    for patience in range(6):
        reached.clear()
        task = asyncio.create_task(store.transact(body))
        await asyncio.wait_for(reached.wait(), BOUND)
        task.cancel()
        for _ in range(patience):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, BOUND)
    await until(_answering(lambda: not store._endings))
    assert store.pool.get_idle_size() == store.pool.get_size()
    assert await keys(store) == []


def _answering(question: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def ask() -> bool:
        return question()

    return ask


async def test_closing_waits_for_commits_under_way(database: Database, other: Any) -> None:
    store = PostgresStore(database.url)
    await store.open()
    async with held_commits(other) as committing:
        task = asyncio.create_task(store.transact(put("a")))
        await committing()
        task.cancel()
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
    await asyncio.wait_for(closing, BOUND)
    assert await other.fetchval("SELECT count(*) FROM meta") == 1
    with pytest.raises(Unavailable, match="closed"):
        await store.transact(put("b"))


# ── connections that go away ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["transact", "read"])
async def test_a_connection_lost_before_the_commit_runs_the_body_again(
    store: PostgresStore, other: Any, method: str
) -> None:
    attempts: list[int] = []

    async def body(tx: Transaction) -> int:
        attempts.append(await backend_of(tx))
        if len(attempts) == 1:
            await other.execute("SELECT pg_terminate_backend($1, 5000)", attempts[0])
        return await backend_of(tx)

    assert await getattr(store, method)(body) == attempts[1]
    assert len(set(attempts)) == 2


async def test_a_connection_lost_while_idle_is_replaced(store: PostgresStore, other: Any) -> None:
    await store.transact(put("a"))
    await other.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database()"
    )
    await store.transact(put("b"))
    assert await keys(store) == ["a", "b"]


async def test_a_connection_lost_during_the_commit_is_never_retried(store: PostgresStore, other: Any) -> None:
    attempts: list[int] = []
    told: list[int] = []

    async def body(tx: Transaction) -> None:
        attempts.append(1)
        tx.after_commit(lambda: told.append(1))
        await tx.run(INSERT, key="a", value="")

    async with held_commits(other) as committing:
        task = asyncio.create_task(store.transact(body))
        await other.execute("SELECT pg_terminate_backend($1, 5000)", await committing())
        with pytest.raises(Unavailable, match="nobody knows"):
            await asyncio.wait_for(task, BOUND)
    assert (attempts, told) == ([1], [])
    await store.transact(put("after"))


async def test_a_process_that_stops_in_a_transaction_loses_its_locks(store: PostgresStore, other: Any) -> None:
    """The timeout is the server's, so it also frees what a stopped or frozen process holds."""
    await add_leases(store, "a")
    settings = {
        row[0]: row[1]
        for row in await store.read(
            lambda tx: tx.connection.fetch("SELECT name, setting FROM pg_settings WHERE name LIKE 'idle_in_%'")  # type: ignore[attr-defined]
        )
    }
    assert settings["idle_in_transaction_session_timeout"] == "5000"
    attempts: list[int] = []

    async def body(tx: Transaction) -> None:
        attempts.append(1)
        await tx.one(LOCK, id="a")
        if len(attempts) == 1:
            await tx.connection.execute("SET LOCAL idle_in_transaction_session_timeout = 50")  # type: ignore[attr-defined]
            pid = await backend_of(tx)
            gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1"
            await until(lambda: other.fetchval(gone, pid))
            await other.execute("UPDATE leases SET token = 5 WHERE thread_id = 'a'")
        await tx.run(INSERT, key="a", value="")

    await asyncio.wait_for(store.transact(body), BOUND)
    assert len(attempts) == 2


async def test_a_server_that_has_gone_away_gives_a_sentence() -> None:
    with started() as server:
        url = server.url()
        sql(url, "CREATE TABLE meta (key text PRIMARY KEY, value text)")
        store = PostgresStore(url)
        await store.open()
        await store.transact(put("a"))
    with pytest.raises(Unavailable, match="Cannot reach PostgreSQL, so nothing was changed"):
        await store.transact(put("b"))
    with pytest.raises(Unavailable, match="Cannot reach PostgreSQL"):
        await keys(store)
    await asyncio.wait_for(store.close(), BOUND)


# ── opening ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "url",
    ["postgresql://nobody@127.0.0.1:1/x", "postgresql://postgres@/x?host=/nowhere", "postgresql://h:port/x"],
    ids=["refused", "no socket", "malformed"],
)
async def test_an_unreachable_database_is_refused_with_a_clear_error(url: str) -> None:
    with pytest.raises(CannotStart, match=r"Cannot reach PostgreSQL: .*Check DATABASE_URL"):
        await PostgresStore(url).open()


async def test_a_database_that_cannot_hold_every_text_is_refused(postgres_server: PostgresServer) -> None:
    create = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    sql(postgres_server.url(), create)
    try:
        with pytest.raises(CannotStart, match="UTF8"):
            await PostgresStore(postgres_server.url("latin")).open()
    finally:
        sql(postgres_server.url(), "DROP DATABASE latin")


@pytest.mark.parametrize(
    "url",
    ["postgresql://ann:s3cret@db:5432/office", "postgresql://ann@db/office?password=s3cret&sslmode=require"],
)
def test_the_stores_location_contains_no_password(url: str) -> None:
    location = PostgresStore(url).location
    assert "s3cret" not in location
    assert location.startswith("postgresql://ann@db")


async def test_a_body_suppressing_a_failed_statement_still_fails(store: PostgresStore) -> None:
    async def body(tx: Transaction) -> str:
        await tx.run(INSERT, key="a", value="")
        with contextlib.suppress(asyncpg.PostgresError):
            await tx.connection.execute("SELECT 1 / 0")  # type: ignore[attr-defined]
        return "fine"

    with pytest.raises(Broken, match="nothing was changed"):
        await store.transact(body)
    assert store.commits == 0
    assert await keys(store) == []


async def test_an_error_in_the_body_is_raised_unchanged(store: PostgresStore) -> None:
    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="a", value="")
        raise Oops

    with pytest.raises(Oops):
        await store.transact(body)
    assert await keys(store) == []
