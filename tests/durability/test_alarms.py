"""Workers that fire tasks are killed all the time: each second of each task is fired once."""

from __future__ import annotations

import pytest

from bullpen.testing import alarms
from bullpen.testing.forks import Forks
from tests import effort
from tests.durability.worlds import Worlds


@pytest.mark.proves("P8", "V9")
async def test_killed_workers_neither_lose_nor_repeat_a_task_firing(worlds: Worlds, forks: Forks) -> None:
    """Crash point 17. Two workers on PostgreSQL; SQLite has one process."""
    world = worlds.new()
    workers = 2 if worlds.kind == "postgres" else 1
    kills = max(6, effort.count(40, sample=6))
    firings = 20 * kills
    seen = await alarms.storm(
        forks, world.url, world.data, tasks=80, firings=firings, kills=kills, workers=workers, gap=0.25
    )
    assert seen.faults == []
    assert seen.firings >= firings
