"""What goes with an agent: when it is deleted, and when it is erased. One list, read from the tables."""

from __future__ import annotations

import pytest

from bullpen.storage.columns import Holds
from bullpen.storage.tables import metadata
from bullpen.testing import snapshot
from tests.databases import Database
from tests.driver import Driver
from tests.path.scripts import call, say, step, turn

# Columns that name the agent, in the office below. A table that is new in here belongs into one of the lists.
GONE_WITH_BOTH = {
    "block_shares.owner_id",
    "block_shares.reader_id",
    "members.member_id",
    "policies.agent_id",
    "hooks.agent_id",
    "budgets.subject_id",
}
GONE_WHEN_ERASED = {
    "blocks.agent_id",
    "block_versions.agent_id",
    "block_versions.by_id",
    "goals.agent_id",
    "instructions.agent_id",
    "memories.agent_id",
    "passages.agent_id",
    "pending_calls.agent_id",
    "plans.agent_id",
    "tasks.agent_id",
    "variables.scope_id",
}
STAYS = {  # that there was somebody, what it cost, and where it spoke; the words are gone
    "agents.id",
    "audit.object_id",
    "events.agent_id",
    "messages.author_id",
    "runs.agent_id",
    "spending.id",
    "threads.agent_id",
    "tokens.agent_id",
}
# What is only there while a budget is used up: tests/budgets.
SELDOM = {"holds.agent_id"}
IDS = {
    (table.name, column.name)
    for table in metadata.tables.values()
    for column in table.c
    if column.info.get("holds") is Holds.ID
}


async def names(database: Database, id: str) -> set[str]:
    """The columns that hold this id."""
    seen = await snapshot.read(database.url)
    return {f"{table}.{column}" for table, column in IDS if any(row[column] == id for row in seen[table])}


@pytest.fixture
async def ada(office: Driver) -> Driver:
    """An office in which Ada has something of everything."""
    keep = step(call("update_memory", label="mood", content="sly"), call("store_memory", content="a fact"))
    ask = step(call("react_to_message", messageId="{{trigger.messageId}}", emoji="👍"))
    turns = [turn("keep", keep), turn("ask", ask), turn("", say("hello"))]
    policy = {"react_to_message": "ask"}
    await office.agent("ada", turns, tools=["messaging", "memory"], blocks={"a": "b"}, policy=policy)
    await office.agent("bo", blocks={"plan": "c"})
    await office.ask("PUT", "/agents/ada/blocks/a", json={"content": "b", "shared": {"readers": ["bo"]}})
    await office.ask("PUT", "/agents/bo/blocks/plan", json={"content": "c", "shared": {"writers": ["ada"]}})
    await office.ask("PATCH", "/agents/ada", json={"instructions": "Be kind."})
    await office.space("home", ["ada"], kind="group", main=True, wake={"people": "all"})
    await office.space("team", ["ada"], kind="group", folder="team", wake={"people": "all"})
    await office.ask("PUT", "/policies", json={"agentId": "ada", "toolName": "do_nothing", "decision": "deny"})
    await office.ask("PUT", "/variables/CITY", json={"value": "Rome", "scope": {"kind": "agent", "id": "ada"}})
    await office.ask("PUT", "/budgets", json={"kind": "agent", "subjectId": "ada", "amount": 5})
    await office.create("/tokens", {"name": "hers", "agentId": "ada"})
    await office.create("/hooks", {"agentId": "ada", "name": "ci"})
    task = {"spaceId": "team", "agentId": "ada", "prompt": "x", "scheduleType": "cron", "scheduleValue": "0 0 1 1 *"}
    await office.create("/tasks", task)
    plan = {"name": "look", "instruction": "look", "cron": "0 0 1 1 *"}
    await office.ask("PUT", "/agents/ada/goals", json={"goals": [{"description": "win"}]})
    await office.ask("PUT", "/agents/ada/memories", json={"memories": [{"key": "city", "value": "Rome"}]})
    await office.ask("PUT", "/agents/ada/plans", params={"spaceId": "team"}, json={"plans": [plan]})
    for text in ("hello", "keep", "ask"):
        await office.post("team", text)
        await office.idle() if text != "ask" else await office.event("tool.requires_action")
    return office


async def test_every_table_that_names_agents_is_in_the_list(ada: Driver, database: Database) -> None:
    found = await names(database, "ada")
    assert found == GONE_WITH_BOTH | GONE_WHEN_ERASED | STAYS
    assert {f"{table}.{column}" for table, column in IDS if column == "agent_id"} <= found | SELDOM


async def test_a_deleted_agent_keeps_what_people_may_want_to_read(ada: Driver, database: Database) -> None:
    await ada.ask("DELETE", "/agents/ada")
    await ada.idle()
    assert await names(database, "ada") == GONE_WHEN_ERASED | STAYS


async def test_an_erased_agent_keeps_only_its_place(ada: Driver, database: Database) -> None:
    await ada.create("/agents/ada/erase", {})
    await ada.idle()
    assert await names(database, "ada") == STAYS


async def test_erasing_after_deleting_leaves_the_same(ada: Driver, database: Database) -> None:
    await ada.ask("DELETE", "/agents/ada")
    await ada.create("/agents/ada/erase", {})
    await ada.idle()
    assert await names(database, "ada") == STAYS
