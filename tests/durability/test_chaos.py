"""A small storm: a score of random kills, on both databases. `make chaos` is the large one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from bullpen.testing.chaos import Plan, storm
from bullpen.testing.forks import Forks
from tests.durability.worlds import Worlds

PLANS = {
    "sqlite": Plan(kills=20, posts=150, gap=0.2),
    "postgres": Plan(kills=20, posts=150, gap=0.2, servers=2, workers=1),
}


@pytest.fixture(scope="module")
def servers() -> Iterator[Forks]:
    with Forks("bullpen.testing.serving") as running:
        yield running


@pytest.mark.proves("P1", "P2", "P3", "P7", "P12", "V1", "V2", "V3", "V4", "V5", "V6", "V8", "V11", "V12", "V15", "V17")
def test_nothing_is_lost_or_doubled_however_often_servers_are_killed(worlds: Worlds, servers: Forks) -> None:
    world = worlds.new()
    figures = asyncio.run(storm(servers, world.url, world.data, PLANS[worlds.kind]))
    assert figures.violations == []
    assert figures.kills == 20
    assert figures.posts >= 150
    assert figures.runs_resumed > 0
