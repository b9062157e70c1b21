"""Calls whose result comes later, and a process that dies: the named crash points, each with what must hold after it.

The chapters of `waiting_story.py` are told by `test_crash_after_every_commit.py` with a SIGKILL after every commit on
SQLite, and after every second one on PostgreSQL unless EVERY_COMMIT is set; what the database tells in the end must be
what it tells when nobody dies. So each point below that lies at a commit is hit there at least once for every kind of
call on SQLite. Here the chapters "in time", "cards" and "posted" are killed after each commit on both databases. This
file also adds what no commit shows: the moments inside a request to the outside, and what a follower is told.

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
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bullpen.testing import snapshot
from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import Database
from tests.durability.worlds import Worlds

BOUND = 60
AT_ONCE = {"sqlite": 2, "postgres": 6}
POST = "something is posted"
SET_UP = ["the office is set up", "others are part of the work"]

Found = dict[str, Any]


def live(forks: Forks, world: Database, *chapters: str, seconds: float = BOUND, **how: Any) -> Found | None:
    """One life of an office. None: it was killed."""
    told = forks.run("wait", seconds=seconds, url=world.url, data=str(world.data), chapters=list(chapters), **how)
    return told[-1] if told else None


@pytest.fixture
def before(worlds: Worlds, forks: Forks) -> Database:
    """An office in which everybody is there, and nobody has said anything."""
    world = worlds.new()
    assert live(forks, world, *SET_UP) is not None
    return world


def each_commit(worlds: Worlds, forks: Forks, before: Database, chapter: str) -> tuple[Found, list[Found]]:
    """The chapter told calmly, and told with a kill after each of its commits."""
    calm = live(forks, worlds.new(before), chapter)
    assert calm is not None
    assert calm["violations"] == []

    def killed(commit: int) -> Found:
        world = worlds.new(before)
        ended = live(forks, world, chapter, die_after=commit) or live(forks, world, chapter)
        assert ended is not None, "the second life ended before its time"
        assert ended["violations"] == [], f"killed after commit {commit}"
        worlds.end(world)
        return ended

    with ThreadPoolExecutor(AT_ONCE[worlds.kind]) as pool:
        return calm, list(pool.map(killed, range(1, calm["commits"] + 1)))


def result_of(found: Found, agent: str) -> str:
    journal = found["told"]["runs"][f"{agent}@{agent}-room/1"]["journal"]
    return str(next(entry["result"] for entry in journal if entry["type"] == "tool_return_message"))


# ── points 6 and 7: requests to the outside ─────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P6", "V10")
def test_a_post_with_unknown_outcome_is_not_sent_again(worlds: Worlds, forks: Forks, before: Database) -> None:
    calm, ends = each_commit(worlds, forks, before, POST)
    assert calm["effects"] == ["once"]
    for end in ends:
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
@pytest.mark.parametrize("chapter", ["a gateway is asked", "calls are approved"])
@pytest.mark.parametrize("death, times", [("before the request", 1), ("in the request", 2)])
def test_a_put_is_resent_with_the_same_key_and_outcome(
    worlds: Worlds, forks: Forks, before: Database, chapter: str, death: str, times: int
) -> None:
    calm = live(forks, worlds.new(before), chapter)
    assert calm is not None
    found = died(forks, worlds.new(before), chapter, death)
    assert found["effects"] == ["idempotent"] * times
    assert differences(calm["told"], found["told"]) == []


def died(forks: Forks, world: Database, chapter: str, death: str) -> Found:
    assert live(forks, world, chapter, death=death) is None, f"it was to die {death}"
    found = live(forks, world, chapter)
    assert found is not None
    assert found["violations"] == []
    return found


# ── point 14: time-outs ─────────────────────────────────────────────────────────────────────────────────────────────

SLOW = 90.0  # with such a lease nobody sweeps twice in these tests


@pytest.mark.proves("C7", "S4-11")
def test_a_restarted_process_enforces_an_earlier_deadline(worlds: Worlds, forks: Forks, before: Database) -> None:
    """Not by the next regular sweep: a process that has just begun looks ahead."""
    world = worlds.new(before)
    assert live(forks, world, "a will is made", lease=SLOW) is not None
    (world.data / "acknowledged").unlink()
    found = live(forks, world, "it is carried out", lease=SLOW, seconds=SLOW / 3)
    assert found is not None
    assert found["violations"] == []
    assert "timed out after 3000ms" in result_of(found, "heir")


def test_a_restart_does_not_wake_a_waiting_run_early(worlds: Worlds, forks: Forks, before: Database) -> None:
    world = worlds.new(before)
    first = live(forks, world, "a little is waited for", lease=SLOW)
    assert first is not None
    again = live(forks, world, "a little is waited for", lease=SLOW)
    assert again is not None
    assert differences(first["told"], again["told"]) == []
    tokens = "SELECT count(*) FROM leases WHERE token > 1"
    assert asyncio.run(snapshot.ask(world.url, tokens)) == [(0,)], "somebody drove a run that waits"


# ── point 10: followers ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("C8", "C10", "V4", "V7")
@pytest.mark.parametrize("chapter", ["a result comes in time", "a person answers cards"])
def test_a_returning_follower_gets_events_committed_but_not_published(
    worlds: Worlds, forks: Forks, before: Database, chapter: str
) -> None:
    calm, ends = each_commit(worlds, forks, before, chapter)  # V4 compares each follower with the table
    wrong = [line for end in ends for line in differences(calm["told"], end["told"])]
    assert not wrong, "\n".join(wrong[:20])
