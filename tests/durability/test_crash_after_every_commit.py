"""The week-one test: a crash after any commit of a story changes nothing.

The story is told chapter by chapter, calmly. Then, for every chapter and every commit in it, a process tells it on a
copy of the database as it was before, and is killed with SIGKILL right after that commit: before anybody was told, before
any answer was given. Another process goes on; its client repeats what was not acknowledged. What both databases
then tell must be what they tell when nobody dies, and every invariant must hold.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import KINDS, Database, Kind
from tests.durability.story import CHAPTERS
from tests.durability.worlds import Worlds
from tests.postgres import MEMORY, PostgresServer

BOUND = 60
# A life on PostgreSQL spends most of its time waiting for a dead driver's lease.
AT_ONCE: dict[Kind, int] = {"sqlite": 2, "postgres": 6}


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    with Forks("tests.durability.children") as running:
        yield running


@pytest.fixture
def memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(params=KINDS)
def worlds(request: pytest.FixtureRequest, memory: Path) -> Worlds:
    return worlds_of(request.param, request, memory)


def worlds_of(kind: Kind, request: pytest.FixtureRequest, memory: Path) -> Worlds:
    template: Path | None = request.getfixturevalue("sqlite_template") if kind == "sqlite" else None
    server: PostgresServer | None = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    return Worlds(kind, memory / kind, template=template, server=server)


@dataclass(frozen=True)
class Chapter:
    name: str
    before: Database
    commits: int
    told: dict[str, Any]


def live(forks: Forks, world: Database, *chapters: str, die_after: int | None = None) -> dict[str, Any] | None:
    """One life of an office. None: it was killed."""
    told = forks.run("tell", seconds=BOUND, url=world.url, data=str(world.data), chapters=chapters, die_after=die_after)
    return told[-1] if told else None


def tell_calmly(forks: Forks, worlds: Worlds) -> Iterator[Chapter]:
    before = worlds.new()
    for name in CHAPTERS:
        after = worlds.new(before)
        told = live(forks, after, name)
        assert told is not None
        assert not told["violations"], name
        yield Chapter(name, before, told["commits"], told["told"])
        before = after


def tell_with_a_kill(forks: Forks, worlds: Worlds, chapter: Chapter, commit: int) -> tuple[bool, list[str]]:
    """Whether the kill came in time, and what is different afterwards."""
    world = worlds.new(chapter.before)
    ended = live(forks, world, chapter.name, die_after=commit)
    killed = ended is None
    if killed:
        ended = live(forks, world, chapter.name)
    assert ended is not None, "the second life ended before its time"
    worlds.end(world)
    wrong = [*ended["violations"], *differences(chapter.told, ended["told"])]
    return killed, [f"killed after commit {commit} of {chapter.name!r}: {line}" for line in wrong]


@pytest.mark.proves("P1", "P2", "P3", "P4", "P6", "P12", "V2", "V3", "V5", "V6", "V8", "V11", "V12", "V15", "V17")
def test_a_crash_after_any_commit_changes_nothing(worlds: Worlds, forks: Forks) -> None:
    chapters = list(tell_calmly(forks, worlds))
    kills = [(chapter, commit) for chapter in chapters for commit in range(1, chapter.commits + 1)]
    with ThreadPoolExecutor(AT_ONCE[worlds.kind]) as pool:
        ends = list(pool.map(lambda kill: tell_with_a_kill(forks, worlds, *kill), kills))
    wrong = [line for _, lines in ends for line in lines]
    assert not wrong, "\n".join(wrong[:20])
    killed = sum(killed for killed, _ in ends)
    # Two transactions that share a commit in one telling may have one each in another, so the last may not come.
    assert killed >= len(kills) - 2 * len(chapters)
    assert killed > 100


@pytest.mark.proves("V18")
def test_both_databases_tell_the_same_story(forks: Forks, memory: Path, request: pytest.FixtureRequest) -> None:
    told = [live(forks, worlds_of(kind, request, memory).new(), *CHAPTERS) for kind in KINDS]
    sqlite, postgres = told
    assert sqlite is not None
    assert postgres is not None
    assert differences(sqlite["told"], postgres["told"]) == []
