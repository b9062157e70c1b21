"""A process that dies around a question to its model: half an answer does nothing, a stored one is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bullpen.testing import snapshot
from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import Database
from tests.durability.lives import Ending, Found, kill_at, live, live_again, pick_kills
from tests.durability.worlds import Worlds

STEPS = 3
SAMPLE = {"sqlite": 4, "postgres": 3}


@pytest.fixture(scope="module")
def calm(worlds: Worlds, forks: Forks) -> Found:
    """What is told when nobody dies."""
    found = live(forks, "think", worlds.new())
    assert found is not None
    assert (found["violations"], found["problems"], found["questions"]) == ([], [], [0, 1, 2])
    return found


def stored(world: Database) -> int:
    """How many answers of the model are kept."""
    runs = asyncio.run(snapshot.read(world.url))["runs"]
    return int(runs[0]["step"]) if runs else 0


@pytest.mark.proves("P1", "P4", "B-wire", "B-unfinished")
@pytest.mark.parametrize("death", ["in the stream", "before the answer is stored"])
def test_an_unstored_model_answer_has_no_effect(worlds: Worlds, forks: Forks, calm: Found, death: str) -> None:
    """Crash points 3 and 4."""
    world = worlds.new()
    assert live(forks, "think", world, death=death) is None
    rows = asyncio.run(snapshot.read(world.url))
    assert [row["text"] for row in rows.messages] == ["go"], "nobody was shown half an answer as a message"
    assert stored(world) == 0
    found = live_again(forks, "think", world)
    assert found["questions"] == [0, 1, 2], "the step is done again, from its beginning"
    assert [*found["violations"], *found["problems"], *differences(calm["told"], found["told"])] == []


@pytest.mark.proves("P1", "P4", "P5")
def test_after_a_crash_models_are_asked_only_for_unstored_answers(worlds: Worlds, forks: Forks, calm: Found) -> None:
    """Crash point 5, and every other."""
    reached: set[int] = set()

    def attempt(commit: int) -> Ending:
        world = worlds.new()
        found = live(forks, "think", world, die_after=commit)
        died, kept = found is None, stored(world)
        found = found or live_again(forks, "think", world)
        worlds.end(world)
        wrong = [*found["violations"], *found["problems"], *differences(calm["told"], found["told"])]
        if died:
            reached.add(kept)
        if died and found["questions"] != list(range(kept, STEPS)):
            wrong.append(f"{kept} answers were stored, and then it was asked for {found['questions']}")
        return Ending(died, [f"killed after commit {commit}: {line}" for line in wrong])

    commits = pick_kills(calm["commits"], sample=SAMPLE[worlds.kind], began=calm["began"])
    wrong = kill_at(worlds.kind, attempt, commits)
    # Whatever was chosen, and however busy the machine is: somebody dies after each of the answers.
    for commit in range(calm["commits"], 0, -1):
        if reached >= set(range(STEPS)):
            break
        wrong += attempt(commit).wrong
    assert not wrong, "\n".join(wrong[:20])
    assert reached >= set(range(STEPS))


@pytest.mark.proves("P1", "V6")
def test_calls_that_began_before_a_crash_are_abandoned(worlds: Worlds, forks: Forks, calm: Found) -> None:
    """Somebody saw the call begin; then the process dies before the answer is whole."""
    world = worlds.new()
    assert live(forks, "think", world, death="once a call has begun", watched=True) is None
    rows = asyncio.run(snapshot.read(world.url))
    (lost,) = [event["body"]["call"]["callId"] for event in rows.events if event["type"] == "tool.started"]
    found = live_again(forks, "think", world, watched=True)
    assert found["questions"] == [0, 1, 2]
    assert [*found["violations"], *found["problems"]] == []
    ends: dict[str, list[Any]] = {}
    for type, call_id, code in found["begun"]:
        ends.setdefault(call_id, []).append((type, code))
    assert next(iter(ends)) == lost, "it ends before anything else begins"
    assert ends.pop(lost) == [("tool.started", None), ("tool.error", "abandoned")]
    assert list(ends.values()) == [[("tool.started", None), ("tool.done", None)]] * 3
    assert found["begun"][1][1] == lost


@pytest.mark.proves("P4", "V6")
def test_each_call_ends_once_after_a_crash_at_any_commit(worlds: Worlds, forks: Forks) -> None:
    """While somebody follows, so that calls begin before their answers are kept."""
    calm = live(forks, "think", worlds.new(), watched=True)
    assert calm is not None
    assert calm["violations"] == []

    def attempt(commit: int) -> Ending:
        world = worlds.new()
        found = live(forks, "think", world, die_after=commit, watched=True)
        died = found is None
        found = found or live_again(forks, "think", world, watched=True)
        worlds.end(world)
        wrong = [*found["violations"], *found["problems"]]
        return Ending(died, [f"killed after commit {commit}: {line}" for line in wrong])

    commits = pick_kills(calm["commits"], sample=SAMPLE[worlds.kind], began=calm["began"])
    wrong = kill_at(worlds.kind, attempt, commits)
    assert not wrong, "\n".join(wrong[:20])
