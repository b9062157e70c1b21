"""Calls that were approved, and a process that dies: they are carried out once, and their agent hears of it once.

A late approval is the hard case: the run that asked has gone on, so the call has no run's journal to be safe in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.databases import Database
from tests.durability.worlds import Worlds

BOUND = 60
AT_ONCE = {"sqlite": 2, "postgres": 6}

Found = dict[str, Any]


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with Forks("tests.durability.approval_children") as running:
        yield running


def live(children: Forks, world: Database, agents: Sequence[str], die_after: int | None = None) -> Found | None:
    """One life of an office. None: it was killed."""
    told = children.run(
        "approve", seconds=BOUND, url=world.url, data=str(world.data), agents=list(agents), die_after=die_after
    )
    return told[-1] if told else None


@pytest.mark.proves("P5", "P6", "C8")
@pytest.mark.parametrize(
    "agents",
    [["keeper"], ["putter"], ["patient-putter"], ["patient-keeper"], ["refused"]],
    ids=["late, in our database", "late, outside", "inline, outside", "inline, in our database", "late, refused"],
)
def test_a_crash_after_any_commit_around_an_approval_changes_nothing(
    worlds: Worlds, children: Forks, agents: list[str]
) -> None:
    calm = live(children, worlds.new(), agents)
    assert calm is not None
    assert calm["violations"] == []

    def killed(commit: int) -> tuple[bool, list[str]]:
        world = worlds.new()
        found = live(children, world, agents, die_after=commit)
        died = found is None
        found = found or live(children, world, agents)
        assert found is not None
        worlds.end(world)
        wrong = [*found["violations"], *differences(calm["told"], found["told"])]
        return died, [f"killed after commit {commit}: {line}" for line in wrong]

    commits = range(1, calm["commits"] + 1)
    with ThreadPoolExecutor(AT_ONCE[worlds.kind]) as pool:
        ends = list(pool.map(killed, commits))
    wrong = [line for _, lines in ends for line in lines]
    assert not wrong, "\n".join(wrong[:20])
    assert sum(died for died, _ in ends) >= len(commits) * 2 // 3


@pytest.mark.proves("P6", "V10")
@pytest.mark.parametrize("agent, via", [("payer", "inbox"), ("patient-payer", "inline")])
def test_an_interrupted_approved_effect_is_reported_unknown_and_not_repeated(
    worlds: Worlds, children: Forks, agent: str, via: str
) -> None:
    world = worlds.new()
    assert live(children, world, [agent]) is None, "it was to die in its tool"
    found = live(children, world, [agent])
    assert found is not None
    assert found["violations"] == []
    assert found["effects"] == ["once"]
    (call,) = found["told"]["calls"]
    assert (call["status"], call["delivered_via"]) == ("resolved", via)
    runs = found["told"]["runs"]
    assert len(runs) == (2 if via == "inbox" else 1)
    heard = runs[f"{agent}@{agent}-room/2"]["payload"] if via == "inbox" else str(runs[f"{agent}@{agent}-room/1"])
    assert "whether it took effect is unknown" in heard
