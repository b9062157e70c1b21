"""Defining tools: seed 004's fields and defaults, what is refused, and gateway and internal tools at work."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bullpen.net.allowance import Allowance
from tests.driver import Driver
from tests.net.servers import Asked, answer, says, world
from tests.path.scripts import Json, call, say, step
from tests.waiting.gateways import connect, gateway

CHART: Json = {
    "name": "displayChart",
    "description": "Show a chart",
    "inputSchema": {"type": "object", "properties": {"points": {"type": "array"}}},
    "executionType": "internal",
    "visible": True,
}


async def called(office: Driver, tool: str, /, **args: Any) -> Json:
    await office.agent("ada", steps=[step(call(tool, **args)), say("done")], tools=["messaging", tool])
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    return await again(office)


async def again(office: Driver) -> Json:
    nth = len(await office.runs()) + 1
    await office.create("/spaces/lab/messages", {"text": "go"})
    run = await office.run_finished(nth=nth)
    return next(each for each in await office.journal(run["id"]) if each["type"] == "tool_return_message")


# ── defining ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-02", "S4-03")
@pytest.mark.one_database
async def test_a_tool_has_the_founding_documents_fields_and_defaults(office: Driver) -> None:
    made = await office.create("/tools", gateway())
    assert (made["visible"], made["isAsync"], made["timeout"]) == (True, False, 30_000)
    made = await office.create("/tools", {k: v for k, v in CHART.items() if k != "visible"})
    assert made["visible"] is False
    assert await office.get("/tools/displayChart") == made
    listed = {tool["name"]: tool for tool in await office.items("/tools", limit=200)}
    assert listed["displayChart"] == made
    assert listed["send_message"]["builtIn"] is True
    assert listed["send_message"]["family"] == "messaging"
    changed = await office.ask("PATCH", "/tools/displayChart", json={"description": "Another", "visible": True})
    assert (changed["description"], changed["visible"]) == ("Another", True)
    await office.ask("DELETE", "/tools/displayChart", status=204)
    await office.ask("GET", "/tools/displayChart", status=404)


@pytest.mark.proves("I14", "D18", "S4-12")
@pytest.mark.parametrize(
    "config, field",
    [
        ({**CHART, "name": "send_message"}, "name"),
        ({**CHART, "name": "messaging"}, "name"),
        ({**CHART, "name": "no spaces"}, "name"),
        ({**CHART, "executionType": "shell"}, "executionType"),
        ({**CHART, "isAsync": True}, "isAsync"),
        ({**CHART, "execution": {"url": "http://x.example.com"}}, "execution"),
        ({**CHART, "inputSchema": {"$ref": "http://169.254.169.254/x"}}, "inputSchema"),
        ({**CHART, "inputSchema": {"properties": {"a": {"pattern": "^(a+)+$"}}}}, "inputSchema"),
        ({**CHART, "inputSchema": {"properties": {"a": {"pattern": "^(a*){20}b"}}}}, "inputSchema"),
        ({**CHART, "inputSchema": {"description": "x" * 70_000}}, "inputSchema"),
        ({**CHART, "description": "x" * 5000}, "description"),
        ({**CHART, "timeout": 0}, "timeout"),
        ({**CHART, "display": {"customUI": "x"}}, "display"),
        (gateway(isAsync=True), "isAsync"),
        ({**gateway(), "execution": None}, "execution"),
        (gateway(execution={"url": "ftp://x"}), "execution.url"),
        (gateway(execution={"url": "http://{q}.example.com/"}), "execution.url"),
        (gateway(execution={"url": "http://x.example.com/{other}"}), "execution.url"),
        (gateway(execution={"headers": {"Host": "x"}}), "execution.headers"),
        (gateway(execution={"headers": {"X": "a\r\nb: c"}}), "execution.headers"),
        (gateway(execution={"method": "TRACE"}), "execution.method"),
        ({**CHART, "effect": "pure"}, "effect"),
        (gateway(effect="tx"), "effect"),
    ],
)
@pytest.mark.one_database
async def test_what_cannot_be_a_tool_is_refused_with_the_field(office: Driver, config: Json, field: str) -> None:
    refused = await office.ask("POST", "/tools", json=config, status=422)
    assert field in refused["error"]["fields"], refused
    assert len(refused["error"]["message"]) > 10


async def test_tool_names_are_unique_and_built_in_tools_cannot_change(office: Driver) -> None:
    await office.create("/tools", CHART)
    await office.ask("POST", "/tools", json=CHART, status=409)
    await office.ask("PATCH", "/tools/send_message", json={"description": "x"}, status=422)
    await office.ask("DELETE", "/tools/send_message", status=422)
    await office.ask("POST", "/agents", json={"name": "A", "model": "script:echo", "tools": ["nothing"]}, status=422)


# ── internal ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-13", "S4-05", "S4-18")
@pytest.mark.one_database
async def test_an_internal_tool_returns_its_arguments_and_posts_a_card(office: Driver) -> None:
    await office.create("/tools", CHART)
    result = await called(office, "displayChart", points=[1, 2])
    assert result["result"] == {"success": True, "args": {"points": [1, 2]}}
    (card,) = [m for m in await office.items("/spaces/lab/messages") if m["type"] == "tool"]
    assert card["status"] == "complete"
    assert card["metadata"]["args"] == {"points": [1, 2]}


@pytest.mark.one_database
async def test_a_configured_tools_invalid_arguments_return_an_error(office: Driver) -> None:
    await office.create("/tools", CHART)
    result = await called(office, "displayChart", points="many")
    assert result["isError"]
    assert "points" in result["result"]["error"]


# ── gateway ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-05", "S4-10", "D10")
@pytest.mark.one_database
async def test_arguments_fill_the_url_template_and_then_the_query(office: Driver) -> None:
    await office.create("/tools", gateway(execution={"url": "http://api.example.com/of/{q}/now?u=c"}))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b'{"degrees": 21}', content_type="application/json")))
        result = await called(office, "fetchWeather", q="../a b?x=1#@evil", n=3)
    assert result["result"] == {"degrees": 21}
    (asked,) = server.asked
    assert asked.line == "GET /of/..%2Fa%20b%3Fx%3D1%23%40evil/now?u=c&n=3 HTTP/1.1"
    assert asked.headers["idempotency-key"] == result["callId"]


@pytest.mark.one_database
async def test_a_post_sends_its_arguments_as_json_and_never_retries(office: Driver) -> None:
    await office.create("/tools", gateway(execution={"method": "POST"}))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b"busy", "503 Busy")))
        result = await called(office, "fetchWeather", q="rome", n=3)
    assert "status 503: busy" in result["result"]["error"]
    assert [orjson.loads(asked.body) for asked in server.asked] == [{"q": "rome", "n": 3}]


@pytest.mark.parametrize("method, effect, asked", [("POST", "idempotent", 2), ("GET", "once", 1)])
@pytest.mark.one_database
async def test_a_declared_effect_says_whether_a_request_is_repeated(
    office: Driver, method: str, effect: str, asked: int
) -> None:
    await office.create("/tools", gateway(execution={"method": method}, effect=effect))
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b"busy", "503 Busy"), answer(b"sunny")))
        await called(office, "fetchWeather", q="rome")
    assert len(server.asked) == asked


@pytest.mark.one_database
async def test_a_get_is_tried_again_when_the_server_is_busy(office: Driver) -> None:
    await office.create("/tools", gateway())
    async with world() as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b"busy", "503 Busy"), answer(b"sunny")))
        result = await called(office, "fetchWeather", q="rome")
    assert result["result"] == "sunny"
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 1
    assert len(server.asked) == 2


@pytest.mark.proves("S4-11", "S4-15")
@pytest.mark.one_database
async def test_a_server_that_takes_too_long_is_a_time_out(office: Driver) -> None:
    await office.create("/tools", gateway(timeout=200))

    async def never(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with world() as outer:
        connect(office, outer)
        await outer.server(never)
        result = await called(office, "fetchWeather", q="rome")
    assert result["result"]["error"] == "Tool timed out after 200ms"


@pytest.mark.proves("D1", "D11", "P11")
@pytest.mark.one_database
async def test_a_gateway_reaches_a_private_host_only_if_allowed_to(office: Driver) -> None:
    await office.create("/tools", gateway(execution={"url": "http://10.0.0.5:8123/lights"}))
    await office.create("/tools", gateway("other", execution={"url": "http://10.0.0.5:8123/lights"}, policy="allow"))
    async with world(Allowance({"gateway:fetchWeather": ["http://10.0.0.5:8123"]})) as outer:
        connect(office, outer)
        server = await outer.server(says(answer(b"on")), address="10.0.0.5", port=8123)
        assert (await called(office, "fetchWeather", q="x"))["result"] == "on"
        await office.ask("PATCH", "/agents/ada", json={"tools": ["messaging", "other"]})
        script = {"provider": "script", "turns": [{"steps": [step(call("other", q="x")), say("done")]}]}
        await office.ask("PATCH", "/agents/ada", json={"model": script})
        assert (await again(office))["result"]["code"] == "egress_denied"
        assert len(server.asked) == 1


@pytest.mark.proves("D15")
@pytest.mark.one_database
async def test_a_header_with_a_secret_is_sent_and_never_shown(office: Driver) -> None:
    secret = "weather-key-0123456789"
    config = gateway(execution={"headers": {"Authorization": "Bearer {{var:WEATHER_KEY}}"}})
    await office.create("/tools", config)

    async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(asked.headers["authorization"].encode(), "500 Oops"))

    async with world() as outer:
        connect(office, outer)
        server = await outer.server(echo)
        await office.ask("PUT", "/variables/WEATHER_KEY", json={"value": secret, "type": "secret"})
        result = await called(office, "fetchWeather", q="x")
    assert server.asked[0].headers["authorization"] == f"Bearer {secret}"
    assert secret not in repr(result) + repr(office.events)
    assert "***WEATHER_KEY***" in result["result"]["error"]


@pytest.mark.parametrize("schema", [None, 5, "object", [], {"type": "string"}])
@pytest.mark.one_database
async def test_an_invalid_schema_is_refused_on_create_update_and_apply(office: Driver, schema: object) -> None:
    config = {"name": "odd", "description": "d", "inputSchema": schema, "executionType": "internal"}
    refused = await office.ask("POST", "/tools", json=config, status=422)
    assert "inputSchema" in refused["error"]["fields"]
    await office.ask("POST", "/apply", json={"tools": [config]}, status=422)
    await office.create("/tools", {**config, "inputSchema": {"type": "object"}})
    await office.ask("POST", "/apply", json={"tools": [config]}, status=422)
    await office.ask("PATCH", "/tools/odd", json={"inputSchema": schema}, status=422)
    refused = await office.ask("PATCH", "/tools/odd", json={"description": None, "isAsync": None}, status=422)
    assert set(refused["error"]["fields"]) == {"description", "isAsync"}
    assert (await office.get("/tools/odd"))["inputSchema"] == {"type": "object"}
