"""Calls that people let go on, and a process that dies: they are carried out once, and their agent hears of it once.

A late approval is the hard case: the run that asked has gone on, so the call has no run's journal to be safe in.
"""

from __future__ import annotations

import pytest

from bullpen.testing.forks import Forks
from bullpen.testing.telling import differences
from tests.durability.lives import Ending, kill_at, live, live_again, pick_kills
from tests.durability.worlds import Worlds

KINDS_OF_APPROVAL = {
    "late, in our database": "keeper",
    "late, outside": "putter",
    "inline, outside": "patient-putter",
    "inline, in our database": "patient-keeper",
    "late, refused": "refused",
    "late, values": "keyed-putter",
    "inline, values, outside": "keyed-patient-putter",
    "inline, values, in our database": "keyed-patient-keeper",
    "late, an approval and values": "twice-asked",
    "inline, an approval and values": "patient-twice-asked",
}
AGENTS = list(KINDS_OF_APPROVAL.values())
FIRST_TURN = {"sqlite": 0, "postgres": 1}  # the two databases are killed at different commits


@pytest.mark.proves("P5", "P6", "C8")
@pytest.mark.parametrize("agent", AGENTS, ids=list(KINDS_OF_APPROVAL))
def test_a_crash_after_any_commit_around_an_approval_changes_nothing(worlds: Worlds, forks: Forks, agent: str) -> None:
    calm = live(forks, "approve", worlds.new(), agents=[agent])
    assert calm is not None
    assert calm["violations"] == []

    def attempt(commit: int) -> Ending:
        world = worlds.new()
        found = live(forks, "approve", world, agents=[agent], die_after=commit)
        died = found is None
        found = found or live_again(forks, "approve", world, agents=[agent])
        worlds.end(world)
        wrong = [*found["violations"], *differences(calm["told"], found["told"])]
        return Ending(died, [f"killed after commit {commit}: {line}" for line in wrong])

    turn = FIRST_TURN[worlds.kind] + 2 * AGENTS.index(agent)
    commits = pick_kills(calm["commits"], sample=1, turn=turn, began=calm["began"])
    wrong = kill_at(worlds.kind, attempt, commits)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.proves("P6", "V10")
@pytest.mark.parametrize("agent, via", [("payer", "inbox"), ("patient-payer", "inline")])
def test_an_interrupted_approved_effect_is_reported_unknown_and_not_repeated(
    worlds: Worlds, forks: Forks, agent: str, via: str
) -> None:
    world = worlds.new()
    assert live(forks, "approve", world, agents=[agent]) is None, "it was to die in its tool"
    found = live_again(forks, "approve", world, agents=[agent])
    assert found["violations"] == []
    assert found["effects"] == ["once"]
    (call,) = found["told"]["calls"]
    assert (call["status"], call["delivered_via"]) == ("resolved", via)
    runs = found["told"]["runs"]
    assert len(runs) == (2 if via == "inbox" else 1)
    heard = runs[f"{agent}@{agent}-room/2"]["payload"] if via == "inbox" else str(runs[f"{agent}@{agent}-room/1"])
    assert "whether it took effect is unknown" in heard
