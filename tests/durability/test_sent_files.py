"""An agent writes a file and sends it. Killed wherever you like, the file is sent once, and whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.durability.sending_children import CONTENT
from tests.durability.worlds import Worlds

BOUND = 60
# Each point on PostgreSQL costs a copy of a database.
STEP = {"sqlite": 1, "postgres": 2}
ONCE = [[hashlib.sha256(CONTENT).hexdigest()]]


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.durability.sending_children") as running:
        yield running


def live(children: Forks, worlds: Worlds, world: Database, **death: int) -> bool:
    """Let the office live until it is killed, and then again. Was it killed?"""
    told = children.run("send", seconds=BOUND, url=world.url, data=str(world.data), **death)
    killed = not told
    if killed:
        told = children.run("send", seconds=BOUND, url=world.url, data=str(world.data))
    assert told[0]["sent"] == ONCE
    assert (told[0]["blobs"], told[0]["orphans"]) == (1, 0), "tried again, its bytes are kept in the same place"
    assert told[0]["folders"].count("report.txt") == 1
    worlds.end(world)
    return killed


@pytest.mark.proves("S2-16", "V10")
def test_a_file_is_sent_once_despite_kills_after_any_commit(worlds: Worlds, children: Forks) -> None:
    world = worlds.new()
    [calm] = children.run("send", seconds=BOUND, url=world.url, data=str(world.data))
    before, after = calm["of"]
    assert after - before > 4
    for commit in range(before, after, STEP[worlds.kind]):
        live(children, worlds, worlds.new(), die_after=commit)


@pytest.mark.proves("S2-16", "E9")
def test_a_file_is_sent_once_despite_kills_between_file_writes(worlds: Worlds, children: Forks) -> None:
    point = 1
    while live(children, worlds, worlds.new(), die_at=point):
        point += STEP[worlds.kind]
    assert point > 4
