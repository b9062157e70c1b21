"""A process that dies around a question to its model: half an answer does nothing, a stored one is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
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
STEPS = 3
ROUNDS = 3  # leases that are renewed are commits, too, so a busy machine may skip a place; it is tried again then

Found = dict[str, Any]


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.durability.model_children") as running:
        yield running


def live(children: Forks, world: Database, **more: Any) -> Found | None:
    """One life of an office. None: it was killed."""
    told = children.run("think", seconds=BOUND, url=world.url, data=str(world.data), **more)
    return told[-1] if told else None


def stored(world: Database) -> int:
    """How many answers of the model are kept."""
    runs = asyncio.run(snapshot.read(world.url))["runs"]
    return int(runs[0]["step"]) if runs else 0


@pytest.mark.proves("P1", "P4", "B-wire", "B-unfinished")
@pytest.mark.parametrize("death", ["in the stream", "before the answer is stored"])
def test_an_unstored_model_answer_has_no_effect(worlds: Worlds, children: Forks, death: str) -> None:
    """Crash points 3 and 4."""
    told = live(children, worlds.new())
    assert told is not None
    assert (told["violations"], told["problems"], told["questions"]) == ([], [], [0, 1, 2])
    world = worlds.new()
    assert live(children, world, death=death) is None
    rows = asyncio.run(snapshot.read(world.url))
    assert [row["text"] for row in rows.messages] == ["go"], "nobody was shown half an answer as a message"
    assert stored(world) == 0
    found = live(children, world)
    assert found is not None
    assert found["questions"] == [0, 1, 2], "the step is done again, from its beginning"
    assert [*found["violations"], *found["problems"], *differences(told["told"], found["told"])] == []


@pytest.mark.proves("P1", "P4", "P5")
def test_after_a_crash_models_are_asked_only_for_unstored_answers(worlds: Worlds, children: Forks) -> None:
    """Crash point 5, and every other."""
    told = live(children, worlds.new())
    assert told is not None

    def killed(commit: int) -> tuple[bool, int, list[str]]:
        world = worlds.new()
        found = live(children, world, die_after=commit)
        died, kept = found is None, stored(world)
        found = found or live(children, world)
        assert found is not None
        worlds.end(world)
        wrong = [*found["violations"], *found["problems"], *differences(told["told"], found["told"])]
        if died and found["questions"] != list(range(kept, STEPS)):
            wrong.append(f"{kept} answers were stored, and then it was asked for {found['questions']}")
        return died, kept, [f"killed after commit {commit}: {line}" for line in wrong]

    reached: set[int] = set()
    for _ in range(ROUNDS):
        with ThreadPoolExecutor(AT_ONCE[worlds.kind]) as pool:
            ends = list(pool.map(killed, range(1, told["commits"] + 1)))
        wrong = [line for *_, lines in ends for line in lines]
        assert not wrong, "\n".join(wrong[:20])
        reached |= {kept for died, kept, _ in ends if died}
        if reached >= set(range(STEPS)):
            break
    assert reached >= set(range(STEPS)), "somebody died after each of the answers"
