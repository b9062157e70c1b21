"""Every kind of tool goes one way: policy, validation, work, journal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.net.servers import answer, says, world
from tests.path.scripts import Json, call, step
from tests.waiting.gateways import connect, gateway

SCHEMA: Json = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
# How each kind of tool is defined. A function is one of ours.
KINDS: dict[str, Json | None] = {
    "function": None,
    "gateway": gateway("look", inputSchema=SCHEMA),
    "external": {"executionType": "external"},
    "space": {"executionType": "space", "visible": True},
    "internal": {"executionType": "internal", "visible": True},
}


async def made(office: Driver, kind: str, **args: Any) -> str:
    """The name of a tool of this kind, which Ada calls with the arguments whenever somebody speaks."""
    config = KINDS[kind]
    name = "search_memory" if config is None else "look"
    if config is not None:
        await office.create("/tools", {"name": name, "description": "Look", "inputSchema": SCHEMA, **config})
    await office.agent(
        "ada", steps=[step(call(name, **args))], tools=["messaging", "memory", *({name} - {"search_memory"})]
    )
    await office.space("lab", ["ada"], wake={"people": "all"})
    return name


def good(kind: str) -> Json:
    return {"query": "tea"} if kind == "function" else {"q": "tea"}


async def ended(office: Driver) -> tuple[list[Json], Json]:
    """The call and the return that the journal keeps, and the return."""
    run = await office.run_finished("ada")
    entries = [entry for entry in await office.journal(run["id"]) if "callId" in entry]
    assert [entry["type"] for entry in entries] == ["tool_call_message", "tool_return_message"]
    assert entries[0]["callId"] == entries[1]["callId"]
    return entries, entries[1]


@pytest.mark.proves("S4-41")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_policy_stops_every_kind_of_tool(office: Driver, kind: str) -> None:
    name = await made(office, kind, **good(kind))
    await office.ask("PUT", "/policies", json={"agentId": "ada", "toolName": name, "decision": "deny"})
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b'"sunny"', content_type="application/json")))
        await office.post("lab", "go")
        _, returned = await ended(office)
    assert f"may not use {name}" in returned["result"]["error"]
    assert (server.asked, await office.items("/pending")) == ([], [])


@pytest.mark.proves("S4-41")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.one_database
async def test_arguments_of_every_kind_of_tool_are_checked(office: Driver, kind: str) -> None:
    await made(office, kind, **{next(iter(good(kind))): 7})
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b'"sunny"', content_type="application/json")))
        await office.post("lab", "go")
        _, returned = await ended(office)
    assert returned["isError"]
    assert "string" in returned["result"]["error"]
    assert (server.asked, await office.items("/pending")) == ([], [])


@pytest.mark.proves("S4-41")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_journal_keeps_calls_of_every_kind(office: Driver, kind: str) -> None:
    name = await made(office, kind, **good(kind))
    async with world() as outer:
        connect(office, outer)
        await outer.server(says(answer(b'"sunny"', content_type="application/json")))
        await office.post("lab", "go")
        if kind in ("external", "space"):
            asked = (await office.event("tool.requires_action"))["call"]
            await office.create(f"/pending/{asked['callId']}/resolve", {"result": "sunny"}, status=200)
        (asked_for, returned) = (await ended(office))[0]
    assert (asked_for["toolName"], asked_for["args"]) == (name, good(kind))
    results: dict[str, Any] = {"function": {"passages": []}, "internal": {"success": True, "args": {"q": "tea"}}}
    assert (returned["result"], returned["isError"]) == (results.get(kind, "sunny"), False)
