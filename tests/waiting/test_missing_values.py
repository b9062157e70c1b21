"""Calls whose variables have no value yet: asked for on a card, given once, kept sealed, and carried out then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import events, inbox_items, pending_calls, run_messages, variables
from bullpen.testing import UNLIMITED
from bullpen.tools import Tool, ToolContext, tool
from bullpen.wire.nouns import VariableDefinition
from tests.driver import Api, Driver, Offices
from tests.net.servers import answer, says, world
from tests.path.scripts import Json, call, say, step, turn
from tests.waiting.gateways import connect

SECRET = "sk-shop-0123456789-abcdefgh"
KEY = VariableDefinition(name="SHOP_KEY", type="secret", description="the key of the shop")
CITY = VariableDefinition(name="CITY", description="where it is delivered")
OWN = VariableDefinition(name="OWN", scoped=True)
WAITS: list[Json] = [
    {"kind": "tool_result", "steps": [say("heard later")]},
    {"kind": "expired", "steps": [say("nobody answered")]},
]
GIVEN = {"SHOP_KEY": SECRET, "CITY": "Rome"}
SINKS = (pending_calls, events, inbox_items, run_messages)


def family(used: list[Any], timeout_ms: int) -> dict[str, list[Tool]]:
    @tool(effect="once", variables=[KEY, CITY], timeout_ms=timeout_ms, visible=True)
    async def order(context: ToolContext, item: str) -> dict[str, Any]:
        """Order something."""
        used.append((context.call_id, item, context.variable("SHOP_KEY"), context.variable("CITY")))
        return {"ordered": item, "with": context.variable("SHOP_KEY")}

    @tool(effect="tx", variables=[OWN], timeout_ms=timeout_ms)
    async def note(context: ToolContext) -> dict[str, Any]:
        """Note something."""
        used.append((context.call_id, context.variable("OWN")))
        return {"noted": True}

    return {"shop": [order, note]}


class Shop:
    """Ada, whose tools need values that nobody has set; and what they used."""

    def __init__(self, office: Driver, used: list[Any]) -> None:
        self.office = office
        self.used = used

    async def asks(self, name: str = "order", by: Api | None = None, **more: Any) -> Json:
        wish = call(name, **({"item": "tea"} if name == "order" else {}))
        await self.office.agent(
            "ada", [*WAITS, turn("", step(wish), say("went on"))], tools=["shop", "messaging"], **more
        )
        await self.office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
        return await self.again(by)

    async def again(self, by: Api | None = None) -> Json:
        nth = sum(event["type"] == "tool.requires_action" for event in self.office.events) + 1
        await (by or self.office).create("/spaces/lab/messages", {"text": "go"})
        found: Json = (await self.office.event("tool.requires_action", nth=nth))["call"]
        return found

    async def give(self, asked: Json, by: Api | None = None, *, status: int = 200, **env: str) -> Json:
        return await self.resolve(asked, {"env": env or GIVEN}, by, status=status)

    async def resolve(self, asked: Json, result: Any, by: Api | None = None, *, status: int = 200) -> Json:
        path = f"/pending/{asked['callId']}/resolve"
        found: Json = await (by or self.office).ask("POST", path, json={"result": result}, status=status)
        return found

    async def card(self) -> Json:
        return [message for message in await self.office.messages("lab") if message["type"] == "tool"][-1]

    async def said(self) -> list[str]:
        return [m["text"] for m in await self.office.messages("lab") if m["authorId"] == "ada" and m["text"]]

    async def kept(self) -> str:
        """Every row that tells of calls."""

        async def body(tx: Transaction) -> str:
            return "".join([repr(await tx.all(Statement(select(table)))) for table in SINKS])

        return await self.office.office.store.read(body)


Shops = Callable[..., Awaitable[Shop]]


@pytest.fixture
def shops(offices: Offices) -> Shops:
    async def make(timeout_ms: int = 30_000) -> Shop:
        used: list[Any] = []
        engine = EngineSettings(lease_seconds=2.0)
        return Shop(await offices.open(families=family(used, timeout_ms), limits=UNLIMITED, engine=engine), used)

    return make


@pytest.fixture
async def shop(shops: Shops) -> Shop:
    """Where a run waits long enough for any answer."""
    return await shops()


@pytest.fixture
async def hasty(shops: Shops) -> Shop:
    """Where a run waits for a moment, so that every answer is late."""
    return await shops(50)


# ── asked, given, carried out ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S3-06")
async def test_a_call_goes_on_once_its_missing_values_are_given(shop: Shop) -> None:
    asked = await shop.asks()
    assert (asked["kind"], asked["status"], asked["toolName"]) == ("variables", "waiting", "order")
    home = {"kind": "person", "id": shop.office.owner_id}
    assert asked["args"]["variables"] == [
        {"name": "SHOP_KEY", "type": "secret", "description": "the key of the shop", "scope": home},
        {"name": "CITY", "type": "text", "description": "where it is delivered", "scope": home},
    ]
    card = await shop.card()
    assert (card["status"], card["metadata"]["args"]) == ("requires_action", {"item": "tea"})
    assert [each["name"] for each in card["metadata"]["variables"]] == ["SHOP_KEY", "CITY"]
    assert shop.used == []
    assert await shop.give(asked) == {"accepted": True, "duplicate": False}
    await shop.office.run_finished()
    assert shop.used == [(asked["callId"], "tea", SECRET, "Rome")]
    card = await shop.card()
    assert (card["status"], card["metadata"]["suppliedBy"]) == ("complete", shop.office.owner_id)
    assert await shop.said() == ["went on"]
    row = await shop.office.get(f"/pending/{asked['callId']}")
    assert (row["status"], row["result"]) == ("resolved", {"supplied": ["SHOP_KEY", "CITY"]})


@pytest.mark.proves("S3-07")
async def test_given_values_are_sealed_and_stand_nowhere_else(shop: Shop) -> None:
    asked = await shop.asks()
    await shop.give(asked)
    run = await shop.office.run_finished()
    assert shop.used[0][2] == SECRET
    assert SECRET not in await shop.kept() + repr(shop.office.events) + repr(await shop.office.items("/audit"))
    assert (await shop.office.results(run["id"]))[0] == {"ordered": "tea", "with": "***SHOP_KEY***"}
    rows = await shop.office.office.store.read(lambda tx: tx.all(Statement(select(variables))))
    assert SECRET not in repr(rows)
    listed = {each["name"]: each for each in await shop.office.items("/variables")}
    assert listed["SHOP_KEY"]["scope"] == {"kind": "person", "id": shop.office.owner_id}
    assert "value" not in listed["SHOP_KEY"]
    (noted,) = [row for row in await shop.office.items("/audit") if row["action"] == "call.supplied"]
    assert noted["detail"]["variables"] == ["SHOP_KEY", "CITY"]


async def test_a_value_that_goes_to_no_server_names_none(shop: Shop) -> None:
    asked = await shop.asks()
    assert all("sentTo" not in need for need in asked["args"]["variables"])


async def test_values_that_were_given_are_not_asked_for_again(shop: Shop) -> None:
    await shop.give(await shop.asks())
    await shop.office.run_finished()
    await shop.office.post("lab", "go")
    await shop.office.run_finished(nth=2)
    assert len(shop.used) == 2


async def test_values_given_late_carry_the_call_out_once(hasty: Shop) -> None:
    asked = await hasty.asks()
    run = await hasty.office.run_finished()
    told = (await hasty.office.results(run["id"]))[0]
    assert (told["status"], told["variables"]) == ("waiting_for_values", ["SHOP_KEY", "CITY"])
    assert "do not ask for values in a message" in told["message"]
    await hasty.give(asked)
    late = await hasty.office.run_finished(nth=2)
    assert late["trigger"]["kind"] == "tool_result"
    assert [used[0] for used in hasty.used] == [asked["callId"]]
    assert await hasty.said() == ["went on", "heard later"]


# ── who may, and what is refused ────────────────────────────────────────────────────────────────────────────────────


async def test_only_the_person_asked_may_give_their_own_value(shop: Shop) -> None:
    anna_id, anna = await shop.office.person("Anna")
    await shop.office.agent("bo", steps=[], tools=[])
    await shop.office.agent("zed", steps=[], tools=[])
    _, zoe = await shop.office.person("Zoe")
    await shop.office.space("hall", [anna_id, "bo"])
    wish = step(call("order", item="tea"))
    await shop.office.agent("ada", [turn("", wish, say("went on"))], tools=["shop", "messaging"])
    await shop.office.space("lab", ["ada", anna_id], wake={"people": "all", "agents": "none"})
    asked = await shop.again(anna)
    assert asked["args"]["variables"][0]["scope"] == {"kind": "person", "id": anna_id}
    assert asked["metadata"]["personId"] == anna_id
    refused = await shop.give(asked, status=403)
    assert anna_id in refused["error"]["message"]
    await shop.give(asked, zoe, status=404)
    await shop.give(asked, await shop.office.as_agent("ada"), status=403)
    assert shop.used == []
    await shop.give(asked, anna)
    await shop.office.run_finished()
    assert shop.used[0][2] == SECRET


async def test_an_owner_may_give_a_value_in_a_wider_scope(shop: Shop) -> None:
    _, anna = await shop.office.person("Anna")
    wish = step(call("order", item="tea"))
    await shop.office.agent("ada", [turn("", wish, say("went on"))], tools=["shop", "messaging"])
    await shop.office.space("lab", ["ada", "psn_anna"], wake={"people": "all", "agents": "none"})
    asked = await shop.again(anna)
    await shop.resolve(asked, {"env": GIVEN, "scope": "workspace"}, anna, status=403)
    await shop.resolve(asked, {"env": GIVEN, "scope": "agent"})
    await shop.office.run_finished()
    assert len(shop.used) == 1
    assert {tuple(each["scope"].values()) for each in await shop.office.items("/variables")} == {("agent", "ada")}


@pytest.mark.proves("S3-08")
async def test_a_scoped_value_is_kept_for_its_thread_alone(shop: Shop) -> None:
    asked = await shop.asks("note")
    run = (await shop.office.runs())[0]
    assert asked["args"]["variables"][0]["scope"] == {"kind": "thread", "id": run["threadId"]}
    await shop.give(asked, OWN="mine")
    await shop.office.run_finished()
    assert shop.used == [(asked["callId"], "mine")]
    assert [each["scope"]["kind"] for each in await shop.office.items("/variables")] == ["thread"]


@pytest.mark.parametrize(
    "result, field",
    [
        ({}, "result.env"),
        ({"env": {"SHOP_KEY": SECRET}}, "result.env.CITY"),
        ({"env": {"SHOP_KEY": SECRET, "CITY": " "}}, "result.env.CITY"),
        ({"env": {**GIVEN, "OTHER": "x"}}, "result.env.OTHER"),
        ({"env": {**GIVEN, "CITY": "x" * 70_000}}, "result.env.CITY"),
        ({"env": {"SHOP_KEY": "short", "CITY": "Rome"}}, "result.env.SHOP_KEY"),
        ({"env": {**GIVEN, "CITY": 7}}, "result.env.CITY"),
        ({"env": GIVEN, "scope": "moon"}, "result.scope"),
        ("yes", "result"),
    ],
)
@pytest.mark.one_database
async def test_an_answer_with_wrong_values_is_refused_and_keeps_nothing(shop: Shop, result: Any, field: str) -> None:
    asked = await shop.asks()
    response = await shop.office.http.post(f"/pending/{asked['callId']}/resolve", json={"result": result})
    assert response.status_code == 422
    assert field in orjson.loads(response.content)["error"]["fields"]
    assert SECRET not in response.text
    assert await shop.office.items("/variables") == []
    await shop.give(asked)
    await shop.office.run_finished()
    assert len(shop.used) == 1


async def test_the_first_answer_counts_and_its_author_repeats_it(shop: Shop) -> None:
    asked = await shop.asks()
    given = {"env": GIVEN, "scope": "agent"}
    await shop.resolve(asked, given)
    assert (await shop.resolve(asked, given))["duplicate"]
    await shop.resolve(asked, {**given, "env": {**GIVEN, "SHOP_KEY": SECRET + "2"}}, status=409)
    admin = await shop.office.create("/people", {"name": "Max", "role": "admin"})
    token = (await shop.office.create("/tokens", {"name": "m", "personId": admin["id"]}))["token"]
    # Nobody else learns whether these are the values.
    await shop.resolve(asked, given, Api(shop.office.office, token), status=409)
    await shop.office.run_finished()
    assert [used[2] for used in shop.used] == [SECRET]
    assert {each["scope"]["kind"] for each in await shop.office.items("/variables")} == {"agent"}


async def test_a_cancelled_request_for_values_carries_nothing_out(shop: Shop) -> None:
    asked = await shop.asks()
    await shop.office.create(f"/pending/{asked['callId']}/cancel", {})
    run = await shop.office.run_finished()
    assert "cancelled this call" in (await shop.office.results(run["id"]))[0]["error"]
    await shop.give(asked, status=410)
    assert shop.used == []
    assert await shop.office.items("/variables") == []


# ── the order ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_denied_call_asks_for_no_values(shop: Shop) -> None:
    await shop.office.agent(
        "ada",
        [turn("", step(call("order", item="tea")), say("no"))],
        tools=["shop", "messaging"],
        policy={"order": "deny"},
    )
    await shop.office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await shop.office.post("lab", "go")
    run = await shop.office.run_finished()
    assert "Denied" in (await shop.office.results(run["id"]))[0]["error"]
    assert await shop.office.items("/pending", status="waiting") == []


@pytest.mark.parametrize("timeout_ms", [30_000, 50])
async def test_values_are_asked_for_after_the_approval_and_it_stands(shops: Shops, timeout_ms: int) -> None:
    shop = await shops(timeout_ms)
    approval = await shop.asks(policy={"order": "ask"})
    assert approval["kind"] == "approval"
    if timeout_ms < 1000:
        await shop.office.run_finished()
    await shop.resolve(approval, {"approved": True})
    asked = (await shop.office.event("tool.requires_action", nth=2))["call"]
    assert (asked["callId"], asked["kind"]) == (approval["callId"], "variables")
    await shop.give(asked)
    await shop.office.run_finished(nth=2 if timeout_ms < 1000 else 1)
    assert [used[0] for used in shop.used] == [approval["callId"]]
    card = await shop.card()
    assert card["metadata"]["approvedBy"] == card["metadata"]["suppliedBy"] == shop.office.owner_id
    assert len([event for event in shop.office.events if event["type"] == "tool.requires_action"]) == 2


async def test_a_rejected_call_asks_for_no_values(shop: Shop) -> None:
    approval = await shop.asks(policy={"order": "ask"})
    await shop.resolve(approval, {"approved": False})
    await shop.office.run_finished()
    assert (await shop.office.get(f"/pending/{approval['callId']}"))["kind"] == "approval"
    assert shop.used == []


async def test_an_unattended_run_gets_the_error_at_once(shop: Shop) -> None:
    await shop.office.agent("ada", [turn("", step(call("note")), step(text="told"))], tools=["shop", "messaging"])
    await shop.office.create("/agents/ada/trigger", {"serviceName": "shop", "payload": {}})
    run = await shop.office.run_finished()
    (result,) = await shop.office.results(run["id"])
    assert (result["code"], result["missing"][0]["name"]) == ("variables_required", "OWN")
    assert "Ask a person who manages this office to set it" in result["error"]


@pytest.mark.proves("D15")
async def test_a_gateways_header_waits_for_its_value(shop: Shop) -> None:
    execution = {
        "url": "http://api.example.com/w",
        "method": "GET",
        "headers": {"Authorization": "Bearer {{var:W_KEY}}"},
    }
    config = {"name": "weather", "description": "w", "inputSchema": {"type": "object"}, "executionType": "gateway"}
    await shop.office.create("/tools", {**config, "execution": execution})
    await shop.office.agent("ada", [turn("", step(call("weather")), say("went on"))], tools=["weather", "messaging"])
    await shop.office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    async with world() as outer:
        connect(shop.office, outer)
        server = await outer.server(says(answer(b"sunny")))
        asked = await shop.again()
        assert asked["args"]["variables"][0]["sentTo"] == "http://api.example.com"
        assert server.asked == []
        await shop.give(asked, W_KEY=SECRET)
        await shop.office.run_finished()
    assert [each.headers["authorization"] for each in server.asked] == [f"Bearer {SECRET}"]
    assert SECRET not in await shop.kept() + repr(shop.office.events)


async def test_a_tool_changed_meanwhile_gets_no_values(shop: Shop) -> None:
    config = {"name": "weather", "description": "w", "inputSchema": {"type": "object"}, "executionType": "gateway"}
    execution = {"url": "http://api.example.com/w?k={{var:W_KEY}}", "method": "GET"}
    await shop.office.create("/tools", {**config, "execution": execution})
    await shop.office.agent("ada", [turn("", step(call("weather")), say("went on"))], tools=["weather", "messaging"])
    await shop.office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    async with world() as outer:
        connect(shop.office, outer)
        server = await outer.server(says(answer(b"sunny")))
        asked = await shop.again()
        moved = {**execution, "url": "http://api.example.com/other?k={{var:W_KEY}}"}
        await shop.office.ask("PATCH", "/tools/weather", json={"execution": moved})
        await shop.give(asked, W_KEY=SECRET)
        run = await shop.office.run_finished()
    assert server.asked == []
    assert "was changed" in (await shop.office.results(run["id"]))[0]["error"]
