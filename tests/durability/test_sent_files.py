"""An agent writes a file and sends it. Killed wherever you like, the file is there and sent once, and whole."""

from __future__ import annotations

import hashlib

import pytest

from bullpen.testing.forks import Forks
from tests.durability.lives import Ending, Found, kill_at, live, live_again, pick_kills
from tests.durability.sending_children import CONTENT, PATH
from tests.durability.worlds import Worlds

SAMPLE = {"sqlite": 3, "postgres": 2}
ONCE = [[hashlib.sha256(CONTENT).hexdigest()]]


@pytest.fixture(scope="module")
def calm(worlds: Worlds, forks: Forks) -> Found:
    found = live(forks, "send", worlds.new())
    assert found is not None
    assert look(found) == []
    return found


def attempt(forks: Forks, worlds: Worlds, **death: int) -> Ending:
    """Let the office live until it is killed, and then again."""
    world = worlds.new()
    found = live(forks, "send", world, **death)
    killed = found is None
    found = found or live_again(forks, "send", world)
    worlds.end(world)
    return Ending(killed, [f"killed at {death}: {line}" for line in look(found)])


def look(found: Found) -> list[str]:
    """What is wrong. A file that is sent again is kept in the same place."""
    written = {"path": PATH, "size": len(CONTENT)}
    expected = {"sent": ONCE, "blobs": 1, "orphans": 0, "reports": 1, "written": written, "vouched": ["[]"]}
    seen = {**found, "reports": found["folders"].count("report.txt")}
    return [f"{name}: {seen[name]}" for name, value in expected.items() if seen[name] != value]


@pytest.mark.proves("S2-16", "V10")
def test_a_file_is_sent_once_despite_kills_after_any_commit(worlds: Worlds, forks: Forks, calm: Found) -> None:
    before, after = calm["of"]
    assert after - before > 4
    commits = [before + number for number in pick_kills(after - before, sample=SAMPLE[worlds.kind], turn=1)]
    assert kill_at(worlds.kind, lambda commit: attempt(forks, worlds, die_after=commit), commits) == []


@pytest.mark.proves("S2-16", "E9")
def test_a_file_is_sent_once_despite_kills_between_file_writes(worlds: Worlds, forks: Forks, calm: Found) -> None:
    assert calm["points"] > 4
    points = pick_kills(calm["points"], sample=SAMPLE[worlds.kind], turn=2)
    assert kill_at(worlds.kind, lambda point: attempt(forks, worlds, die_at=point), points) == []
