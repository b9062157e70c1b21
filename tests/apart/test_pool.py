"""The pool: children that answer, that die, that take too much, and that nobody needs any more."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bullpen.apart import pool as pool_module
from bullpen.apart.pool import CHILDREN, Answer, ApartFailed, Died, ProcessPool, TooDear
from tests.waiting.dear_schemas import nested
from tests.waits import until

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
ENDLESS = nested(40)  # takes hours, and no memory


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    made = ProcessPool()
    yield made
    await made.close()


async def ask(
    pool: ProcessPool, schema: Any = NUMBER, *, seconds: int = 2, megabytes: int = 256, **args: Any
) -> Answer:
    fields = {"schema": schema, "arguments": args}
    return await pool.run("check_arguments", fields, seconds=seconds, megabytes=megabytes)


async def begin_endless(pool: ProcessPool, count: int = 1) -> list[asyncio.Task[Answer]]:
    """Work that ends only if somebody ends it; the children are at it."""
    tasks = [asyncio.create_task(ask(pool, ENDLESS, seconds=100, a=1)) for _ in range(count)]
    await until(lambda: is_true(len([id for id in pool.process_ids if is_limited(id)]) == min(count, CHILDREN)))
    return tasks


def is_limited(process_id: int) -> bool:
    return resource.prlimit(process_id, resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


async def is_true(answer: bool) -> bool:
    return answer


def is_alive(process_id: int) -> bool:
    return Path(f"/proc/{process_id}").exists()


async def test_one_child_answers_many_questions(pool: ProcessPool) -> None:
    assert pool.process_ids == [], "none is there before somebody asks"
    assert (await ask(pool, n=1)).fields == {"wrong": []}
    (child,) = pool.process_ids
    (wrong,) = (await ask(pool, n="x")).fields["wrong"]
    assert wrong.startswith("n: ")
    assert pool.process_ids == [child]


@pytest.mark.proves("L11")
async def test_a_child_has_the_limits_of_its_question(pool: ProcessPool) -> None:
    for seconds, megabytes in ((2, 256), (50, 512), (3, 300)):
        await ask(pool, seconds=seconds, megabytes=megabytes)
        (child,) = pool.process_ids
        assert resource.prlimit(child, resource.RLIMIT_AS)[0] == megabytes << 20
        assert seconds <= resource.prlimit(child, resource.RLIMIT_CPU)[0] <= seconds + 10
        assert resource.prlimit(child, resource.RLIMIT_FSIZE) == (0, 0)
        assert Path(f"/proc/{child}/oom_score_adj").read_text().strip() == "1000", "it goes before the server"


@pytest.mark.proves("L11")
async def test_work_that_takes_too_long_is_ended(pool: ProcessPool) -> None:
    await ask(pool)
    (child,) = pool.process_ids
    with pytest.raises(TooDear):
        await ask(pool, ENDLESS, seconds=1, a=1)
    assert not is_alive(child)
    await ask(pool)


@pytest.mark.proves("L11")
async def test_work_that_takes_too_much_memory_is_ended(pool: ProcessPool) -> None:
    with pytest.raises(ApartFailed):
        await ask(pool, nested(), seconds=20, megabytes=128, a=1)
    with pytest.raises(TooDear):
        await pool.run("draw_thumbnail", data=zeros(100 << 20), seconds=20, megabytes=128)
    assert pool.process_ids == []
    await ask(pool)


async def zeros(size: int) -> AsyncIterator[bytes]:
    for _ in range(size >> 20):
        yield bytes(1 << 20)


async def test_a_cancelled_caller_takes_its_child_along(pool: ProcessPool) -> None:
    (task,) = await begin_endless(pool)
    (child,) = pool.process_ids
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(child)
    await ask(pool)


async def test_no_more_than_two_children_work_at_once(pool: ProcessPool) -> None:
    tasks = await begin_endless(pool, 5)
    assert len(pool.process_ids) == CHILDREN == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert pool.process_ids == []


@pytest.mark.parametrize("how, failure", [(signal.SIGSEGV, Died), (signal.SIGKILL, TooDear)])
async def test_a_killed_child_is_replaced(pool: ProcessPool, how: signal.Signals, failure: type[ApartFailed]) -> None:
    (task,) = await begin_endless(pool)
    os.kill(pool.process_ids[0], how)
    with pytest.raises(failure):
        await task
    await ask(pool)
    (resting,) = pool.process_ids
    os.kill(resting, how)
    await until(lambda: is_true(not is_alive(resting)))
    await ask(pool)


async def test_only_functions_of_the_table_run(pool: ProcessPool) -> None:
    for name in ("os.system", "limit_resources", ""):
        with pytest.raises(Died):
            await pool.run(name, seconds=2, megabytes=256)
    with pytest.raises(Died):
        await pool.run("check_arguments", {"schema": {"type": "nonsense"}}, seconds=2, megabytes=256)


async def test_a_child_inherits_nothing(pool: ProcessPool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BULLPEN_TOKEN", "very-secret-indeed")
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        await ask(pool)
    (child,) = pool.process_ids
    assert b"very-secret-indeed" not in Path(f"/proc/{child}/environ").read_bytes()
    assert {path.name for path in Path(f"/proc/{child}/fd").iterdir()} == {"0", "1", "2"}


PIECE = "b'\\0\\x10\\0\\0' + bytes(1 << 20)"


@pytest.mark.parametrize(
    "said",
    ["b'\\xff' * 100", "b'\\0\\0\\0\\4null{}' + bytes(4)", "b'\\0\\0\\0\\1{' + bytes(4)", f"({PIECE}) * 40"],
    ids=["huge", "torn", "no JSON", "without end"],
)
async def test_a_child_that_was_taken_over_is_not_believed(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    program = f"import sys; sys.stdout.buffer.write({said}); sys.stdout.flush(); sys.stdin.read()"
    with monkeypatch.context() as patch:
        patch.setattr(pool_module, "PROGRAM", program)
        with pytest.raises(ApartFailed):
            await ask(pool, seconds=1)
    assert pool.process_ids == []
    await ask(pool)


async def test_a_child_that_nobody_asks_ends() -> None:
    pool = ProcessPool(idle_seconds=0.01)
    await ask(pool)
    await until(lambda: is_true(pool.process_ids == []))
    await ask(pool)
    await pool.close()


async def test_a_closed_pool_has_no_children_and_starts_none(pool: ProcessPool) -> None:
    await ask(pool)
    (task,) = await begin_endless(pool)
    children = pool.process_ids
    await pool.close()
    with pytest.raises(ApartFailed):
        await task
    assert not any(map(is_alive, children))
    with pytest.raises(Died):
        await ask(pool)
