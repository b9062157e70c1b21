"""SQLite: turns, batches, commits, the disk, and the lock on the folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bullpen.errors import Broken, CannotStart, DiskFull, Unavailable
from bullpen.storage import Transaction
from bullpen.storage.sqlite import BATCH, SqliteStore
from bullpen.storage.store import RetryTransaction
from tests.databases import sqlite_database
from tests.disks import fill
from tests.storage.scratch import INSERT, Oops, keys, keys_seen, put, put_then_raise

BOUND = 20


@pytest.fixture
def path(tmp_path: Path, sqlite_template: Path) -> Path:
    return sqlite_database(tmp_path / "data", sqlite_template).path


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(path, watch_turns=True)
    await made.open()
    yield made
    await asyncio.wait_for(made.close(), BOUND)


@pytest.fixture
async def lenient(path: Path) -> AsyncIterator[SqliteStore]:
    """As in production: nobody watches whether a body suspends."""
    made = SqliteStore(path)
    await made.open()
    yield made
    await asyncio.wait_for(made.close(), BOUND)


def doing(*steps: Callable[[], Awaitable[Any]], key: str = "slow") -> Callable[[Transaction], Awaitable[str]]:
    """A body that breaks the rule: it waits for these while it has the turn."""

    async def body(tx: Transaction) -> str:
        await tx.run(INSERT, key=key, value="")
        for step in steps:
            await step()
        return key

    return body


async def turns_of_the_loop(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# ── batches ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_bodies_that_wait_for_each_other_share_one_commit(store: SqliteStore) -> None:
    await asyncio.gather(*(store.transact(put(f"{n:02}")) for n in range(40)))
    assert store.commits == 1


async def test_a_batch_has_a_limit(store: SqliteStore) -> None:
    await asyncio.gather(*(store.transact(put(f"{n:03}")) for n in range(BATCH + 1)))
    assert store.commits == 2


async def test_failing_bodies_count_towards_the_limit_and_delay_no_commit(store: SqliteStore) -> None:
    finished: list[str] = []

    async def post(body: Callable[[Transaction], Awaitable[Any]], name: str) -> None:
        with contextlib.suppress(Oops):
            await store.transact(body)
        finished.append(name)

    bad = [post(put_then_raise(f"bad{n:03}"), "bad") for n in range(3 * BATCH)]
    await asyncio.gather(post(put("good"), "good"), *bad)
    assert finished.index("good") < 2 * BATCH


async def test_a_lone_body_commits_without_a_thread(store: SqliteStore) -> None:
    store._thread.shutdown()
    await store.transact(put("alone"))
    assert await keys(store) == ["alone"]


async def test_nothing_is_committed_for_bodies_that_all_raised(store: SqliteStore) -> None:
    results = await asyncio.gather(*(store.transact(put_then_raise(str(n))) for n in range(5)), return_exceptions=True)
    assert all(isinstance(result, Oops) for result in results)
    assert store.commits == 0


async def test_the_loop_goes_on_while_a_batch_is_being_committed(store: SqliteStore) -> None:
    writer = Interposed(store)
    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    writer.before_commit = lambda: asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(BOUND)
    both = asyncio.gather(store.transact(put("a")), store.transact(put("b")))
    await asyncio.wait_for(writer.committing.wait(), BOUND)
    assert not both.done()
    assert await keys(store) == []  # and reads go on, on what is committed
    gate.set()
    assert list(await asyncio.wait_for(both, BOUND)) == ["a", "b"]


# ── cancellation, at each place where a caller waits ────────────────────────────────────────────────────────────────


async def test_a_body_cancelled_while_waiting_for_its_turn_never_runs(lenient: SqliteStore) -> None:
    gate = asyncio.Event()
    holder = asyncio.create_task(lenient.transact(doing(gate.wait)))
    waiter = asyncio.create_task(lenient.transact(put("never")))
    last = asyncio.create_task(lenient.transact(put("last")))
    await turns_of_the_loop(3)
    waiter.cancel()
    gate.set()
    assert await asyncio.wait_for(holder, BOUND) == "slow"
    assert await asyncio.wait_for(last, BOUND) == "last"
    assert await keys(lenient) == ["last", "slow"]


async def cancel_when(gate: asyncio.Event, task: asyncio.Task[Any]) -> None:
    """In the same turn of the loop as the body that waits for this gate, just after it."""
    await gate.wait()
    task.cancel()


async def test_a_body_cancelled_on_getting_its_turn_passes_it_on(lenient: SqliteStore) -> None:
    gate = asyncio.Event()
    holder = asyncio.create_task(lenient.transact(doing(gate.wait)))
    waiter = asyncio.create_task(lenient.transact(put("never")))
    last = asyncio.create_task(lenient.transact(put("last")))
    canceller = asyncio.create_task(cancel_when(gate, waiter))
    await turns_of_the_loop(3)
    turn = lenient._turns._waiting[0]
    gate.set()
    await canceller
    assert list(await asyncio.wait_for(asyncio.gather(holder, last), BOUND)) == ["slow", "last"]
    assert waiter.cancelled()
    assert not turn.cancelled()
    assert await keys(lenient) == ["last", "slow"]


async def test_the_batch_commits_when_its_last_waiter_is_cancelled(
    lenient: SqliteStore,
) -> None:
    gate = asyncio.Event()
    holder = asyncio.create_task(lenient.transact(doing(gate.wait)))
    waiter = asyncio.create_task(lenient.transact(put("never")))
    canceller = asyncio.create_task(cancel_when(gate, waiter))
    await turns_of_the_loop(3)
    turn = lenient._turns._waiting[0]
    gate.set()
    await canceller
    assert await asyncio.wait_for(holder, BOUND) == "slow"
    assert not turn.cancelled()
    assert await keys(lenient) == ["slow"]


async def test_a_body_cancelled_midway_is_rolled_back_alone(lenient: SqliteStore) -> None:
    gate = asyncio.Event()
    reached = asyncio.Event()

    async def wait() -> None:
        reached.set()
        await gate.wait()

    holder = asyncio.create_task(lenient.transact(doing(wait)))
    waiter = asyncio.create_task(lenient.transact(put("b")))
    await asyncio.wait_for(reached.wait(), BOUND)
    holder.cancel()
    assert await asyncio.wait_for(waiter, BOUND) == "b"
    assert await keys(lenient) == ["b"]


@pytest.mark.parametrize("others", [0, 1, 5])
@pytest.mark.parametrize("patience", range(6))
async def test_a_cancellation_after_the_body_undoes_nothing(store: SqliteStore, others: int, patience: int) -> None:
    """Whether alone or in a batch, and however far the commit has come: what the body did is kept, and told about."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()

    def cancel(turns_left: int) -> None:
        if turns_left:
            loop.call_soon(cancel, turns_left - 1)
        else:
            first.cancel()

    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="a", value="")
        tx.after_commit(told.set)
        loop.call_soon(cancel, patience)

    first = asyncio.create_task(store.transact(body))
    rest = [asyncio.create_task(store.transact(put(f"other{n}"))) for n in range(others)]
    await asyncio.wait_for(told.wait(), BOUND)
    await asyncio.gather(*rest)
    assert await keys(store) == ["a"] + [f"other{n}" for n in range(others)]


