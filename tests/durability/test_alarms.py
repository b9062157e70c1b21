"""Workers that fire tasks are killed all the time: each second of each task is fired once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bullpen.testing import alarms
from bullpen.testing.forks import Forks
from tests.durability.worlds import Worlds


@pytest.fixture(scope="module")
def workers() -> Iterator[Forks]:
    with Forks(alarms.MODULE) as running:
        yield running


@pytest.mark.proves("P8", "V9")
async def test_killed_workers_neither_lose_nor_repeat_a_task_firing(worlds: Worlds, workers: Forks) -> None:
    """Crash point 17. Two workers on PostgreSQL; SQLite has one process."""
    world = worlds.new()
    count = 2 if worlds.kind == "postgres" else 1
    seen = await alarms.storm(workers, world.url, world.data, tasks=40, firings=240, kills=12, workers=count, gap=0.25)
    assert seen.faults == []
    assert seen.firings >= 240
