"""A chat elsewhere. Killed wherever you like: all of it arrives, in order, and nothing twice without the mark."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing.bridges import Fate
from bullpen.testing.forks import Forks
from tests.durability.bridge_children import EXPECTED
from tests.durability.lives import Ending, Found, kill_at, live, live_again, pick_kills
from tests.durability.worlds import Worlds

SAMPLE = {"sqlite": 4, "postgres": 3}


@pytest.fixture(scope="module")
def calm(worlds: Worlds, forks: Forks) -> Found:
    found = live(forks, "bridge", worlds.new())
    assert found is not None
    assert look(found) == []
    assert found["repeated"] == []
    return found


def look(found: Found) -> list[str]:
    wrong = list(found["violations"])
    if found["shown"] != EXPECTED:
        wrong.append(f"they see {found['shown']}")
    if not set(found["statuses"]) <= {"sent", "dropped"}:
        wrong.append(f"entries are {found['statuses']}")
    return wrong


def attempt(forks: Forks, worlds: Worlds, **death: Any) -> Ending:
    """Let the office live until it is killed, and then again."""
    world = worlds.new()
    found = live(forks, "bridge", world, **death)
    killed = found is None
    found = found or live_again(forks, "bridge", world)
    worlds.end(world)
    wrong = look(found)
    if len(found["repeated"]) > 1:
        wrong.append(f"{found['repeated']} were repeated after one kill")
    if death.get("fate") == "die after" and killed and not found["repeated"]:
        wrong.append("a lost answer left no mark")
    return Ending(killed, [f"killed at {death}: {line}" for line in wrong])


@pytest.mark.proves("B-outbox", "B-inbound")
def test_everything_arrives_once_despite_kills_after_any_commit(worlds: Worlds, forks: Forks, calm: Found) -> None:
    before, after = calm["of"]
    commits = [before + number for number in pick_kills(after - before, sample=SAMPLE[worlds.kind], turn=1)]
    assert kill_at(worlds.kind, lambda commit: attempt(forks, worlds, die_after=commit), commits) == []


@pytest.mark.proves("B-outbox", "K5")
@pytest.mark.parametrize("fate", ["die before", "die after"])
def test_everything_arrives_despite_kills_around_any_attempt(
    worlds: Worlds, forks: Forks, calm: Found, fate: Fate
) -> None:
    attempts = pick_kills(calm["attempts"], sample=SAMPLE[worlds.kind], turn=2)
    assert kill_at(worlds.kind, lambda number: attempt(forks, worlds, die_at=number, fate=fate), attempts) == []
