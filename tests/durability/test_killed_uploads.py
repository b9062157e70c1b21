"""Uploads, attachments and their deletion, killed at every point: a file is there whole or not at all, what was
acknowledged is there, counts are right, and one sweep later nothing is left over."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bullpen.testing import invariants, snapshot
from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.durability.lives import live, pick_kills
from tests.durability.worlds import Worlds
from tests.files.offering import content

SAMPLE = {"sqlite": 4, "postgres": 3}


@pytest.mark.proves("V13", "E10")
async def test_a_killed_upload_leaves_a_whole_file_or_none(worlds: Worlds, forks: Forks) -> None:
    before = worlds.new()
    await claimed(before)

    calm = await asyncio.to_thread(live, forks, "upload", worlds.new(before))
    assert calm is not None
    points = calm["points"]
    assert points > 25
    halves = 0
    for point in pick_kills(points, sample=SAMPLE[worlds.kind]):
        halves += await kill_and_look(worlds, forks, before, point)
    # Whatever was chosen: somebody is killed in the middle of a file.
    for point in range(1, points):
        halves = halves or await kill_and_look(worlds, forks, before, point)
    assert halves


async def kill_and_look(worlds: Worlds, forks: Forks, before: Database, point: int) -> bool:
    """Whether it was killed in the middle of a file."""
    world = worlds.new(before)
    assert await asyncio.to_thread(live, forks, "upload", world, die_at=point) is None, "it was to be killed"
    blobs = world.data / "files"
    half = any(blobs.glob("partial/*"))
    seen = invariants.Seen(await snapshot.read(world.url), blobs=blobs)
    assert invariants.check(seen)["V13"] == [], "before anything was swept"
    await sweep_and_look(world)
    worlds.end(world)
    return half


async def claimed(world: Database) -> None:
    async with AsyncExitStack() as stack:
        await Offices(world, stack).open(watch=False, drive=False)


async def sweep_and_look(world: Database) -> None:
    async with AsyncExitStack() as stack:
        office = await Offices(world, stack).open(watch=False, drive=False)
        await office.office.sweeper.round(idle=0)
        rows = await snapshot.read(world.url)
        seen = invariants.Seen(rows, blobs=world.data / "files", swept=True)
        assert invariants.check(seen)["V13"] == []
        await acknowledged_is_there(office, world.data / "acknowledged")


async def acknowledged_is_there(office: Driver, notes: Path) -> None:
    done = notes.read_text().split() if notes.exists() else []
    taken_back = {message["id"] for message in await office.messages("general") if "deletedAt" in message}
    gone = set(done[:2]) if "deleted" in done or taken_back else set()
    for id in done:
        if id.startswith("fil_") and id not in gone:
            assert await content(office, id)
        elif id.startswith("fil_"):
            await office.get(f"/files/{id}", status=404)
