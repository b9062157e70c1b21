"""Variables through the doors people and tools use."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import bindparam, select, update

from bullpen.net.allowance import Allowance
from bullpen.net.types import Limits
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import variables
from bullpen.tools import ToolContext, tool
from bullpen.wire.nouns import VariableDefinition
from tests.driver import Api, Driver, Offices
from tests.net.servers import Asked, World, answer, redirects, says, world
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, say, step

SECRET = "sk-shop-0123456789-abcdefgh"

KEY = VariableDefinition(name="SHOP_KEY", type="secret", description="the key of the shop")
CITY = VariableDefinition(name="CITY", required=False)

_ROWS = Statement(select(variables.c.scope_id, variables.c.name, variables.c.value, variables.c.key_id))
_MOVE = Statement(update(variables).where(variables.c.name == bindparam("name_")).values(scope_id=bindparam("to")))


@tool(variables=[KEY, CITY])
async def order(context: ToolContext, item: str) -> dict[str, Any]:
    """Order something in the shop."""
    found = await context.outside.request(
        "POST",
        "http://api.example.com/{item}/{{var:CITY}}?key={{var:SHOP_KEY}}",
        headers={"Authorization": "Bearer {{var:SHOP_KEY}}"},
        places={"item": item},
        limits=Limits(total=5),
    )
    return {"status": found.status, "text": found.body.decode()}


@tool(effect="pure", variables=[KEY, CITY])
async def look(context: ToolContext) -> dict[str, Any]:
    """Look at the values."""
    return {"city": context.variable("CITY"), "key": len(context.variable("SHOP_KEY") or "")}


SHOP = {"shop": [order, look]}


async def put(api: Api, name: str, value: str, *, status: int = 200, **more: Any) -> Json:
    body = {"value": value, **more}
    found: Json = await api.ask("PUT", f"/variables/{name}", json=body, status=status)
    return found


async def called(office: Driver, tool: str, **args: Any) -> Json:
    """What came of a call that an agent makes in the space `lab`, as the journal has it."""
    await office.agent("ada", steps=[step(call(tool, **args)), say("done")], tools=["shop", "messaging"])
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    return await again(office)


async def again(office: Driver) -> Json:
    nth = len(await office.runs()) + 1
    await office.create("/spaces/lab/messages", {"text": "go"})
    run = await office.run_finished(nth=nth)
    return next(each for each in await office.journal(run["id"]) if each["type"] == "tool_return_message")


@pytest.fixture
async def shop(offices: Offices) -> Driver:
    return await offices.open(families=SHOP)


# ── setting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S3-05", "S3-07")
async def test_a_secret_goes_in_and_never_comes_out(office: Driver) -> None:
    made = await put(office, "SHOP_KEY", SECRET, type="secret", description="the key of the shop")
    assert made["type"] == "secret"
    assert "value" not in made
    (listed,) = await office.items("/variables")
    assert listed == made
    await put(office, "CITY", "Rome")
    assert [(v["name"], v.get("value")) for v in await office.items("/variables")] == [
        ("CITY", "Rome"),
        ("SHOP_KEY", None),
    ]
    rows = await office.office.store.read(lambda tx: tx.all(_ROWS))
    assert SECRET not in repr(rows)
    (noted,) = [row for row in await office.items("/audit") if row["objectId"] == "SHOP_KEY"]
    assert noted["detail"] == {"scope": "workspace", "scopeId": "", "type": "secret"}


async def test_setting_a_variable_again_replaces_it_only_if_it_differs(office: Driver) -> None:
    first = await put(office, "SHOP_KEY", SECRET, type="secret")
    assert await put(office, "SHOP_KEY", SECRET, type="secret") == first
    await put(office, "SHOP_KEY", SECRET + "2", type="secret")
    await put(office, "SHOP_KEY", "plain", type="text")
    assert [v["value"] for v in await office.items("/variables")] == ["plain"]
    assert len([row for row in await office.items("/audit") if row["objectId"] == "SHOP_KEY"]) == 3


async def test_a_variable_is_deleted_only_in_the_given_scope(office: Driver) -> None:
    await office.space("lab")
    await put(office, "CITY", "Rome")
    await put(office, "CITY", "Oslo", scope={"kind": "space", "id": "lab"})
    await office.ask("DELETE", "/variables/CITY?kind=space&id=lab", status=204)
    await office.ask("DELETE", "/variables/CITY?kind=space&id=lab", status=404)
    assert [v["value"] for v in await office.items("/variables")] == ["Rome"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    "name, body, field",
    [
        ("1ST", {"value": "x"}, "name"),
        ("A-B", {"value": "x"}, "name"),
        ("A" * 129, {"value": "x"}, "name"),
        ("PIN", {"value": "1234", "type": "secret"}, "value"),
        ("WORD", {"value": "general", "type": "secret"}, "value"),
        ("A", {"value": "x" * 65_537}, "value"),
        ("A", {"value": "x", "scope": {"kind": "space"}}, "scope.id"),
        ("A", {"value": "x", "scope": {"kind": "workspace", "id": "w"}}, "scope.id"),
        ("A", {"value": "x", "scope": {"kind": "planet"}}, "scope.kind"),
        ("A", {"value": "x", "type": "number"}, "type"),
        ("A", {"value": None}, "value"),
        ("A", {}, "value"),
    ],
)
async def test_what_cannot_be_a_variable_is_refused_with_the_field(
    office: Driver, name: str, body: Json, field: str
) -> None:
    refused = await office.ask("PUT", f"/variables/{name}", json=body, status=422)
    assert field in refused["error"]["fields"]
    assert await office.items("/variables") == []


async def test_each_variable_scope_can_be_set_only_by_its_people(office: Driver) -> None:
    """The office's own: whoever manages agents. A space's: whoever keeps it. A person's: that person alone."""
    await office.agent("ada")
    await office.space("lab", private=True)
    anna_id, anna = await office.person("Anna")
    office_scopes: list[Json] = [{"kind": "workspace"}, {"kind": "agent", "id": "ada"}]
    for scope in office_scopes:
        await put(office, "A", "1", scope=scope)
        await put(anna, "A", "2", scope=scope, status=403)
    await put(anna, "A", "3", scope={"kind": "space", "id": "lab"}, status=404)
    await put(anna, "A", "3", scope={"kind": "person"})
    await put(office, "A", "4", scope={"kind": "person", "id": anna_id}, status=403)
    await put(office, "A", "4", scope={"kind": "agent", "id": "nobody"}, status=404)
    await put(office, "A", "4", scope={"kind": "thread", "id": "thr_nothing"}, status=404)
    await office.create("/spaces/lab/members", {"memberId": anna_id})
    await put(anna, "A", "3", scope={"kind": "space", "id": "lab"}, status=403)
    await put(office, "A", "3", scope={"kind": "space", "id": "lab"})
    assert [v["scope"] for v in await anna.items("/variables")] == [
        {"kind": "person", "id": anna_id},
        {"kind": "space", "id": "lab"},
    ]
    mine = await office.items("/variables")
    assert [v["scope"]["kind"] for v in mine] == ["agent", "space", "workspace"]
    assert [v["scope"]["kind"] for v in await office.items("/variables", kind="agent", id="ada")] == ["agent"]


