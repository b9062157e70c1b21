"""Calls that wait for an answer: two tools, and an agent that calls one of them."""

from __future__ import annotations

from typing import Any

from tests.driver import Api, Driver
from tests.path.scripts import Json, call, say, step, turn

ASK: Json = {
    "name": "confirmAction",
    "description": "Ask the user to confirm an action",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "executionType": "space",
    "visible": True,
    "isAsync": True,
}
FETCH: Json = {
    "name": "fetchExternalData",
    "description": "Fetch data",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
    "executionType": "external",
    "visible": False,
    "timeout": 60_000,
}


async def with_tool(office: Driver, config: Json, **args: Any) -> Json:
    """An agent that calls the tool when it is spoken to, and says what came by its inbox. The call, once it waits."""
    await office.create("/tools", config)
    script: list[Json] = [
        {"kind": "tool_result", "steps": [say("came later")]},
        {"kind": "expired", "steps": [say("nobody came")]},
        turn("", step(call(config["name"], **args)), say("went on with {{results[0]}}")),
    ]
    model = {"provider": "script", "turns": script}
    fields = {"name": "Ada", "model": model, "tools": ["messaging", config["name"]]}
    if any(agent["id"] == "ada" for agent in await office.items("/agents")):
        await office.ask("PATCH", "/agents/ada", json=fields)
    else:
        await office.create("/agents", {"id": "ada", **fields})
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.create("/spaces/lab/messages", {"text": "go"})
    event = await office.event("tool.requires_action")
    found: Json = event["call"]
    return found


async def agents_token(office: Driver, **more: Any) -> Api:
    made = await office.create("/tokens", {"name": "sdk", "agentId": "ada", **more})
    return Api(office.office, made["token"])


async def texts(office: Driver) -> list[str]:
    return [m["text"] for m in await office.items("/spaces/lab/messages") if m["authorKind"] == "agent" and m["text"]]
