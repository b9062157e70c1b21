"""A small storm: a few random kills, on both databases. `make chaos` is the large one."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bullpen.testing.chaos import Plan, storm
from bullpen.testing.forks import Forks
from tests import effort
from tests.durability.worlds import Worlds


@pytest.mark.proves("P1", "P2", "P3", "P7", "P12", "V1", "V2", "V3", "V4", "V5", "V6", "V8", "V11", "V12", "V15", "V17")
def test_nothing_is_lost_or_doubled_however_often_servers_are_killed(worlds: Worlds, forks: Forks) -> None:
    kills = max(4, effort.count(60, sample=4))
    plan = Plan(kills=kills, posts=8 * kills, gap=0.2, seed=effort.SEED)
    if worlds.kind == "postgres":
        plan = replace(plan, servers=2, workers=1)
    world = worlds.new()
    figures = asyncio.run(storm(forks, world.url, world.data, plan))
    assert figures.violations == []
    assert figures.kills >= kills
    assert figures.posts >= plan.posts
    assert figures.runs_resumed > 0
