"""Calls whose result comes later, and a process that dies: the named crash points, each with what must hold after it.

The chapters of `waiting_story.py` are told by `test_crash_after_every_commit.py` with a SIGKILL after a commit; what
the database tells in the end must be what it tells when nobody dies. `make prove` does so for every commit on both
databases, so each point below that lies at a commit is hit there for every kind of call. The same goes for the
chapters "in time", "cards" and "posted" in this file. It also adds what no commit shows: the moments inside a request
to the outside, and what a follower is told.

| point | where it is hit | what must hold |
|---|---|---|
| 6 intent stored, effect not begun | here: killed when the name is looked up | PUT sent; POST never: outcome unknown |
| 7 effect done, result not stored | here: killed by the server that is asked | PUT again, same key; POST unknown |
| 10 committed, before it was published | here: a follower that comes back | told from the table: no gap, no repeat |
| 11 call kept, nobody told | every chapter, after the commit that asks | the next life finds it in the list |
| 12 accepted, before the answer (C10) | every `answer`, killed at its commit | the retry is a duplicate; told once |
| 13 accepted, run has not read it (C8, C9) | "in time", "cards", "at hand" | told once: inline; by inbox if cancelled |
| 14 at the flip of the time-out | "results come too late" | time-out told once, result by inbox once |
| 15 inbox row written, before the wake | "a result comes later", "too late" | a run starts; it has the result |
| 16 last step done, run not over | every chapter | no further message, no further step |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache

import pytest

from bullpen.testing import snapshot
from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import Database
from tests.durability.lives import Ending, Found, kill_at, live, live_again, pick_kills
from tests.durability.worlds import Worlds
from tests.waits import BOUND

POST = "something is posted"
SET_UP = ["the office is set up", "others are part of the work"]
FOLLOWED = ["a result comes in time", "a person answers cards"]
TURNS = [POST, *FOLLOWED]
SAMPLE = {"sqlite": 2, "postgres": 1}

Calm = Callable[[str], Found]


@pytest.fixture(scope="module")
def before(worlds: Worlds, forks: Forks) -> Database:
    """An office in which everybody is there, and nobody has said anything."""
    world = worlds.new()
    assert live(forks, "wait", world, chapters=SET_UP) is not None
    return world


@pytest.fixture(scope="module")
def calm(worlds: Worlds, forks: Forks, before: Database) -> Calm:
    """What is told at the end of a chapter when nobody dies."""

    @cache
    def tell(chapter: str) -> Found:
        found = live(forks, "wait", worlds.new(before), chapters=[chapter])
        assert found is not None
        assert found["violations"] == []
        return found

    return tell


def tell_with_kills(worlds: Worlds, forks: Forks, before: Database, calm: Found, chapter: str) -> list[Found]:
    """The chapter, each time with a kill after another of its commits."""
    ends = []

    def attempt(commit: int) -> Ending:
        world = worlds.new(before)
        found = live(forks, "wait", world, chapters=[chapter], die_after=commit)
        killed = found is None
        found = found or live_again(forks, "wait", world, chapters=[chapter])
        ends.append(found)
        worlds.end(world)
        return Ending(killed, [f"killed after commit {commit}: {line}" for line in found["violations"]])

    turn = TURNS.index(chapter)
    commits = pick_kills(calm["commits"], sample=SAMPLE[worlds.kind], turn=turn, began=calm["began"])
    assert kill_at(worlds.kind, attempt, commits) == []
    return ends


def result_of(found: Found, agent: str) -> str:
    journal = found["told"]["runs"][f"{agent}@{agent}-room/1"]["journal"]
    return str(next(entry["result"] for entry in journal if entry["type"] == "tool_return_message"))


# ── points 6 and 7: requests to the outside ─────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P6", "V10")
def test_a_post_with_unknown_outcome_is_not_sent_again(
    worlds: Worlds, forks: Forks, before: Database, calm: Calm
) -> None:
    assert calm(POST)["effects"] == ["once"]
    for end in tell_with_kills(worlds, forks, before, calm(POST), POST):
        unknown = '"outcome":"unknown"' in result_of(end, "poster")
        assert unknown or end["effects"] == ["once"]
        assert len(end["effects"]) <= 1


@pytest.mark.proves("P6", "V10")
@pytest.mark.parametrize("death, sent", [("before the request", []), ("in the request", ["once"])])
def test_a_post_interrupted_by_a_crash_is_not_sent_again(
    worlds: Worlds, forks: Forks, before: Database, death: str, sent: list[str]
) -> None:
    found = died(forks, worlds.new(before), POST, death)
    assert found["effects"] == sent
    assert '"outcome":"unknown"' in result_of(found, "poster")
    (card,) = [m for m in found["told"]["spaces"]["poster-room"] if m["type"] == "tool"]
    assert card["status"] == "error"


@pytest.mark.proves("P6", "V10")
@pytest.mark.parametrize(
    "chapter",
    # Approved calls are killed on both databases in test_approved_calls.py.
    ["a gateway is asked", pytest.param("calls are approved", marks=pytest.mark.one_database)],
)
@pytest.mark.parametrize("death, times", [("before the request", 1), ("in the request", 2)])
def test_a_put_is_resent_with_the_same_key_and_outcome(
    worlds: Worlds, forks: Forks, before: Database, calm: Calm, chapter: str, death: str, times: int
) -> None:
    found = died(forks, worlds.new(before), chapter, death)
    assert found["effects"] == ["idempotent"] * times
    assert differences(calm(chapter)["told"], found["told"]) == []


def died(forks: Forks, world: Database, chapter: str, death: str) -> Found:
    assert live(forks, "wait", world, chapters=[chapter], death=death) is None, f"it was to die {death}"
    found = live_again(forks, "wait", world, chapters=[chapter])
    assert found["violations"] == []
    return found


# ── point 14: time-outs ─────────────────────────────────────────────────────────────────────────────────────────────

SLOW = 4 * BOUND  # with such a lease nobody sweeps twice in these tests


@pytest.mark.proves("C7", "S4-11")
def test_a_restarted_process_enforces_an_earlier_deadline(worlds: Worlds, forks: Forks, before: Database) -> None:
    """Not by the next regular sweep: a process that has just begun looks ahead."""
    world = worlds.new(before)
    assert live(forks, "wait", world, chapters=["a will is made"], lease=SLOW) is not None
    (world.data / "acknowledged").unlink()
    found = live(forks, "wait", world, chapters=["it is carried out"], lease=SLOW)
    assert found is not None
    assert found["violations"] == []
    assert "timed out after 3000ms" in result_of(found, "heir")


def test_a_restart_does_not_wake_a_waiting_run_early(worlds: Worlds, forks: Forks, before: Database) -> None:
    world = worlds.new(before)
    first = live(forks, "wait", world, chapters=["a little is waited for"], lease=SLOW)
    assert first is not None
    again = live(forks, "wait", world, chapters=["a little is waited for"], lease=SLOW)
    assert again is not None
    assert differences(first["told"], again["told"]) == []
    tokens = "SELECT count(*) FROM leases WHERE token > 1"
    assert asyncio.run(snapshot.ask(world.url, tokens)) == [(0,)], "somebody drove a run that waits"


# ── point 10: followers ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("C8", "C10", "V4", "V7")
@pytest.mark.parametrize("chapter", FOLLOWED)
def test_a_returning_follower_gets_events_committed_but_not_published(
    worlds: Worlds, forks: Forks, before: Database, calm: Calm, chapter: str
) -> None:
    # V4 compares each follower with the table.
    ends = tell_with_kills(worlds, forks, before, calm(chapter), chapter)
    wrong = [line for end in ends for line in differences(calm(chapter)["told"], end["told"])]
    assert not wrong, "\n".join(wrong[:20])
