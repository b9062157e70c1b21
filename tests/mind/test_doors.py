"""People read, correct, add and delete an agent's goals, memories and plans by HTTP and the SDK."""

from __future__ import annotations

import pytest

from bullpen.client import Invalid, NotFound
from tests.client.offices import sdk
from tests.driver import Driver, Json, Offices
from tests.feed.streams import following
from tests.mind.minds import later, mind, told, woken
from tests.path import puppets
from tests.path.scripts import call, say, step

pytestmark = pytest.mark.one_database


async def test_the_sdk_writes_reads_and_deletes_all_three(office: Driver) -> None:
    await office.agent("ada", steps=[{}], scope="agent", tools=[])
    async with sdk(office) as bp:
        goal = await bp.goals.set("ada", "win", priority=3)
        done = await bp.goals.set("ada", "win", id=goal.id, status="completed")
        assert (done.id, done.status, done.priority) == (goal.id, "completed", 3)
        assert [each.id for each in await bp.goals.list("ada")] == [goal.id]
        await bp.goals.delete("ada", goal.id)
        memory = await bp.memories.set("ada", "a/b & c", "one")
        assert (await bp.memories.set("ada", memory.key, "two")).value == "two"
        assert [each.value for each in await bp.memories.list("ada")] == ["two"]
        await bp.memories.delete("ada", "a/b & c")
        plan = await bp.plans.set("ada", "greet", "say hello", cron="0 9 * * *")
        assert (plan.cron, plan.space_id, plan.on_behalf_of) == ("0 9 * * *", None, office.owner_id)
        with pytest.raises(Invalid, match="exactly one"):
            await bp.plans.set("ada", "greet", "say hello")
        await bp.plans.delete("ada", plan.id)
        for gone in (bp.goals.delete("ada", goal.id), bp.memories.delete("ada", "x"), bp.plans.delete("ada", plan.id)):
            with pytest.raises(NotFound):
                await gone
        assert not list(await bp.goals.list("ada")) + list(await bp.memories.list("ada"))


async def test_a_persons_plan_works_for_them_where_they_say(offices: Offices) -> None:
    due = {"kind": "plan", "steps": [say("hello")]}
    office, seen = await mind(offices, turns=[due], scope="space", tools=["messaging", "mind"])
    body = {"plans": [{"id": "p", "name": "greet", "instruction": "say hello", "run_after": "1 hour"}]}
    refused = await office.driver.ask("PUT", "/agents/ada/plans", json=body, status=422)
    assert "works in one space at a time" in refused["error"]["message"]
    await office.driver.space("attic")
    for space, status in (("attic", 422), ("nowhere", 404), ("desk", 200)):
        await office.driver.ask("PUT", "/agents/ada/plans", params={"spaceId": space}, json=body, status=status)
    await office.wait(hours=1)
    assert len(await woken(office)) == 1
    assert f"(person {office.driver.owner_id}): greet. say hello" in puppets.told(seen.shown[0])[-1]
    assert (await office.driver.texts("desk"))[-1] == "hello"
    actions = {row["action"] for row in await office.driver.items("/audit")}
    assert "agent.plans_set" in actions


async def test_members_neither_look_into_an_agent_nor_plan_for_it(offices: Offices) -> None:
    office, _ = await mind(offices)
    _, pia = await office.driver.person("Pia")
    bodies: dict[str, Json] = {
        "goals": {"goals": [{"description": "x"}]},
        "memories": {"memories": [{"key": "k", "value": "v"}]},
        "plans": {"plans": [later()]},
    }
    for what, body in bodies.items():
        await pia.ask("GET", f"/agents/ada/{what}", status=403)
        await pia.ask("PUT", f"/agents/ada/{what}", json=body, status=403)
        await (await office.driver.as_agent("ada")).ask("PUT", f"/agents/ada/{what}", json=body, status=200)
    await pia.ask("DELETE", "/agents/ada/plans/x", status=403)
    await office.driver.ask("GET", "/agents/nobody/plans", status=404)


async def test_whoever_manages_agents_hears_of_goals_and_others_do_not(offices: Offices) -> None:
    wish = step(call("set_goals", goals=[{"id": "g", "description": "win"}]), call("delete_goals", goalIds=["g"]))
    office, _ = await mind(offices, wish)
    id, admin = await office.driver.person("Pia")
    await office.driver.ask("PATCH", f"/people/{id}", json={"role": "admin"}, status=200)
    _, member = await office.driver.person("Mia")
    async with following(office.driver, admin) as managing, following(office.driver, member) as others:
        await told(office)
        await office.driver.space("end", [id, "psn_mia"])
        await office.driver.post("end", "the end")
        await managing.until_text("the end")
        await others.until_text("the end")
        heard = [event["goal"] for event in managing.events if event["type"] == "goal_updated"]
        assert [(goal["description"], goal.get("deleted")) for goal in heard] == [("win", None), ("win", True)]
        assert "goal_updated" not in others.types()
