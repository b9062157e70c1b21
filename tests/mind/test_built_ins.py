"""The twelve tools that an agent with one mind across all spaces has without listing them."""

from __future__ import annotations

import pytest

from tests.driver import Json, Offices
from tests.mind.minds import BUILT_IN, later, mind, plans, told
from tests.path.scripts import call, step

pytestmark = pytest.mark.one_database

SAID = ["one", "two", "three", "four"]
ALL: list[Json] = [
    step(call("leave_space")),
    step(call("enter_space", spaceId="desk")),
    step(call("read_messages", offset=1, limit=2)),
    step(call("send_message", text="here")),
    step(call("set_goals", goals=[{"id": "win", "description": "win the prize", "priority": 2}])),
    step(call("set_memories", memories=[{"key": "city", "value": "Lisbon"}])),
    plans({**later(), "id": "look"}),
    step(call("get_plans")),
    step(call("delete_goals", goalIds=["win"])),
    step(call("delete_memories", keys=["city"])),
    step(call("delete_plans", planIds=["look", "other"])),
    step(call("skip", reason="done")),
]


@pytest.mark.proves("S4-21")
async def test_an_agent_with_one_mind_is_offered_the_twelve(offices: Offices) -> None:
    office, seen = await mind(offices, tools=["do_nothing"])
    await told(office)
    assert sorted(spec.name for spec in seen.tools[0]) == sorted([*BUILT_IN, "do_nothing"])
    taught = seen.shown[0].system
    assert all(name in taught for name in ("set_goals", "set_memories", "set_plans"))
    prompt = await office.driver.get("/agents/ada/prompt")
    assert {tool["name"] for tool in prompt["tools"]} == {*BUILT_IN, "do_nothing"}
    assert (await office.driver.get("/agents/ada"))["tools"] == ["do_nothing"], "its definition does not list them"


@pytest.mark.proves("S4-21")
async def test_an_agent_in_one_space_lists_what_it_wants(offices: Offices) -> None:
    office, seen = await mind(offices, scope="space", tools=["send_message", "get_plans"])
    await told(office)
    assert [spec.name for spec in seen.tools[0]] == ["send_message", "get_plans"]


@pytest.mark.proves("S4-21")
async def test_all_twelve_work_and_none_shows_a_card(offices: Offices) -> None:
    office, _ = await mind(offices)
    for text in SAID:
        await office.driver.post("desk", text)
        await office.driver.idle()
    await office.driver.ask("PATCH", "/agents/ada", json={"model": {"provider": "script", "turns": [{"steps": ALL}]}})
    results = await told(office)
    entered, read = results[1], results[2]
    assert [message["text"] for message in entered["messages"]] == [*SAID, "hello"]
    assert (read["total"], [message["text"] for message in read["messages"]]) == (5, ["three", "four"])
    assert results[4] == {"goals": [{"id": "win", "status": "active", "priority": 2}]}
    assert results[5] == {"keys": ["city"]}
    [plan] = results[7]["plans"]
    assert (plan["id"], plan["instruction"], plan["nextRun"]) == ("look", "look again", "2026-06-01T10:00:00+00:00")
    assert results[8:11] == [{"deleted": ["win"]}, {"deleted": ["city"]}, {"deleted": ["look"], "notFound": ["other"]}]
    shown = await office.driver.messages("desk")
    assert [message["text"] for message in shown if message["type"] == "text"] == [*SAID, "hello", "here"]
    assert not [message for message in shown if message["type"] == "tool"]


@pytest.mark.proves("S4-21")
async def test_an_owner_may_deny_a_built_in(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later()))
    policy = {"agentId": "ada", "toolName": "set_plans", "decision": "deny"}
    await office.driver.ask("PUT", "/policies", json=policy, status=200)
    [result] = await told(office)
    assert "error" in result
    assert await office.driver.items("/agents/ada/plans") == []


async def test_the_definition_of_an_agent_may_deny_a_built_in(offices: Offices) -> None:
    office, _ = await mind(offices, plans(later()), policy={"set_plans": "deny"})
    [result] = await told(office)
    assert "error" in result
