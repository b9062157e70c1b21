"""The week-one test: a crash after any commit of a story changes nothing.

The story is told chapter by chapter, calmly. Then a process tells a chapter on a copy of the database as it was before,
and is killed with SIGKILL right after a commit: before anybody was told, before any answer was given. Another process
goes on; its client repeats what was not acknowledged. What the database then tells must be what it tells when nobody
dies, and every invariant must hold.

`make prove` does so for every commit of every chapter, on both databases. `make test` chooses one commit of each
chapter, sooner in one chapter and later in the next, and leaves out PostgreSQL for chapters that are like others. To
save time, it tells the story calmly on SQLite only: both databases tell the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

import pytest

from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import KINDS, Kind
from tests.durability.chapters import CHAPTERS
from tests.durability.lives import LONG, SAMPLED, Ending, kill_at, live, live_again, pick_kills
from tests.durability.tellings import NAMES, Chapter, Story
from tests.durability.worlds import in_memory, worlds_of

# Which of the multiples of the golden ratio a chapter begins with: the two databases are killed at different commits.
FIRST_TURN: Mapping[Kind, int] = {"sqlite": 0, "postgres": len(CHAPTERS)}
# Their kinds of transactions are those of other chapters: another tool, another column, another way to the same action.
ALIKE = {
    "the office is set up",
    "a reply wakes its author",
    "words are changed and taken back",
    "two ways to be silent",
    "text that nobody sent",
    "text that nobody sends",
    "a run is cancelled while its agent is paused",
    "an agent goes",
    "others are part of the work",
    "a run is cancelled with its result at hand",
    "calls are cancelled",
    "there is money",
    "a room spends",
    "a budget is taken back",
    "a clock is put up",
    "somebody plans",
    "a mind is set up",
    "a bridge sees a chat",
    "the chat is registered",
    "a group has a secret",
    "a maid moves in",
    "a skill is written",
    "a skill is approved",
    "a skill is gone",
}
assert set(CHAPTERS) >= ALIKE


@pytest.fixture(scope="module")
def stories(request: pytest.FixtureRequest, forks: Forks) -> Iterator[Callable[[Kind], Story]]:
    """The story on a kind of database."""
    with in_memory() as folder:

        @cache
        def find(kind: Kind) -> Story:
            found.append(Story(forks, worlds_of(kind, request, folder)))
            return found[-1]

        found: list[Story] = []
        yield find
        for story in found:
            story.worlds.end_all()


@pytest.fixture(scope="module", params=KINDS)
def story(request: pytest.FixtureRequest, stories: Callable[[Kind], Story]) -> Story:
    return stories(request.param)


def tell_with_a_kill(story: Story, chapter: Chapter, commit: int) -> Ending:
    world = story.worlds.new(story.beginning(chapter.name))
    death = {"die_in" if SAMPLED else "die_after": commit}
    ended = live(story.forks, "tell", world, chapters=[chapter.name], **death)
    killed = ended is None
    ended = ended or live_again(story.forks, "tell", world, chapters=[chapter.name])
    wrong = [*ended["violations"], *differences(chapter.told, ended["told"])]
    if wrong:
        story.worlds.end(world)
    else:
        story.go_on_from(chapter.name, world)
    return Ending(killed, [f"killed after commit {commit}: {line}" for line in wrong])


@pytest.mark.proves("P1", "P2", "P3", "P4", "P5", "P6", "P12")
@pytest.mark.proves("V2", "V3", "V5", "V6", "V7", "V8", "V11", "V12", "V15", "V17", "C8", "C9", "C10")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.one_database if name in ALIKE else ()) for name in CHAPTERS]
)
def test_a_crash_after_any_commit_changes_nothing(story: Story, stories: Callable[[Kind], Story], name: str) -> None:
    turn = FIRST_TURN[story.worlds.kind] + NAMES.index(name)
    if SAMPLED:
        chapter = stories("sqlite").calm(name)
        # Counted from the first deed: what a process commits when it starts is the same in all chapters.
        commits = pick_kills(chapter.commits - chapter.began, sample=1, turn=turn)
    else:
        chapter = story.calm(name)
        commits = pick_kills(chapter.commits, sample=1, turn=turn)
    wrong = kill_at(story.worlds.kind, partial(tell_with_a_kill, story, chapter), commits)
    assert not wrong, "\n".join(wrong[:20])
    story.leave(name)


@pytest.mark.proves("V18")
def test_both_databases_tell_the_same_story(stories: Callable[[Kind], Story], forks: Forks) -> None:
    sqlite = stories("sqlite").calm(NAMES[-1])
    postgres = live(forks, "tell", stories("postgres").worlds.new(), chapters=NAMES, seconds=LONG)
    assert postgres is not None
    assert differences(sqlite.told, postgres["told"]) == []