async def test_event_loop_shutdown_cannot_stop_a_running_commit(path: Path) -> None:
    """`asyncio.run` cancels every task at its end; closing afterwards must still find the turn."""

    async def main() -> None:
        store = SqliteStore(path)
        await store.open()
        tasks = [asyncio.create_task(store.transact(put(name))) for name in "abc"]
        writer = Interposed(store)
        await asyncio.wait_for(writer.committing.wait(), BOUND)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(store.close(), BOUND)

    await asyncio.to_thread(asyncio.run, main())
    with sqlite3.connect(path) as look:
        assert look.execute("SELECT count(*) FROM meta").fetchone() == (3,)
    look.close()


# ── a body must not wait ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["transact", "read"])
async def test_a_body_that_waits_fails_where_it_waits(store: SqliteStore, method: str) -> None:
    caught: list[BaseException] = []

    async def body(tx: Transaction) -> None:
        await keys_seen(tx)
        try:
            await asyncio.sleep(0)
        except BaseException as error:
            caught.append(error)
            raise

    with pytest.raises(Broken, match="waited"):
        await getattr(store, method)(body)
    assert [type(error) for error in caught] == [Broken]


async def test_a_body_that_waits_and_suppresses_the_error_fails_anyway(store: SqliteStore) -> None:
    async def stubborn(tx: Transaction) -> str:
        await tx.run(INSERT, key="never", value="")
        for _ in range(3):
            with contextlib.suppress(Broken):
                await asyncio.sleep(0)
        return "done"

    with pytest.raises(Broken, match="waited"):
        await store.transact(stubborn)
    assert await keys(store) == []


async def test_a_transaction_inside_a_transaction_fails(store: SqliteStore) -> None:
    async def body(tx: Transaction) -> None:
        await store.transact(put("inner"))

    with pytest.raises(Broken, match="waited"):
        await asyncio.wait_for(store.transact(body), BOUND)
    await store.transact(put("after"))
    assert await keys(store) == ["after"]


