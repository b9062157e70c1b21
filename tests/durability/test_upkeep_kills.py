"""Backup, restore and erasure, killed at every point: a backup is whole or not there, an office is the old one or
the new one, and an erasure that was begun is finished by whoever comes next. (Crash point 24.)"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bullpen.errors import CannotStart
from bullpen.testing import invariants, snapshot
from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.driver import Offices
from tests.durability.worlds import Worlds
from tests.upkeep.copies import back_up, bring_back, rows_of
from tests.upkeep.offices import NAME, WORD, hits, live

BOUND = 60
MOST = 400  # points: more than any of these has
# On PostgreSQL there are hundreds of points, all in one transaction, and each costs a copy of a database.
STEP = {"sqlite": 1, "postgres": 9}


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.durability.upkeep_children") as running:
        yield running


async def lived_in(world: Database) -> str:
    """A lived-in office; the id of the person who will be forgotten."""
    async with AsyncExitStack() as stack:
        lived = await live(await Offices(world, stack).open(watch=False))
        return lived.erin_id


def killed_at(children: Forks, target: str, world: Database, path: Path, point: int) -> bool:
    """Was it killed there? False: it was over before."""
    told = children.run(target, seconds=BOUND, url=world.url, data=str(world.data), path=str(path), die_at=point)
    return not told


async def once_more(world: Database, path: Path) -> None:
    """PostgreSQL may take a second to notice that the killed one is gone."""
    async with asyncio.timeout(BOUND):
        while True:
            try:
                await bring_back(world, path, force=True)
                return
            except CannotStart as refusal:
                if "uses this database" not in str(refusal):
                    raise
                await asyncio.sleep(0.05)


def name_for(world: Database) -> str:
    return "office.db" if world.kind == "sqlite" else "office.jsonl.gz"


@pytest.mark.proves("V17")
async def test_a_killed_backup_leaves_a_complete_old_or_new_file(
    worlds: Worlds, children: Forks, tmp_path: Path
) -> None:
    world, empty = worlds.new(), worlds.new()
    path = tmp_path / name_for(world)
    await back_up(world, path)
    before = path.read_bytes()
    await lived_in(world)
    expected = await rows_of(world)
    replaced = False
    point = 0
    while killed_at(children, "backup", world, path, point := point + 1):
        assert point < MOST
        if path.read_bytes() != before:
            replaced = True
            await bring_back(empty, path, force=True)
            assert await rows_of(empty) == expected
    assert point > 5
    await bring_back(empty, path, force=True)
    assert await rows_of(empty) == expected
    assert replaced or point > 5
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name], "what a killed one left is gone"


@pytest.mark.proves("V17", "V14")
@pytest.mark.parametrize("form", ["own", "lines"])
async def test_a_killed_restore_leaves_the_old_or_the_new_office(
    worlds: Worlds, children: Forks, tmp_path: Path, form: str
) -> None:
    if form == "lines" and worlds.kind == "postgres":
        pytest.skip("lines are its own form")
    old, new = worlds.new(), worlds.new()
    await lived_in(new)
    path = tmp_path / (name_for(new) if form == "own" else "office.jsonl")
    await back_up(new, path)
    async with AsyncExitStack() as stack:
        office = await Offices(old, stack).open(watch=False)
        await office.space("old", private=True)
        await office.post("old", "what was there before")
    rows = {"old": await rows_of(old), "new": await rows_of(new)}
    seen: set[str] = set()
    point = 0
    while True:
        world = worlds.new(old)
        killed = killed_at(children, "restore", world, path, point := point + STEP[worlds.kind])
        found = await rows_of(world)
        [which] = [name for name, expected in rows.items() if found == expected]
        seen.add(which)
        if killed:
            await once_more(world, path)
            assert await rows_of(world) == rows["new"], point
        worlds.end(world)
        if not killed:
            break
        assert point < MOST
    assert seen == {"old", "new"}
    assert point > 10


async def test_an_erasure_killed_after_any_commit_is_finished_on_restart(worlds: Worlds, children: Forks) -> None:
    before = worlds.new()
    person_id = await lived_in(before)
    calm = worlds.new(before)
    [told] = children.run("erase", seconds=BOUND, url=calm.url, data=str(calm.data), kind="person", id=person_id)
    commits = told["commits"]
    assert commits > 15

    def live_twice(commit: int) -> Database:
        world = worlds.new(before)
        where = {"url": world.url, "data": str(world.data), "kind": "person"}
        if not children.run("erase", seconds=BOUND, id=person_id, die_after=commit, **where):
            # The first commits of a life are its own; before the erasure's, nothing has begun.
            assert children.run("erase", seconds=BOUND, id="", **where)
        return world

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(live_twice, range(1, commits + 1, 2 if worlds.kind == "sqlite" else 4)))
    erased = 0
    for world in ended:
        seen = await snapshot.read(world.url)
        assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
        begun = any(row["erased_at"] for row in seen["people"])
        erased += begun
        if begun:
            assert await hits(world, WORD) == []
            assert await hits(world, NAME) == []
    assert erased >= len(ended) - 5