async def test_a_long_list_comes_in_pages(office: Driver) -> None:
    for number in range(7):
        await put(office, f"V{number}", "x")
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await office.get("/variables", params={"limit": 3, **cursor})
        seen += [each["name"] for each in page["items"]]
        if "next" not in page:
            break
        cursor = {"cursor": page["next"]}
    assert seen == [f"V{number}" for number in range(7)]


# ── using ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("S3-06")
async def test_a_call_missing_a_required_variable_fails_and_names_it(shop: Driver) -> None:
    await shop.agent("ada", steps=[step(call("look")), say("done")], tools=["shop", "messaging"])
    await shop.create("/agents/ada/trigger", {"serviceName": "shop", "payload": {}})  # nobody is there to be asked
    run = await shop.run_finished()
    (result,) = [each for each in await shop.journal(run["id"]) if each["type"] == "tool_return_message"][:1]
    assert result["isError"]
    assert result["result"]["code"] == "variables_required"
    assert [each["name"] for each in result["result"]["missing"]] == ["SHOP_KEY"]
    assert result["result"]["missing"][0]["description"] == "the key of the shop"
    assert "SHOP_KEY" in result["result"]["error"]
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await shop.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    assert (await again(shop))["result"] == {"city": None, "key": len(SECRET)}


async def test_the_nearest_value_wins(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await called(shop, "look")
    thread_id = (await shop.items("/runs"))[0]["threadId"]
    scopes = [
        {"kind": "workspace"},
        {"kind": "person"},
        {"kind": "space", "id": "lab"},
        {"kind": "agent", "id": "ada"},
        {"kind": "thread", "id": thread_id},
    ]
    for number, scope in enumerate(scopes):
        await put(shop, "CITY", f"city {number}", scope=scope)
        assert (await again(shop))["result"]["city"] == f"city {number}"


@pytest.mark.one_database
async def test_what_nobody_has_set_comes_from_the_settings(offices: Offices) -> None:
    office = await offices.open(families=SHOP, variables={"SHOP_KEY": SECRET, "CITY": "Bern"})
    assert (await called(office, "look"))["result"] == {"city": "Bern", "key": len(SECRET)}
    assert await office.items("/variables") == []


async def test_another_persons_values_are_not_used(shop: Driver) -> None:
    _, anna = await shop.person("Anna")
    await put(anna, "CITY", "Anna's city", scope={"kind": "person"})
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    assert (await called(shop, "look"))["result"]["city"] is None


@pytest.mark.proves("F6")
async def test_a_secret_moved_to_another_row_fails_and_is_audited(shop: Driver) -> None:
    await shop.space("other")
    await put(shop, "SHOP_KEY", SECRET, type="secret", scope={"kind": "space", "id": "other"})

    async def move(tx: Transaction) -> None:
        await tx.run(_MOVE, name_="SHOP_KEY", to="lab")

    await shop.office.store.transact(move)
    result = await called(shop, "look")
    assert result["result"]["code"] == "secret_invalid"
    (noted,) = [row for row in await shop.items("/audit") if row["action"] == "secret.invalid"]
    assert noted["detail"]["scope"] == "space lab"


# ── over the network ────────────────────────────────────────────────────────────────────────────────────────────────


async def outside(office: Driver, outer: World) -> None:
    office.office._egress = outer.egress


def echo() -> Any:
    """A server whose error page holds all that it was asked with."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        page = f"cannot {asked.line} with {asked.headers.get('authorization')}".encode()
        writer.write(answer(page, "500 Oops"))

    return behave


@pytest.mark.one_database
@pytest.mark.proves("S3-07")
async def test_a_secret_is_inserted_only_when_the_request_is_sent(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await put(shop, "CITY", "São Paulo/?x")
    async with world() as outer:
        await outside(shop, outer)
        server = await outer.server(says(answer(b"ok")))
        result = await called(shop, "order", item="{{var:SHOP_KEY}}")
    assert result["result"] == {"status": 200, "text": "ok"}
    (asked,) = server.asked
    # What the model writes is data: its braces stay braces.
    assert asked.line == (f"POST /%7B%7Bvar%3ASHOP_KEY%7D%7D/S%C3%A3o%20Paulo%2F%3Fx?key={SECRET} HTTP/1.1")
    assert asked.headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.one_database
@pytest.mark.proves("D15", "F11")
async def test_a_server_that_echoes_the_secret_tells_the_agent_nothing(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await put(shop, "CITY", "Rome")
    async with world() as outer:
        await outside(shop, outer)
        server = await outer.server(echo())
        result = await called(shop, "order", item="tea")
    assert SECRET in server.asked[0].line
    assert "***SHOP_KEY***" in result["result"]["text"]
    everything = repr(result) + repr(shop.events)
    assert SECRET not in everything


@pytest.mark.one_database
@pytest.mark.proves("D7")
async def test_a_secret_is_not_sent_to_where_a_server_redirects(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await put(shop, "CITY", "Rome")
    async with world() as outer:
        await outside(shop, outer)
        await outer.server(redirects("http://other.example.com/", "307 Temporary Redirect"))
        thief = await outer.server(says(answer(b"thanks")), name="other.example.com", address="93.184.216.35")
        result = await called(shop, "order", item="tea")
    assert result["result"]["code"] == "egress_denied"
    assert thief.asked == []


@pytest.mark.one_database
@pytest.mark.proves("D1", "D2")
async def test_a_tool_reaches_a_private_address_only_if_allowed_to(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await put(shop, "CITY", "Rome")
    async with world() as outer:
        await outside(shop, outer)
        outer.dns.answer("api.example.com", ["127.0.0.1"])
        result = await called(shop, "order", item="tea")
        assert result["result"]["code"] == "egress_denied"
        assert outer.sockets.opened == []
    async with world(Allowance({"tool:order": ["http://api.example.com"]})) as outer:
        await outside(shop, outer)
        await outer.server(says(answer(b"ok")), addresses=["127.0.0.1"], address="127.0.0.1")
        assert (await again(shop))["result"]["status"] == 200


@pytest.mark.one_database
async def test_a_secret_unfit_for_a_header_fails_without_being_shown(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", f"{SECRET}\r\nX-More: 1", type="secret")
    await put(shop, "CITY", "Rome")
    async with world() as outer:
        await outside(shop, outer)
        server = await outer.server(says(answer(b"ok")))
        result = await called(shop, "order", item="tea")
    assert result["result"]["code"] == "egress_denied"
    assert SECRET not in repr(result)
    assert server.asked == []


# ── instructions ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
@pytest.mark.proves("S3-05", "S3-06")
async def test_an_agents_instructions_use_variables_and_fail_without_them(shop: Driver) -> None:
    declared = [{"name": "CITY"}, {"name": "SHOP_KEY", "type": "secret", "required": False}]
    ada = await puppet(
        shop,
        "ada",
        steps=[say("done")],
        instructions="You live in {{var:CITY}}, your key is {{var:SHOP_KEY}}, and {{var:OTHER}}.",
        variables=declared,
    )
    await shop.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await shop.create("/spaces/lab/messages", {"text": "go"})
    run = await shop.run_finished()
    assert (run["status"], run["stopReason"]) == ("failed", "variables_required")
    assert "CITY" in run["error"]
    assert ada.shown == []
    await put(shop, "CITY", "Rome")
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await shop.create("/spaces/lab/messages", {"text": "go"})
    shown = await ada.asked(1)
    assert "You live in Rome, your key is ***SHOP_KEY***, and {{var:OTHER}}." in shown.system


# ── forgetting ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_erased_takes_its_variables_along(shop: Driver) -> None:
    await put(shop, "SHOP_KEY", SECRET, type="secret")
    await called(shop, "look")
    thread_id = (await shop.items("/runs"))[0]["threadId"]
    anna_id, anna = await shop.person("Anna")
    await put(anna, "CITY", "hers", scope={"kind": "person"})
    await put(shop, "CITY", "its", scope={"kind": "space", "id": "lab"})
    await put(shop, "CITY", "the agent's", scope={"kind": "agent", "id": "ada"})
    await put(shop, "CITY", "the thread's", scope={"kind": "thread", "id": thread_id})
    await shop.ask("POST", f"/people/{anna_id}/erase")
    await shop.ask("DELETE", "/spaces/lab")
    await shop.ask("POST", "/agents/ada/erase")
    rows = await shop.office.store.read(lambda tx: tx.all(_ROWS))
    assert [row[1] for row in rows] == ["SHOP_KEY"]


async def test_the_number_of_variables_per_scope_is_limited(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bullpen.variables.rules.MOST", 2)
    await put(office, "A", "1")
    await put(office, "B", "1")
    refused = await put(office, "C", "1", status=409)
    assert "Delete one" in refused["error"]["message"]
    await put(office, "B", "2")
    await put(office, "C", "1", scope={"kind": "person"})
