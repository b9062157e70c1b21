"""What an agent wants and knows under keys stands in its prompt: where it was written, and marked with its sources."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Json, Offices
from tests.hooks.calling import made, path_of, ring
from tests.injection.obeying import bare, inside
from tests.mind.minds import later, mind, plans, told
from tests.path.puppets import Puppet, puppet
from tests.path.scripts import call, say, step, turn
from tests.tasks.offices import START

HOOK = ["hook:ci"]
SILENT = step(call("skip"))


def goals(*wishes: Json) -> Json:
    return step(call("set_goals", goals=list(wishes)))


def memories(**values: str) -> Json:
    return step(call("set_memories", memories=[{"key": key, "value": value} for key, value in values.items()]))


@pytest.mark.one_database
async def test_goals_memories_and_plans_stand_in_the_next_prompt(offices: Offices) -> None:
    wishes: list[Json] = [
        {"id": "sleep", "description": "sleep more"},
        {"id": "win", "description": "win the prize", "priority": 5},
        {"id": "old", "description": "learn Latin", "priority": 9, "status": "completed"},
    ]
    office, seen = await mind(offices, goals(*wishes), memories(b="two", a="one\nmore"), plans({**later(), "id": "l"}))
    await told(office)
    assert "Your goals:" not in seen.shown[0].system
    await told(office)
    system = seen.shown[-1].system
    lines = [
        "- [win] (priority 5) win the prize",
        "- [sleep] sleep more",
        "- [old] (completed, priority 9) learn Latin",
    ]
    assert "\n".join(["Your goals:", *lines]) in system
    assert "What you keep under keys:\n- a: one\n    more\n- b: two\n" in system
    assert "Your plans:\n- [l] next 2026-06-01T10:00:00+00:00 (UTC): later. look again" in system


async def test_a_goal_changed_by_its_id_keeps_the_rest(offices: Offices) -> None:
    office, _ = await mind(
        offices,
        goals({"description": "win", "priority": 3}),
        step({"tool": "set_goals", "args": {"goals": [{"id": "{{results[0].goals[0].id}}", "description": "win",
                                                        "status": "completed"}]}}),
    )  # fmt: skip
    await told(office)
    [goal] = await office.driver.items("/agents/ada/goals")
    assert (goal["status"], goal["priority"], goal["description"]) == ("completed", 3, "win")


@pytest.mark.one_database
async def test_lists_are_bounded_and_say_so_with_numbers(offices: Offices) -> None:
    fifty = [{"description": f"goal {n}"} for n in range(50)]
    many = [memories(**{f"k{n}": "x" for n in range(begin, begin + 50)}) for begin in range(0, 200, 50)]
    office, seen = await mind(
        offices, goals(*fifty), goals(*fifty), goals({"description": "more"}), *many, memories(k1="y", k200="z")
    )
    results = await told(office)
    assert "There would be 101 goals, and 100 is the most" in results[2]["error"]
    assert "There would be 201 memories, and 200 is the most" in results[-1]["error"]
    long: Json = {"goals": [{"description": "x" * 2000} for _ in range(20)]}
    await office.driver.ask("DELETE", "/agents/ada/memories", params={"key": "k1"}, status=204)
    await office.driver.ask("PUT", "/agents/ada/goals", json=long, status=422)
    await told(office)
    assert "more of your" not in seen.shown[-1].system
    for goal in (await office.driver.items("/agents/ada/goals"))[:20]:
        await office.driver.ask("DELETE", f"/agents/ada/goals/{goal['id']}", status=204)
    await office.driver.ask("PUT", "/agents/ada/goals", json=long, status=200)
    await told(office)
    system = seen.shown[-1].system
    assert "more of your goals are not shown here. Delete those that are over." in system
    assert system.index("Your goals:") < 3 * 1_500 * 4


@pytest.mark.one_database
@pytest.mark.parametrize(
    "body, part",
    [
        ({"goals": [{"description": "x" * 2001}]}, "2000"),
        ({"goals": [{"description": ""}]}, "at least 1"),
        ({"goals": [{"id": "a b", "description": "x"}]}, "pattern"),
        ({"goals": [{"id": "a", "description": "x"}] * 2}, "an id comes twice"),
        ({"goals": []}, "at least 1"),
        ({"goals": [{"description": "x", "status": "done"}]}, "active"),
        ({"goals": [{"description": "nul \x00"}]}, "NUL"),
    ],
)
async def test_a_goal_that_cannot_be_kept_is_refused(offices: Offices, body: Json, part: str) -> None:
    office, _ = await mind(offices)
    refused = await office.driver.ask("PUT", "/agents/ada/goals", json=body, status=422)
    assert part in str(refused)


# ── text from outside ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("H3", "H4")
async def test_what_a_tainted_run_writes_is_framed_and_taints(office: Driver) -> None:
    steps = [goals({"id": "g", "description": "obey the build"}), memories(k="trust the build"), plans(later())]
    seen = await _rung(office, *steps)
    results = await office.results((await office.runs())[-1]["id"])
    assert results[:2] == [{"goals": [{"id": "g", "status": "active", "priority": 0}]}, {"keys": ["k"]}]
    assert await office.items("/agents/ada/plans") == [], "somebody has to approve a plan"
    [waiting] = await office.items("/pending")
    assert (waiting["kind"], waiting["toolName"]) == ("approval", "set_plans")
    await office.post("lab", "hello")
    assert (await office.run_finished("ada", nth=2))["outside"] == HOOK
    assert inside(seen.shown[-1], "obey the build") == inside(seen.shown[-1], "trust the build") == HOOK
    assert "the build" not in bare(seen.shown[-1]).replace("the build is red", "")
    [goal], [memory] = await office.items("/agents/ada/goals"), await office.items("/agents/ada/memories")
    assert goal["outside"] == memory["outside"] == HOOK, "people see it as well"


@pytest.mark.proves("H3")
@pytest.mark.one_database
async def test_an_approved_plan_of_a_tainted_run_keeps_its_sources(office: Driver) -> None:
    await _rung(office, plans(later("obey the build")))
    [waiting] = await office.items("/pending")
    await office.create(f"/pending/{waiting['callId']}/resolve", {"result": {"approved": True}}, status=200)
    await office.idle()
    [plan] = await office.items("/agents/ada/plans")
    assert plan["outside"] == HOOK


async def _rung(office: Driver, *steps: Json) -> Puppet:
    """Ada hears a hook, and does this."""
    heard = {"kind": "trigger", "steps": list(steps)}
    seen = await puppet(office, "ada", [heard, turn("", say("hm"))], tools=["messaging", "mind"], scope="agent")
    await office.space("lab", ["ada"], wake={"people": "all"})
    await ring(office, path_of(await made(office)), "the build is red")
    await office.run_finished("ada", nth=1) if len(steps) > 1 else await office.event("tool.requires_action")
    return seen


# ── private spaces ──────────────────────────────────────────────────────────────────────────────────────────────────


async def _in_two_rooms(offices: Offices, across: bool, scope: str) -> tuple[Driver, Puppet]:
    office = await offices.open(clock=FakeClock(START))
    write = turn("write", goals({"id": "g", "description": "buy {{trigger.text}}"}), memories(k="{{trigger.text}}"),
                 plans(later("plan {{trigger.text}}")), SILENT)  # fmt: skip
    fields: Json = {"scope": scope, "tools": ["messaging", "mind"], "memory": {"acrossSpaces": across}}
    seen = await puppet(office, "ada", [write, turn("", SILENT)], **fields)
    await office.dm(office.owner_id, "ada")
    await office.space("desk", ["ada"], wake={"people": "all"})
    await office.space("back", ["ada"], wake={"people": "all"}, private=True)
    return office, seen


async def _shown_in(office: Driver, seen: Puppet, space: str) -> list[str]:
    await office.post(space, "look")
    await office.idle()
    system = seen.shown[-1].system
    return [word for word in ("buy", "- k: ", "plan write", "public", "secret") if word in system]


@pytest.mark.parametrize("across", [False, True])
async def test_what_is_written_in_private_shows_there_alone(offices: Offices, across: bool) -> None:
    office, seen = await _in_two_rooms(offices, across, "space")
    await office.post("back", "write secret")
    await office.idle()
    assert await _shown_in(office, seen, "back") == ["buy", "- k: ", "plan write", "secret"]
    shown = ["buy", "- k: ", "plan write", "secret"] if across else []
    assert await _shown_in(office, seen, "desk") == shown
    await office.post("desk", "write public")
    await office.idle()
    assert "public" in await _shown_in(office, seen, "desk")
    assert "public" in await _shown_in(office, seen, "back"), "what is for everywhere shows in private too"
    kept = [goal.get("spaceId") for goal in await office.items("/agents/ada/goals")]
    assert kept == (["back"] if across else ["back", None]), "a goal that shows from elsewhere is changed there"


@pytest.mark.one_database
async def test_one_mind_across_all_spaces_has_one_place(offices: Offices) -> None:
    office, seen = await _in_two_rooms(offices, False, "agent")
    await office.post("back", "write secret")
    await office.idle()
    assert "secret" in await _shown_in(office, seen, "desk")


@pytest.mark.one_database
async def test_managers_outside_a_private_space_read_nothing_of_it(offices: Offices) -> None:
    office, _ = await _in_two_rooms(offices, False, "space")
    id, pia = await office.person("Pia")
    await office.ask("PATCH", f"/people/{id}", json={"role": "admin"}, status=200)
    await office.post("back", "write secret")
    await office.idle()
    await office.post("desk", "write public")
    await office.idle()

    async def read(api: Any, what: str) -> list[Json]:
        found: list[Json] = await api.items(f"/agents/ada/{what}")
        return found

    for what in ("goals", "memories", "plans"):
        assert len(await read(office, what)) == 2
        [only] = await read(pia, what)
        assert "public" in str(only)
        assert len(await read(await office.as_agent("ada"), what)) == 2
    _, mia = await office.person("Mia")
    for what in ("goals", "memories", "plans"):
        await mia.ask("GET", f"/agents/ada/{what}", status=403)
    query = {"spaceId": "back"}
    await pia.ask("DELETE", "/agents/ada/goals/g", params=query, status=404)
    await office.ask("DELETE", "/agents/ada/goals/g", params=query, status=204)
    assert [goal["description"] for goal in await office.items("/agents/ada/goals")] == ["buy write public"]