async def test_without_the_check_a_waiting_body_only_delays_others(lenient: SqliteStore) -> None:
    gate = asyncio.Event()
    slow = asyncio.create_task(lenient.transact(doing(gate.wait)))
    quick = asyncio.create_task(lenient.transact(put("quick")))

    async def slow_read(tx: Transaction) -> list[str]:
        await gate.wait()
        return await keys_seen(tx)

    reads = [asyncio.create_task(lenient.read(slow_read)) for _ in range(3)]
    await turns_of_the_loop(5)
    assert not quick.done()
    assert await keys(lenient) == []
    gate.set()
    assert list(await asyncio.gather(slow, quick)) == ["slow", "quick"]
    assert all(set(seen) <= {"slow", "quick"} for seen in await asyncio.gather(*reads))


# ── the disk ────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def full_disk(store: SqliteStore) -> Iterator[None]:
    """From here on the file cannot grow."""
    [pages] = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count={pages}")
    yield
    store._writer.execute("PRAGMA max_page_count=1073741823")


HUGE = "x" * 100_000


async def test_a_full_disk_fails_the_write_and_keeps_earlier_data(store: SqliteStore) -> None:
    await store.transact(put("before"))
    with full_disk(store):
        with pytest.raises(DiskFull):
            await store.transact(put("never", HUGE))
        assert await keys(store) == ["before"]
    await store.transact(put("after", HUGE))
    assert await keys(store) == ["after", "before"]


async def test_when_sqlite_ends_the_transaction_itself_the_whole_batch_fails(store: SqliteStore) -> None:
    told: list[str] = []

    def telling(name: str) -> Callable[[Transaction], Awaitable[None]]:
        async def body(tx: Transaction) -> None:
            await tx.run(INSERT, key=name, value="")
            tx.after_commit(lambda: told.append(name))

        return body

    await store.transact(put("before"))
    with full_disk(store):
        results = await asyncio.gather(
            store.transact(telling("a")),
            store.transact(telling("b")),
            store.transact(put("huge", HUGE)),
            store.transact(telling("c")),
            return_exceptions=True,
        )
    # The last one began a batch of its own, after the one that failed.
    assert [type(result) for result in results] == [DiskFull, DiskFull, DiskFull, type(None)]
    assert told == ["c"]
    assert await keys(store) == ["before", "c"]
    await store.transact(put("after", HUGE))


async def test_a_body_suppressing_a_disk_full_error_writes_nothing(store: SqliteStore) -> None:
    async def stubborn(tx: Transaction) -> None:
        with pytest.raises(sqlite3.OperationalError):
            await tx.run(INSERT, key="huge", value=HUGE)
        with contextlib.suppress(Broken):
            await tx.run(INSERT, key="small", value="")

    with full_disk(store):
        results = await asyncio.gather(store.transact(put("a")), store.transact(stubborn), return_exceptions=True)
    assert [type(result) for result in results] == [DiskFull, DiskFull]
    assert await keys(store) == []


@pytest.mark.parametrize("bodies", [1, 10])
async def test_a_really_full_disk_loses_nothing_and_recovers_with_space(
    small_disk: Path, sqlite_template: Path, bodies: int
) -> None:
    store = SqliteStore(sqlite_database(small_disk / "data", sqlite_template).path)
    await store.open()
    await store.transact(put("before"))
    fill(small_disk / "filler")
    for _ in range(3):
        writes = (store.transact(put(f"{n}", "x" * 10_000)) for n in range(bodies))
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(result) for result in results] == [DiskFull] * bodies
        assert await keys(store) == ["before"]
    (small_disk / "filler").unlink()
    await asyncio.gather(*(store.transact(put(f"{n}", "x" * 10_000)) for n in range(bodies)))
    await store.close()
    with contextlib.closing(sqlite3.connect(store.path)) as look:
        assert look.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert look.execute("SELECT count(*) FROM meta").fetchone() == (bodies + 1,)


class Interposed:
    """A writer's connection that can fail or wait at COMMIT, and is the real one otherwise."""

    def __init__(self, store: SqliteStore) -> None:
        self._real = store._writer
        self._loop = asyncio.get_running_loop()
        self.committing = asyncio.Event()
        self.before_commit: Callable[[], object] = lambda: None
        store._writer = self  # type: ignore[assignment]

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            self._loop.call_soon_threadsafe(self.committing.set)
            self.before_commit()
        return self._real.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def failing(code: int) -> Callable[[], None]:
    def fail() -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    return fail


@pytest.mark.parametrize("bodies", [1, 3])
async def test_a_failed_commit_fails_its_batch_and_the_next_works(store: SqliteStore, bodies: int) -> None:
    await store.transact(put("before"))
    writer = Interposed(store)
    writer.before_commit = failing(sqlite3.SQLITE_FULL)
    results = await asyncio.gather(*(store.transact(put(str(n))) for n in range(bodies)), return_exceptions=True)
    assert [type(result) for result in results] == [DiskFull] * bodies
    assert len({id(result) for result in results}) == bodies
    assert await keys(store) == ["before"]
    writer.before_commit = lambda: None
    await store.transact(put("after"))
    assert await keys(store) == ["after", "before"]


