"""The week-one test: a crash after any commit of a story changes nothing.

The story is told chapter by chapter, calmly. Then, for every chapter and every commit in it, a process tells it on a
copy of the database as it was before, and is killed with SIGKILL right after that commit: before anybody was told,
before any answer was given. Another process goes on; its client repeats what was not acknowledged. What the database
then tells must be what it tells when nobody dies, and every invariant must hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import KINDS, Database, Kind
from tests.durability import waiting_story
from tests.durability.chapters import CHAPTERS
from tests.durability.worlds import Worlds, in_memory, worlds_of

BOUND = 60
# A life on PostgreSQL spends most of its time waiting for a dead driver's lease.
AT_ONCE: dict[Kind, int] = {"sqlite": 2, "postgres": 6}
# It also takes half a second of CPU, so there every second commit is followed by a kill; EVERY_COMMIT=1: each one.
STEP: dict[Kind, int] = {"sqlite": 1, "postgres": 1 if os.environ.get("EVERY_COMMIT") else 2}


@dataclass(frozen=True)
class Chapter:
    """A chapter that was told calmly: where it began, and what the database told at its end."""

    name: str
    before: Database
    commits: int
    told: dict[str, Any]


@dataclass(frozen=True)
class Calm:
    worlds: Worlds
    chapters: dict[str, Chapter]


def live(forks: Forks, world: Database, *chapters: str, die_after: int | None = None) -> dict[str, Any] | None:
    """One life of an office. None: it was killed."""
    told = forks.run("tell", seconds=BOUND, url=world.url, data=str(world.data), chapters=chapters, die_after=die_after)
    return told[-1] if told else None


# ── calmly ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module", params=KINDS)
def calm(request: pytest.FixtureRequest, forks: Forks) -> Iterator[Calm]:
    """The whole story, on one kind of database."""
    with in_memory() as folder:
        worlds = worlds_of(request.param, request, folder)
        yield Calm(worlds, {chapter.name: chapter for chapter in tell_calmly(forks, worlds)})


def tell_calmly(forks: Forks, worlds: Worlds) -> Iterator[Chapter]:
    before = worlds.new()
    for name in CHAPTERS:
        after = worlds.new(before)
        told = live(forks, after, name)
        assert told is not None
        assert not told["violations"], name
        yield Chapter(name, before, told["commits"], told["told"])
        before = after


# ── and with kills ──────────────────────────────────────────────────────────────────────────────────────


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
    return killed, [f"killed after commit {commit}: {line}" for line in wrong]


@pytest.mark.proves("P1", "P2", "P3", "P4", "P5", "P6", "P12")
@pytest.mark.proves("V2", "V3", "V5", "V6", "V7", "V8", "V11", "V12", "V15", "V17", "C8", "C9", "C10")
@pytest.mark.parametrize("name", CHAPTERS)
def test_a_crash_after_any_commit_changes_nothing(calm: Calm, name: str, forks: Forks) -> None:
    chapter, worlds = calm.chapters[name], calm.worlds
    step = STEP[worlds.kind]
    # Of calls that wait the other half is chosen, so that not the same moments are left out everywhere.
    first = step if name in waiting_story.CHAPTERS else 1
    commits = range(first, chapter.commits + 1, step)
    with ThreadPoolExecutor(AT_ONCE[worlds.kind]) as pool:
        ends = list(pool.map(lambda commit: tell_with_a_kill(forks, worlds, chapter, commit), commits))
    wrong = [line for _, lines in ends for line in lines]
    assert not wrong, "\n".join(wrong[:20])
    # What shares a commit in one telling may have one each in another, so the last few kills may come too late.
    assert sum(killed for killed, _ in ends) >= len(commits) * 2 // 3


@pytest.mark.proves("V18")
def test_both_databases_tell_the_same_story(forks: Forks, request: pytest.FixtureRequest) -> None:
    with in_memory() as folder:
        sqlite, postgres = (live(forks, worlds_of(kind, request, folder).new(), *CHAPTERS) for kind in KINDS)
    assert sqlite is not None
    assert postgres is not None
    assert differences(sqlite["told"], postgres["told"]) == []
