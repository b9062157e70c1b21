"""Backup, restore and erasure, killed at every point: a backup is whole or not there, an office is the old one or
the new one, and an erasure that was begun is finished by whoever comes next. (Crash point 24.)"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bullpen.errors import CannotStart
from bullpen.testing import invariants, snapshot
from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.driver import Offices
from tests.durability.lives import Found, live, live_again, pick_kills
from tests.durability.worlds import Worlds
from tests.upkeep.copies import back_up, bring_back, rows_of
from tests.upkeep.homes import Home, move_in
from tests.upkeep.offices import NAME, WORD, hits
from tests.waits import BOUND

SAMPLE = {"sqlite": 3, "postgres": 2}
# One of the first five begins the erasure. An office that starts on a busy machine makes some of its own.
FIRST_COMMITS = 10


@pytest.fixture(scope="module")
def home(worlds: Worlds) -> Home:
    """A lived-in office. Only to be copied."""
    return move_in(worlds.new())


async def run(forks: Forks, target: str, world: Database, **how: Any) -> Found | None:
    return await asyncio.to_thread(live, forks, target, world, **how)


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
    worlds: Worlds, forks: Forks, home: Home, tmp_path: Path
) -> None:
    world, empty = worlds.new(home.database), worlds.new()
    old, path = tmp_path / "old", tmp_path / "new" / name_for(world)
    path.parent.mkdir()
    await back_up(empty, path)
    shutil.copy(path, old)
    expected = await rows_of(world)
    calm = await run(forks, "backup", world, path=str(path))
    assert calm is not None
    assert calm["points"] > 5
    # The last one is nearest to the moment at which the new file takes the place of the old one.
    for point in [*pick_kills(calm["points"] - 1, sample=SAMPLE[worlds.kind]), calm["points"]]:
        shutil.copy(old, path)
        assert await run(forks, "backup", world, path=str(path), die_at=point) is None, f"killed at {point}"
        if path.read_bytes() != old.read_bytes():
            await bring_back(empty, path, force=True)
            assert await rows_of(empty) == expected
    assert await run(forks, "backup", world, path=str(path)) is not None
    await bring_back(empty, path, force=True)
    assert await rows_of(empty) == expected
    assert [each.name for each in path.parent.iterdir()] == [path.name], "what a killed one left is gone"


@pytest.mark.proves("V17", "V14")
@pytest.mark.parametrize("form", ["own", "lines"])
async def test_a_killed_restore_leaves_the_old_or_the_new_office(
    worlds: Worlds, forks: Forks, home: Home, tmp_path: Path, form: str
) -> None:
    if form == "lines" and worlds.kind == "postgres":
        pytest.skip("lines are its own form")
    old, new = worlds.new(), home.database
    path = tmp_path / (name_for(new) if form == "own" else "office.jsonl")
    await back_up(new, path)
    async with AsyncExitStack() as stack:
        office = await Offices(old, stack).open(watch=False)
        await office.space("old", private=True)
        await office.post("old", "what was there before")
    rows = {"old": await rows_of(old), "new": await rows_of(new)}
    calm = worlds.new(old)
    whole = await run(forks, "restore", calm, path=str(path))
    assert whole is not None
    assert whole["points"] > 10
    assert await rows_of(calm) == rows["new"]
    seen = {"new"}
    for point in pick_kills(whole["points"], sample=SAMPLE[worlds.kind]):
        world = worlds.new(old)
        killed = await run(forks, "restore", world, path=str(path), die_at=point) is None
        found = await rows_of(world)
        [which] = [name for name, expected in rows.items() if found == expected]
        seen.add(which)
        assert killed or which == "new", point
        if killed:
            await once_more(world, path)
            assert await rows_of(world) == rows["new"], point
        worlds.end(world)
    assert seen == {"old", "new"}


async def test_an_erasure_killed_after_any_commit_is_finished_on_restart(
    worlds: Worlds, forks: Forks, home: Home
) -> None:
    before, person_id = home.database, home.erin_id
    calm = await run(forks, "erase", worlds.new(before), kind="person", id=person_id)
    assert calm is not None
    assert calm["commits"] > 15
    begun = 0
    commits = pick_kills(calm["commits"], sample=SAMPLE[worlds.kind], turn=1, began=calm["began"])
    for commit in commits:
        world = worlds.new(before)
        if await run(forks, "erase", world, kind="person", id=person_id, die_after=commit) is None:
            await asyncio.to_thread(live_again, forks, "erase", world, kind="person", id="")
        begun += await is_erased(world)
        worlds.end(world)
    assert begun >= sum(commit > calm["began"] + FIRST_COMMITS for commit in commits)


async def is_erased(world: Database) -> bool:
    """Whether the erasure had begun. If so, it must be done."""
    seen = await snapshot.read(world.url)
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
    if not any(row["erased_at"] for row in seen["people"]):
        return False
    assert await hits(world, WORD) == []
    assert await hits(world, NAME) == []
    return True
