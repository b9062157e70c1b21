"""A space may have the id of an agent. What is forgotten with one of them leaves the other alone."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing import invariants, snapshot
from tests.databases import Database
from tests.driver import Driver, Json
from tests.path.scripts import call, say, step, turn

SKILL: Json = {"description": "Who did what", "instructions": "Ask who was in.", "parameters": "[day]"}
HOURLY: Json = {"prompt": "Look around.", "scheduleType": "interval", "scheduleValue": "3600000"}
CARD: Json = {
    "name": "confirmAction",
    "description": "Ask the people of the room.",
    "inputSchema": {"type": "object", "properties": {}},
    "executionType": "space",
    "visible": True,
    "isAsync": True,
}

REMEMBER = call("store_memory", content="plum jam")
TABLES = ("policies", "tasks", "skills", "hooks", "pending_calls", "passages", "messages", "blocks", "threads")
ROUTES = {"agent": "agents", "space": "spaces"}


async def shared_id(office: Driver) -> None:
    """The group `studio`, in which Ada works, and the agent `studio`, which works in `hall`. Each has all there is."""
    await office.create("/tools", CARD)
    script = [
        turn("remember", step(REMEMBER, call("update_memory", label="mood", content="jam"))),
        turn("ask", step(call("confirmAction"))),
        turn("", say("noted")),
    ]
    tools = ["messaging", "memory", "confirmAction"]
    for agent in ("ada", "studio"):
        await office.agent(agent, script, tools=tools, blocks={"mood": "calm"})
    await office.space("studio", ["ada"], kind="group", name="The Studio", wake={"people": "all"})
    await office.space("hall", ["studio"], wake={"people": "all"})
    for space, agent in (("studio", "ada"), ("hall", "studio")):
        for text in ("remember it", "ask them"):
            await office.post(space, text)
            await office.idle()
        await office.ask("PUT", f"/spaces/{space}/skills/standup", json=SKILL)
        await office.create("/tasks", {"spaceId": space, "agentId": agent, **HOURLY})
        policy = {"agentId": agent, "spaceId": space, "toolName": "send_message", "decision": "ask"}
        await office.ask("PUT", "/policies", json=policy)
        await office.create("/hooks", {"agentId": agent, "name": "ci"})


async def held(database: Database, of: dict[str, str]) -> dict[str, Any]:
    """What is there of a space and its agent, table by table."""
    seen = await snapshot.read(database.url)
    return {
        table: [
            {name: value for name, value in row.items() if name != "epoch"}
            for row in seen[table]
            if any(row.get(column) == id for column, id in of.items())
        ]
        for table in TABLES
    }


async def is_whole(database: Database) -> None:
    assert invariants.violations(invariants.Seen(await snapshot.read(database.url), at_rest=True)) == []


async def test_erasing_an_agent_leaves_the_space_of_its_id(office: Driver, database: Database) -> None:
    await shared_id(office)
    theirs = {"space_id": "studio", "agent_id": "ada"}
    before = await held(database, theirs)
    assert all(before.values()), before
    await office.create("/agents/studio/erase", {})
    await office.idle()
    assert await held(database, theirs) == before
    assert (await office.get("/spaces/studio"))["name"] == "The Studio"
    made = [event for event in (await snapshot.read(database.url)).events if event["type"] == "space_created"]
    assert "The Studio" in {event["body"]["space"]["name"] for event in made}
    gone = await held(database, {"agent_id": "studio"})
    assert not any(gone[table] for table in ("policies", "tasks", "hooks", "pending_calls", "passages"))
    await is_whole(database)


async def test_deleting_an_agent_keeps_the_policies_of_its_space(office: Driver, database: Database) -> None:
    await shared_id(office)
    theirs = {"space_id": "studio", "agent_id": "ada"}
    before = await held(database, theirs)
    await office.ask("DELETE", "/agents/studio")
    await office.idle()
    assert await held(database, theirs) == before
    await is_whole(database)


async def test_erasing_a_space_leaves_the_agent_of_its_id(office: Driver, database: Database) -> None:
    await shared_id(office)
    theirs = {"space_id": "hall", "agent_id": "studio"}
    before = await held(database, theirs)
    assert all(before[table] for table in before if table != "blocks"), before
    await office.ask("DELETE", "/spaces/studio")
    await office.idle()
    assert await held(database, theirs) == before
    assert (await office.get("/agents/studio"))["name"] == "Studio"
    assert not any((await held(database, {"space_id": "studio"})).values())
    await is_whole(database)


@pytest.mark.parametrize("kind", ["agent", "space"])
async def test_an_export_holds_nothing_of_the_other_kind(office: Driver, kind: str) -> None:
    await shared_id(office)
    response = await office.http.get(f"/{ROUTES[kind]}/studio/export")
    assert response.status_code == 200, response.text
    others = "ada" if kind == "agent" else "studio"
    assert f'"agentId":"{others}"' not in response.text.replace(" ", "")
