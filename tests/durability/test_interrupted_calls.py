"""What becomes of work that a kill interrupts in the middle: a thought, a tool's effect, a budget half used.

The tools kill their own process right after their effect, which is the one moment that no transaction can cover.
"""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.durability.lives import Ending, Found, kill_at, live, live_again, pick_kills
from tests.durability.worlds import Worlds
from tests.waits import BOUND

SAMPLE = {"sqlite": 3, "postgres": 2}


def act(forks: Forks, world: Database, agent: str, die_after: int | None = None) -> Found | None:
    """One life of an office in which the agent works. None: it was killed, perhaps after it was asked."""
    found = live(forks, "act", world, agent=agent, die_after=die_after)
    return found if found and "told" in found else None


def die_and_go_on(forks: Forks, world: Database, agent: str) -> Found:
    assert act(forks, world, agent) is None, "it was to die in its tool"
    found = live_again(forks, "act", world, agent=agent)
    assert found["violations"] == []
    return found


def results(found: Found, agent: str) -> list[tuple[str, Any]]:
    """What the agent's calls came to: tool and result, in order."""
    journal = found["told"]["runs"][f"{agent}@{agent}-room/1"]["journal"]
    return [(entry["tool_name"], entry["result"]) for entry in journal if entry["type"] == "tool_return_message"]


def said(found: Found, agent: str) -> list[str]:
    return [message["text"] for message in found["told"]["spaces"][f"{agent}-room"] if message["author_id"] == agent]


@pytest.mark.proves("P6", "V10")
def test_a_once_only_effect_is_reported_unknown_and_not_repeated(worlds: Worlds, forks: Forks) -> None:
    found = die_and_go_on(forks, worlds.new(), "pay")
    assert found["effects"] == ["once"]
    tool, result = results(found, "pay")[0]
    assert tool == "pay"
    assert '"outcome":"unknown"' in result
    assert said(found, "pay") == ["went on: "]


@pytest.mark.proves("P6", "V10")
@pytest.mark.parametrize("agent, kind", [("put", "idempotent"), ("look", "pure")])
def test_a_repeatable_effect_is_repeated_under_the_same_key(
    worlds: Worlds, forks: Forks, agent: str, kind: str
) -> None:
    found = die_and_go_on(forks, worlds.new(), agent)
    assert found["effects"] == [kind, kind]
    assert said(found, agent) == [f"went on: {kind}"]


@pytest.mark.proves("P2", "P6")
@pytest.mark.parametrize("agent, status", [("pay-in-public", "error"), ("put-in-public", "complete")])
def test_an_interrupted_calls_card_is_shown_once_and_settled(
    worlds: Worlds, forks: Forks, agent: str, status: str
) -> None:
    found = die_and_go_on(forks, worlds.new(), agent)
    cards = [message for message in found["told"]["spaces"][f"{agent}-room"] if message["type"] == "tool"]
    assert [card["status"] for card in cards] == [status]
    told = [event["type"] for _, event in found["told"]["events"][f"{agent}@{agent}-room/1"]]
    assert told.count("tool.started") == 2, "one for the interrupted call, one for the message after it"


@pytest.mark.proves("L2", "V11")
def test_a_crash_does_not_reset_the_message_limit(worlds: Worlds, forks: Forks) -> None:
    found = die_and_go_on(forks, worlds.new(), "chatty")
    assert said(found, "chatty") == [f"message {n}" for n in range(1, 6)]
    tool, refusal = results(found, "chatty")[-1]
    assert tool == "send_message"
    assert "5 of 5" in refusal


@pytest.mark.proves("P2", "P6", "V10")
def test_a_crash_after_any_commit_repeats_only_repeatable_effects(worlds: Worlds, forks: Forks) -> None:
    calm = act(forks, worlds.new(), "busy")
    assert calm is not None
    assert calm["effects"] == ["once", "idempotent", "pure", "once", "idempotent"]

    def attempt(commit: int) -> Ending:
        world = worlds.new()
        found = act(forks, world, "busy", die_after=commit)
        died = found is None
        found = found or live_again(forks, "act", world, agent="busy")
        worlds.end(world)
        wrong = [*found["violations"]]
        if found["effects"].count("once") > 2 or said(found, "busy") != said(calm, "busy"):
            wrong.append(f"{found['effects']} {said(found, 'busy')}")
        return Ending(died, [f"killed after commit {commit}: {line}" for line in wrong])

    commits = pick_kills(calm["commits"], sample=SAMPLE[worlds.kind], turn=1, began=calm["began"])
    assert kill_at(worlds.kind, attempt, commits) == []


@pytest.mark.proves("P12")
def test_an_interrupted_model_call_is_repeated_without_side_effects(worlds: Worlds, forks: Forks) -> None:
    world = worlds.new()
    child = forks.start("act", url=world.url, data=str(world.data), agent="thinker")
    # The post is acknowledged; the script thinks for half a second before it says anything.
    assert child.next_report(BOUND) == {"asked": "thinker"}
    child.kill()
    assert not (world.data / "effects").exists(), "killed too late"
    found = live_again(forks, "act", world, agent="thinker")
    assert found["violations"] == []
    assert found["effects"] == ["idempotent"]
    assert said(found, "thinker") == ["I thought."]
    run = found["told"]["runs"]["thinker@thinker-room/1"]
    assert [entry["type"] for entry in run["journal"]].count("assistant_message") == 2
