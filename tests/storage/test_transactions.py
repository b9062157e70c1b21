"""What a transaction promises, on both databases."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Any

import pytest

from bullpen.errors import Broken, BullpenError
from bullpen.storage import Stage, Store, Transaction
from tests.databases import Database
from tests.storage.scratch import INSERT, SELECT_ONE, Oops, keys, keys_seen, put, put_then_raise


async def test_a_change_is_durable_when_transact_returns(store: Store, database: Database) -> None:
    assert await store.transact(put("a")) == "a"
    await store.close()
    again = database.store()
    await again.open()
    assert await keys(again) == ["a"]
    await again.close()


async def test_a_body_that_raises_leaves_nothing_behind(store: Store) -> None:
    await store.transact(put("before"))
    with pytest.raises(Oops):
        await store.transact(put_then_raise("never"))
    await store.transact(put("after"))
    assert await keys(store) == ["after", "before"]


async def test_a_read_sees_committed_rows_only(store: Store) -> None:
    seen = []

    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="mine", value="")
        seen.append(await keys_seen(tx))
        seen.append(await keys(store))

    await store.transact(body)
    assert seen == [["mine"], []]
    assert await keys(store) == ["mine"]


async def test_a_read_is_one_view_however_much_is_committed_meanwhile(database: Database) -> None:
    store = database.store(watch_turns=False)
    await store.open()

    async def look_twice(tx: Transaction) -> tuple[list[str], list[str]]:
        before = await keys_seen(tx)
        await store.transact(put("meanwhile"))
        return before, await keys_seen(tx)

    assert await store.read(look_twice) == ([], [])
    assert await keys(store) == ["meanwhile"]
    await store.close()


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(Broken):
        await store.read(put("never"))
    assert await keys(store) == []


async def test_many_bodies_at_once_all_become_durable(store: Store) -> None:
    names = [f"{n:03}" for n in range(200)]
    done = await asyncio.gather(*(store.transact(put(name)) for name in names))
    assert done == names
    assert await keys(store) == names


async def test_a_failing_body_does_not_affect_others_in_its_batch(store: Store) -> None:
    bodies = [put_then_raise(f"bad{n}") if n % 3 == 0 else put(f"good{n:02}") for n in range(30)]
    results = await asyncio.gather(*(store.transact(body) for body in bodies), return_exceptions=True)
    assert [isinstance(result, Oops) for result in results] == [n % 3 == 0 for n in range(30)]
    assert await keys(store) == [f"good{n:02}" for n in range(30) if n % 3]


async def test_an_unhandled_key_conflict_raises_our_own_error(store: Store) -> None:
    await store.transact(put("a"))
    with pytest.raises(Broken, match=r"(?i)unique"):
        await store.transact(put("a"))
    assert await keys(store) == ["a"]


async def test_a_failed_statement_dooms_the_transaction_even_if_caught(store: Store) -> None:
    await store.transact(put("taken"))

    async def stubborn(tx: Transaction) -> None:
        await tx.run(INSERT, key="first", value="")
        with pytest.raises(Exception, match=r"(?i)unique"):
            await tx.run(INSERT, key="taken", value="")

    async def more_stubborn(tx: Transaction) -> None:
        await stubborn(tx)
        await tx.run(INSERT, key="second", value="")

    for body in (stubborn, more_stubborn):
        with pytest.raises(BullpenError):
            await store.transact(body)
        assert await keys(store) == ["taken"]


async def test_a_transaction_cannot_be_used_after_its_end(store: Store) -> None:
    kept: list[Transaction] = []

    async def body(tx: Transaction) -> None:
        kept.append(tx)

    for run in (store.transact, store.read):
        await run(body)
        with pytest.raises(Exception, match=r"over|released"):
            await kept.pop().run(INSERT, key="late", value="")
    assert await keys(store) == []


# ── after the commit ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_after_commit_callbacks_run_once_and_only_after_success(store: Store) -> None:
    called: list[tuple[str, list[str]]] = []
    loop = asyncio.get_running_loop()
    looked = asyncio.Event()

    async def look(name: str) -> None:
        called.append((name, await keys(store)))
        looked.set()

    async def good(tx: Transaction) -> None:
        await tx.run(INSERT, key="good", value="")
        tx.after_commit(lambda: loop.create_task(look("good")))  # type: ignore[arg-type]

    async def bad(tx: Transaction) -> None:
        tx.after_commit(lambda: called.append(("bad", [])))
        raise Oops

    with pytest.raises(Oops):
        await store.transact(bad)
    await store.transact(good)
    await asyncio.wait_for(looked.wait(), 5)
    assert called == [("good", ["good"])]


async def test_a_failing_after_commit_callback_does_not_fail_the_change(store: Store) -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["exception"]))
    reached = asyncio.Event()

    def fail() -> None:
        raise Oops

    async def body(tx: Transaction) -> str:
        await tx.run(INSERT, key="a", value="")
        tx.after_commit(fail)
        tx.after_commit(reached.set)
        return "done"

    assert await store.transact(body) == "done"
    await asyncio.wait_for(reached.wait(), 5)
    assert [type(complaint) for complaint in complaints] == [Oops]
    assert await store.transact(put("b")) == "b"


# ── what is deferred ────────────────────────────────────────────────────────────────────────────────────────────────


async def test_deferred_work_runs_last_ordered_by_stage_key_and_request(store: Store) -> None:
    done: list[str] = []

    def note(name: str) -> Any:
        async def work(tx: Transaction) -> None:
            done.append(name)

        return work

    async def body(tx: Transaction) -> None:
        tx.defer(Stage.EVENTS, "", note("event"))
        tx.defer(Stage.THREADS, "b", note("thread b"))
        tx.defer(Stage.SPACES, "y", note("space y"))
        tx.defer(Stage.SPACES, "x", note("space x, first"))
        tx.defer(Stage.THREADS, "a", note("thread a"))
        tx.defer(Stage.SPACES, "x", note("space x, second"))
        done.append("body")

    await store.transact(body)
    assert done == ["body", "space x, first", "space x, second", "space y", "thread a", "thread b", "event"]


async def test_deferred_work_may_defer_more_but_never_backwards(store: Store) -> None:
    done: list[str] = []

    async def later(tx: Transaction) -> None:
        done.append("later")

    async def same_place_and_later(tx: Transaction) -> None:
        tx.defer(Stage.SPACES, "m", later)
        tx.defer(Stage.THREADS, "a", later)

    async def backwards(tx: Transaction) -> None:
        tx.defer(Stage.SPACES, "a", later)

    async def good(tx: Transaction) -> None:
        tx.defer(Stage.SPACES, "m", same_place_and_later)

    async def bad(tx: Transaction) -> None:
        await tx.run(INSERT, key="never", value="")
        tx.defer(Stage.SPACES, "m", backwards)

    await store.transact(good)
    assert done == ["later", "later"]
    with pytest.raises(Broken, match="lock order"):
        await store.transact(bad)
    assert await keys(store) == []


async def test_deferred_work_that_raises_undoes_the_body(store: Store) -> None:
    async def fail(tx: Transaction) -> None:
        raise Oops

    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key="never", value="")
        tx.defer(Stage.EVENTS, "", fail)

    with pytest.raises(Oops):
        await store.transact(body)
    assert await keys(store) == []


# ── cancellation ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(8))
async def test_random_cancels_and_raises_lose_nothing_and_leak_nothing(store: Store, seed: int) -> None:
    """Each row stands for one commit: exactly those of the callers that were told so, or were cancelled too late."""
    dice = random.Random(seed)
    committed: set[str] = set()
    told: set[str] = set()

    def writes(name: str, bad: bool) -> Any:
        async def body(tx: Transaction) -> str:
            tx.after_commit(lambda: committed.add(name))
            await tx.run(INSERT, key=name, value="x" * 50)
            if bad:
                raise Oops
            return name

        return body

    async def caller(number: int) -> None:
        own = random.Random(seed * 1000 + number)
        for turn in range(3):
            for _ in range(own.randrange(4)):
                await asyncio.sleep(0)
            name = f"{number:03}-{turn}"
            with contextlib.suppress(Oops):
                told.add(await store.transact(writes(name, own.random() < 0.2)))

    tasks = [asyncio.create_task(caller(number)) for number in range(150)]
    for task in dice.sample(tasks, 75):
        # Now and then let many turns of the loop pass, so that cancels hit every place between wish and commit.
        for _ in range(dice.choice((0, 1, 2, 20))):
            await asyncio.sleep(0)
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results if result is not None} <= {asyncio.CancelledError}
    await store.transact(put("last"))  # nobody has walked off with the turn, or with a connection
    found = set(await keys(store)) - {"last"}
    assert told <= found
    assert found == committed


async def test_a_cancelled_waiter_passes_its_turn_on(store: Store) -> None:
    first, second, third = (asyncio.create_task(store.transact(put(name))) for name in "abc")
    await asyncio.sleep(0)
    second.cancel()
    assert await first == "a"
    assert await asyncio.wait_for(third, 5) == "c"
    with pytest.raises(asyncio.CancelledError):
        await second
    assert set(await keys(store)) - {"b"} == {"a", "c"}


async def test_one_row_is_read_by_its_key(store: Store) -> None:
    await store.transact(put("a", "1"))

    async def body(tx: Transaction) -> tuple[Any, Any]:
        return await tx.one(SELECT_ONE, key="a"), await tx.one(SELECT_ONE, key="b")

    found, missing = await store.read(body)
    assert tuple(found) == ("1",)
    assert missing is None
