"""Tools of a project: applied before its agents, idempotent, all or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.path.scripts import Json

ASK: Json = {
    "name": "confirmAction",
    "description": "Ask",
    "inputSchema": {"type": "object"},
    "executionType": "space",
    "isAsync": True,
    "policy": "ask",
    "variables": [{"name": "CITY"}],
}
WEATHER: Json = {
    "name": "fetchWeather",
    "description": "The weather",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    "executionType": "gateway",
    "execution": {"url": "https://example.com/{city}", "method": "GET", "headers": {"X-Key": "{{var:KEY}}"}},
}
ADA: Json = {"id": "ada", "name": "Ada", "model": "script:echo", "tools": ["messaging", "confirmAction"]}


async def applied(office: Driver, **project: Any) -> Json:
    answer: Json = await office.ask("POST", "/apply", json=project)
    return {kind: [(each["id"], each["change"]) for each in found] for kind, found in answer.items() if found}


@pytest.mark.proves("S4-02")
@pytest.mark.one_database
async def test_a_projects_tools_are_applied_before_its_agents(office: Driver) -> None:
    project = {"agents": [ADA], "tools": [ASK, WEATHER]}
    assert await applied(office, **project) == {
        "tools": [("confirmAction", "created"), ("fetchWeather", "created")],
        "agents": [("ada", "created")],
    }
    first = await office.get("/tools/confirmAction")
    assert (first["visible"], first["timeout"], first["policy"]) == (True, 30_000, "ask")
    assert await applied(office, **project) == {
        "tools": [("confirmAction", "unchanged"), ("fetchWeather", "unchanged")],
        "agents": [("ada", "unchanged")],
    }
    assert await office.get("/tools/confirmAction") == first


async def test_applying_tools_updates_differences_and_resets_omitted_fields(office: Driver) -> None:
    await applied(office, tools=[ASK, WEATHER])
    bare = {name: value for name, value in ASK.items() if name not in ("policy", "variables")}
    moved = {**WEATHER, "execution": {"url": "https://example.org/{city}", "method": "GET"}}
    assert await applied(office, tools=[{**bare, "timeout": 5000}, moved]) == {
        "tools": [("confirmAction", "updated"), ("fetchWeather", "updated")]
    }
    found = await office.get("/tools/confirmAction")
    assert (found["timeout"], found.get("policy"), found["variables"]) == (5000, None, [])
    execution = (await office.get("/tools/fetchWeather"))["execution"]
    assert (execution["url"], execution["headers"]) == ("https://example.org/{city}", {})
    changed = {row["objectId"] for row in await office.items("/audit", action="tool.changed")}
    assert changed == {"confirmAction", "fetchWeather"}


@pytest.mark.parametrize(
    "project, field",
    [
        ({"agents": [{**ADA, "tools": ["nowhere"]}], "tools": [ASK]}, "tools"),
        ({"tools": [ASK, {**ASK, "name": "send_message"}]}, "name"),
        ({"tools": [ASK, {**ASK, "name": "b", "inputSchema": {"$ref": "http://x"}}]}, "inputSchema"),
        ({"tools": [ASK, {**WEATHER, "isAsync": True}]}, "isAsync"),
        ({"tools": [{**ASK, "colour": "red"}]}, "tools.0.colour"),
    ],
)
@pytest.mark.one_database
async def test_a_project_that_cannot_be_used_changes_nothing(office: Driver, project: Json, field: str) -> None:
    refused = await office.ask("POST", "/apply", json=project, status=422)
    assert field in refused["error"]["fields"], refused
    await office.ask("GET", "/tools/confirmAction", status=404)
