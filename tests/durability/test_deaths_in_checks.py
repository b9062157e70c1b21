"""A process that dies while it checks a call's arguments: tried again once, then the run ends and its people know."""

from __future__ import annotations

import pytest

from bullpen.testing.forks import Forks
from tests.databases import Database, sql
from tests.durability.check_children import Moment
from tests.durability.lives import RUN_OUT, Found, live, live_again
from tests.durability.worlds import Worlds


def die(forks: Forks, world: Database, moment: Moment) -> None:
    if world.kind == "postgres":
        sql(world.url, *RUN_OUT)
    assert live(forks, "check", world, die=moment) is None, "it was to die"


def go_on(forks: Forks, world: Database) -> Found:
    found = live_again(forks, "check", world)
    assert found["violations"] == []
    assert found["mark"] is None
    return found


@pytest.mark.proves("P12", "V10")
def test_two_deaths_in_one_check_end_the_run_as_broken(worlds: Worlds, forks: Forks) -> None:
    world = worlds.new()
    die(forks, world, "check")
    die(forks, world, "check")
    found = go_on(forks, world)
    assert (found["status"], found["stop_reason"]) == ("failed", "broken")
    assert "died twice" in found["error"]
    assert "call_" in found["error"]
    (notice,) = [text for text in found["said"] if text != "go"]
    assert "sort" in notice
    assert "died twice" in notice
    (result,) = found["results"]
    assert "Not run" in result


@pytest.mark.proves("P12", "V10")
def test_a_single_death_in_a_check_is_survived(worlds: Worlds, forks: Forks) -> None:
    world = worlds.new()
    die(forks, world, "check")
    found = go_on(forks, world)
    assert (found["status"], found["said"]) == ("completed", ["go", "sorted"])


@pytest.mark.proves("P12", "V10")
def test_deaths_without_a_mark_never_count(worlds: Worlds, forks: Forks) -> None:
    world = worlds.new()
    die(forks, world, "check")
    for _ in range(3):
        die(forks, world, "found")
    found = go_on(forks, world)
    assert (found["status"], found["said"]) == ("completed", ["go", "sorted"])


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_late_call_is_given_up_after_two_deaths(worlds: Worlds, forks: Forks, deaths: int) -> None:
    world = worlds.new()
    for _ in range(deaths):
        if world.kind == "postgres":
            sql(world.url, *RUN_OUT)
        assert live(forks, "check_late", world, die=True) is None, "it was to die"
    found = live_again(forks, "check_late", world)
    assert (found["violations"], found["mark"], found["delivered"]) == ([], None, "inbox")
    (heard,) = found["heard"]
    told = [text for text in found["said"] if "died twice" in text]
    assert ("died twice" in heard, len(told)) == (deaths == 2, deaths - 1)
    assert found["said"][-1] == "heard later"
