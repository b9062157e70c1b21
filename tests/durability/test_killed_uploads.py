"""Uploads, attachments and their deletion, killed at every point: a file is there whole or not at all, what was
acknowledged is there, counts are right, and one sweep later nothing is left over."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bullpen.testing import invariants, snapshot
from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.driver import Driver, Offices
from tests.durability.worlds import Worlds
from tests.files.offering import content

BOUND = 60
# Each point of PostgreSQL costs a copy of a database, and they are the same points.
STEP = {"sqlite": 1, "postgres": 5}


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.durability.file_children") as running:
        yield running


@pytest.mark.proves("V13", "E10")
async def test_a_killed_upload_leaves_a_whole_file_or_none(worlds: Worlds, children: Forks) -> None:
    before = worlds.new()
    await claimed(before)

    def live(die_at: int | None) -> tuple[Database, list[dict[str, int]]]:
        world = worlds.new(before)
        return world, children.run("live", seconds=BOUND, url=world.url, data=str(world.data), die_at=die_at)

    _, told = live(None)
    points = told[0]["points"]
    assert points > 25
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(live, range(1, points + 1, STEP[worlds.kind])))
    halves = 0
    for world, told in ended:
        assert told == [], "it was to be killed"
        blobs = world.data / "files"
        halves += any(blobs.glob("partial/*"))
        seen = invariants.Seen(await snapshot.read(world.url), blobs=blobs)
        assert invariants.check(seen)["V13"] == [], "before anything was swept"
        await sweep_and_look(world)
    assert halves, "none was killed in the middle of a file"


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
