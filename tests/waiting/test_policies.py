"""Policies through the API: who may set them, what is refused, and that each call is judged by them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.driver import Driver
from tests.path.scripts import Json, call, raw, say, step


async def ada(office: Driver, *steps: Json, **fields: Any) -> None:
    await office.agent("ada", steps=steps, tools=["messaging", "memory"], **fields)
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.space("den", ["ada"], wake={"people": "all", "agents": "none"})


async def results(office: Driver, space: str = "lab") -> list[Any]:
    nth = len(await office.runs()) + 1
    await office.post(space, "go")
    return await office.results((await office.run_finished(nth=nth))["id"])


async def put(office: Driver, decision: str, tool: str = "send_message", **more: Any) -> Json:
    body = {"agentId": "ada", "toolName": tool, "decision": decision, **more}
    found: Json = await office.ask("PUT", "/policies", json=body)
    return found


async def test_a_policy_is_set_replaced_listed_and_taken_back(office: Driver) -> None:
    await ada(office)
    first = await put(office, "ask")
    here = await put(office, "allow", spaceId="lab")
    assert (first["decision"], "spaceId" in first, here["spaceId"]) == ("ask", False, "lab")
    again = await put(office, "deny")
    assert (again["id"], again["decision"]) == (first["id"], "deny")
    small = {"path": "text", "op": "startsWith", "value": "hi"}
    some = await put(office, "allow", when=small)
    assert some["when"] == small
    assert [row["id"] for row in await office.items("/policies")] == [some["id"], here["id"], first["id"]]
    assert [row["id"] for row in await office.items("/policies", agentId="ada", spaceId="lab")] == [here["id"]]
    assert await office.items("/policies", agentId="eve") == []
    await office.ask("DELETE", f"/policies/{some['id']}", status=204)
    await office.ask("DELETE", f"/policies/{some['id']}", status=404)
    actions = [row["action"] for row in await office.items("/audit", objectId=some["id"])]
    assert actions == ["policy.deleted", "policy.set"]
    await office.ask("DELETE", "/agents/ada", status=204)
    assert await office.items("/policies") == []


@pytest.mark.parametrize(
    "body, status, field",
    [
        ({"agentId": "nobody"}, 404, ""),
        ({"spaceId": "nowhere"}, 404, ""),
        ({"toolName": "fly"}, 422, "toolName"),
        ({"toolName": "messaging"}, 422, "toolName"),
        ({"decision": "perhaps"}, 422, "decision"),
        ({"when": {"path": "text", "op": "matches", "value": "a+"}}, 422, "when"),
        ({"when": "always"}, 422, "when"),
        ({"decisions": "ask"}, 422, "decisions"),
    ],
)
@pytest.mark.one_database
async def test_an_invalid_policy_is_refused(office: Driver, body: Json, status: int, field: str) -> None:
    await ada(office)
    base = {"agentId": "ada", "toolName": "send_message", "decision": "ask"}
    refused = await office.ask("PUT", "/policies", json={**base, **body}, status=status)
    assert not field or field in refused["error"]["fields"]
    assert await office.items("/policies") == []


@pytest.mark.one_database
async def test_an_agents_own_policy_is_part_of_its_definition(office: Driver) -> None:
    await ada(office, say("hello"), policy={"send_message": "deny"})
    assert (await office.get("/agents/ada"))["policy"] == {"send_message": "deny"}
    assert "may not use send_message" in (await results(office))[0]["error"]
    await office.ask("PATCH", "/agents/ada", json={"policy": {}})
    assert "error" not in (await results(office))[0]
    agent = {"name": "A", "model": "script:echo", "policy": {"fly": "ask"}}
    refused = await office.ask("POST", "/agents", json=agent, status=422)
    assert "There is no tool 'fly'" in refused["error"]["fields"]["policy"]
    await office.ask("PATCH", "/agents/ada", json={"policy": {"send_message": "never"}}, status=422)
    project = {"agents": [{**agent, "id": "bo", "policy": {"store_memory": "deny"}}]}
    assert (await office.create("/apply", project, status=200))["agents"] == [{"id": "bo", "change": "created"}]
    assert (await office.create("/apply", project, status=200))["agents"] == [{"id": "bo", "change": "unchanged"}]
    _, anna = await office.person("Anna")
    assert "policy" not in await anna.get("/agents/ada")


async def test_a_policy_applies_in_its_space_from_the_next_call(office: Driver) -> None:
    await ada(office, say("hello"))
    await put(office, "deny", spaceId="den")
    assert "error" not in (await results(office))[0]
    assert "may not use send_message" in (await results(office, "den"))[0]["error"]
    assert [m["text"] for m in await office.messages("den") if m["authorId"] == "ada"] == []
    everywhere = await put(office, "deny")
    await put(office, "allow", spaceId="lab")
    assert "may not use send_message" in (await results(office))[0]["error"]
    await office.ask("DELETE", f"/policies/{everywhere['id']}", status=204)
    assert "error" not in (await results(office))[0]


@pytest.mark.parametrize("spelling", ["spaceId", "space_id", "channelId"])
@pytest.mark.one_database
async def test_a_condition_holds_for_every_spelling_of_an_argument(office: Driver, spelling: str) -> None:
    await ada(office, step(call("send_message", text="hello", **{spelling: "den"})))
    await put(office, "deny", when={"path": "spaceId", "op": "eq", "value": "den"})
    assert "may not use send_message" in (await results(office))[0]["error"]
    assert await office.texts("den") == []


@pytest.mark.one_database
async def test_an_allow_condition_fails_when_its_argument_is_missing(office: Driver) -> None:
    await ada(office, step(raw("store_memory", '{"content": "a secret"}')), policy={"store_memory": "deny"})
    await put(office, "allow", "store_memory", when={"not": {"path": "tags", "op": "contains", "value": "private"}})
    assert "may not use store_memory" in (await results(office))[0]["error"]
    await office.ask("PATCH", "/agents/ada", json={"policy": {}})
    await put(office, "deny", "store_memory", when={"path": "content", "op": "contains", "value": "secret"})
    assert "may not use store_memory" in (await results(office))[0]["error"]
    assert await office.items("/agents/ada/passages") == []


@pytest.mark.parametrize("amount", ["1000", [1000], None], ids=str)
@pytest.mark.one_database
async def test_a_deny_policy_also_denies_values_it_cannot_compare(office: Driver, amount: Any) -> None:
    """A schema that says nothing of types lets a model write a number as a text, and a program may well take it."""
    pay = {"name": "pay", "description": "Pay", "inputSchema": {"type": "object"}, "executionType": "internal"}
    await office.create("/tools", pay)
    await ada(office, step(call("pay", amount=amount), call("pay", amount=5), call("pay")))
    await office.ask("PATCH", "/agents/ada", json={"tools": ["messaging", "memory", "pay"]})
    await put(office, "deny", "pay", when={"path": "amount", "op": "gt", "value": 100})
    first, small, none = await results(office)
    assert "may not use pay" in first["error"]
    assert (small["args"], none["args"]) == ({"amount": 5}, {})


@pytest.mark.one_database
async def test_invalid_arguments_are_reported_before_any_policy_applies(office: Driver) -> None:
    await ada(office, step(call("send_message", text=7)), policy={"send_message": "ask"})
    assert "text" in (await results(office))[0]["error"]
    assert await office.items("/pending") == []