async def test_after_a_failed_fsync_nothing_more_is_written(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    writer = Interposed(store)
    writer.before_commit = failing(sqlite3.SQLITE_IOERR_FSYNC)
    waiting = [asyncio.create_task(store.transact(put(f"{n:03}"))) for n in range(BATCH + 1)]
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(type(result) is Unavailable for result in results)
    assert "whether it did shows after a restart" in str(results[0])
    assert "Restart the server" in str(results[-1])
    writer.before_commit = lambda: None
    with pytest.raises(Unavailable, match="Restart the server"):
        await store.transact(put("a"))
    assert await keys(store) == []  # reading goes on
    await store.close()
    again = SqliteStore(path)
    await again.open()
    await again.transact(put("a"))
    await again.close()


# ── somebody else at the file ───────────────────────────────────────────────────────────────────────────────────────


async def test_waiting_for_a_locked_file_does_not_block_the_loop(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(store.transact(put("a")))
    await turns_of_the_loop(3)
    assert not task.done()
    other.execute("ROLLBACK")
    other.close()
    assert await asyncio.wait_for(task, BOUND) == "a"


async def test_a_file_locked_too_long_is_reported_to_the_caller(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(RetryTransaction, match="Another program holds the database file"):
        await store.transact(put("a"))
    other.close()
    assert await keys(store) == []


# ── closing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_closing_finishes_waiting_transactions_and_refuses_later_ones(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    early = [asyncio.create_task(store.transact(put(name))) for name in "abc"]
    await turns_of_the_loop(1)
    closing = asyncio.create_task(store.close())
    await turns_of_the_loop(1)
    with pytest.raises(Unavailable, match="closed"):
        await store.transact(put("late"))
    assert await asyncio.wait_for(asyncio.gather(*early), BOUND) == ["a", "b", "c"]
    await asyncio.wait_for(closing, BOUND)
    with pytest.raises(Unavailable, match="not open"):
        await keys(store)
    await store.close()
    again = SqliteStore(path)
    await again.open()
    assert await keys(again) == ["a", "b", "c"]
    await again.close()


async def test_closing_can_be_cancelled_and_done_later(lenient: SqliteStore) -> None:
    gate = asyncio.Event()
    slow = asyncio.create_task(lenient.transact(doing(gate.wait)))
    await turns_of_the_loop(2)
    early = asyncio.create_task(lenient.transact(put("early")))
    closing = asyncio.create_task(lenient.close())
    canceller = asyncio.create_task(cancel_when(gate, closing))
    await turns_of_the_loop(1)
    gate.set()
    await canceller
    assert list(await asyncio.wait_for(asyncio.gather(slow, early), BOUND)) == ["slow", "early"]
    with pytest.raises(asyncio.CancelledError):
        await closing
    await asyncio.wait_for(lenient.close(), BOUND)


async def test_closing_leaves_one_whole_file(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.transact(put("a"))
    await store.close()
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["bullpen.db", "bullpen.lock"]


async def test_an_invalid_database_file_is_refused_and_its_folder_released(tmp_path: Path) -> None:
    (tmp_path / "bullpen.db").write_text("hello " * 1000)
    for _ in range(2):
        with pytest.raises(CannotStart, match="Cannot open the database"):
            await SqliteStore(tmp_path / "bullpen.db").open()


async def test_an_unusable_data_folder_is_refused_with_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotStart, match="Cannot use the data directory"):
        await SqliteStore(tmp_path / "file" / "bullpen.db").open()


async def test_a_new_folder_and_lock_are_private_to_the_owner(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "new" / "bullpen.db")
    await store.open()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "bullpen.lock").stat().st_mode & 0o777 == 0o600
    await store.close()


# ── one process ─────────────────────────────────────────────────────────────────────────────────────────────────────

HOLD = """
import asyncio, sys
from pathlib import Path
from bullpen.storage.sqlite import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@contextlib.contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


@pytest.mark.proves("N3")
async def test_a_second_process_is_refused_with_the_firsts_pid(path: Path) -> None:
    with another_process(path) as first:
        with pytest.raises(CannotStart, match=f"data directory .* is in use by pid {first.pid}"):
            await SqliteStore(path).open()
        assert first.poll() is None


@pytest.mark.proves("N3")
async def test_kill_9_lets_go_of_the_folder(path: Path) -> None:
    with another_process(path) as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        store = SqliteStore(path)
        await store.open()
        await store.transact(put("a"))
        await store.close()
