"""Connections: where models are asked, by agents that name them."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.observe.redact import REDACTOR
from bullpen.testing.model_server import KEY, ModelServer, fails, plays
from bullpen.testing.wires import Text
from tests.driver import Api, Driver, Json, Offices
from tests.llm.offices import SILENT, say
from tests.llm.speaking import EVERY_WIRE, PROVIDERS, WIRES


async def signed_in(office: Driver, role: str = "owner") -> Api:
    """Somebody at the page: a browser session, no token."""
    link = (await office.create("/invites", {"role": role}))["link"]
    api = Api(office.office, None)
    code = link.rpartition("=")[2]
    await api.create("/invites/accept", {"code": code, "name": f"Pia the {role}", "password": "correct horse battery"})
    return api


async def connect(api: Api, server: ModelServer, wire: str = "chat", **more: Any) -> Json:
    """As the page does: a local address that the owner confirms, with its key."""
    body = {"provider": PROVIDERS[wire], "baseUrl": server.url, "confirm": server.url, "apiKey": KEY, **more}  # type: ignore[index]
    made: Json = await api.create("/models", body)
    return made


async def ada_on(office: Driver, connection: Json, **more: Any) -> None:
    await office.agent("ada", model={"connection": connection["id"], "name": "a-model"}, **more)
    await office.space("general", ["ada"], wake={"people": "all"})


async def refusal(api: Api, path: str, body: Json, status: int) -> str:
    answer = await api.create(path, body, status=status)
    return str(answer["error"]["message"])


@EVERY_WIRE
async def test_an_agent_thinks_with_the_model_of_a_confirmed_connection(
    wire: Any, offices: Offices, server: ModelServer
) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server, wire)
    assert made["confirmed"] == server.url
    assert made["hasKey"] is True
    assert KEY not in str(made)
    await ada_on(office, made)
    server.gives(plays(say("Hello from afar.")), plays(SILENT))
    await office.post("general", "hello?")
    await office.run_finished("ada")
    assert "Hello from afar." in await office.texts("general")
    assert server.asked[0].wire == wire
    assert server.asked[0].json["model"] == "a-model"
    assert server.problems == []
    assert (await office.items("/usage", by="model"))[0]["id"] == f"{PROVIDERS[wire]}:a-model"


@pytest.mark.one_database
@pytest.mark.parametrize("wire", WIRES)
async def test_the_models_that_a_server_offers_are_listed(wire: Any, offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server, wire)
    server.offers = [{"id": "zeta"}, {"id": "alpha", "context_length": 8192}, {"id": 7}, {"id": "a\nline"}, "plain"]
    found = await page.get(f"/models/{made['id']}/list")
    assert [each["name"] for each in found["items"]] == ["alpha", "plain", "zeta"]
    assert found["items"][0]["contextTokens"] == 8192
    assert "price" not in found["items"][0], "nobody has said what it costs"
    await page.get(f"/models/{made['id']}/list")
    assert len(server.listed) == 1, "kept for a moment"
    await page.get(f"/models/{made['id']}/list", params={"fresh": True})
    assert len(server.listed) == 2


@pytest.mark.one_database
async def test_a_list_that_cannot_be_had_says_what_failed(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server, apiKey="not-the-right-one-77", defaultModel="a-model")
    found = await page.get(f"/models/{made['id']}/list")
    assert found["problem"] == "key"
    assert "does not accept the key" in found["message"]
    assert "not-the-right-one-77" not in found["message"]
    assert [each["name"] for each in found["items"]] == ["a-model"], "what was chosen stays there to be chosen"
    await page.ask("PATCH", f"/models/{made['id']}", json={"apiKey": KEY})
    assert "problem" not in await page.get(f"/models/{made['id']}/list")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "behaviour, problem, words",
    [
        (fails(401, {"error": {"message": "that key is over"}}), "key", "that key is over"),
        (fails(404, {"error": {"message": "no such llama"}}), "model", "no such llama"),
        (fails(400, {"error": {"message": "I do not speak this"}}), "answer", "I do not speak this"),
        (fails(200, {"hello": "world"}), "answer", "does not stream"),
    ],
    ids=["key", "model", "request", "no model server"],
)
async def test_a_check_says_what_failed_in_the_providers_words(
    behaviour: Any, problem: str, words: str, offices: Offices, server: ModelServer
) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server)
    server.gives(behaviour)
    found = await page.create("/models/check", {"model": {"connection": made["id"], "name": "a-model"}})
    assert found["problem"] == problem
    assert words in found["message"]


# ── who may open an address ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_token_cannot_open_an_address_of_this_network(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    body = {"provider": "openai-chat", "baseUrl": server.url, "confirm": server.url, "apiKey": KEY}
    assert "A token cannot do it" in await refusal(office, "/models", body, 403)
    made = await office.create("/models", {**body, "confirm": None})
    assert made["needsConfirming"] is True
    answer = await office.ask("PATCH", f"/models/{made['id']}", json={"confirm": server.url}, status=403)
    assert "by an owner" in answer["error"]["message"]
    found = await office.create("/models/check", {"model": {"connection": made["id"], "name": "a-model"}})
    assert found["problem"] == "address"
    assert server.connections == 0
    page = await signed_in(office)
    opened = await page.ask("PATCH", f"/models/{made['id']}", json={"confirm": server.url})
    assert (opened["confirmed"], opened["needsConfirming"]) == (server.url, False)
    server.gives(plays(Text("yes")))
    found = await office.create("/models/check", {"model": {"connection": made["id"], "name": "a-model"}})
    assert found["answered"] is True
    entries = [each for each in await office.items("/audit") if each["action"] == "connection.confirmed"]
    assert [each["detail"]["address"] for each in entries] == [server.url]


@pytest.mark.one_database
async def test_an_admin_cannot_open_an_address(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office, "admin")
    body = {"provider": "openai-chat", "baseUrl": server.url, "confirm": server.url}
    await page.create("/models", body, status=403)
    assert await office.items("/models") == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://[fe80::1]:11434/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://metadata.google.internal/v1",
        "http://100.100.100.200/v1",
        "http://0.0.0.0:11434/v1",
        "http://224.0.0.1/v1",
    ],
)
async def test_a_link_local_address_is_never_opened(url: str, offices: Offices) -> None:
    office = await offices.open()
    page = await signed_in(office)
    origin = url.removesuffix("/v1")
    await page.create("/models", {"provider": "openai-chat", "baseUrl": url, "confirm": origin}, status=422)
    assert await page.items("/models") == []


@pytest.mark.one_database
async def test_what_is_confirmed_is_exactly_the_address(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    other = server.url.replace("127.0.0.1", "127.0.0.2")
    body = {"provider": "openai-chat", "baseUrl": server.url, "confirm": other}
    assert "that is what can be confirmed" in await refusal(page, "/models", body, 422)
    await connect(page, server)
    for spec in (
        {"provider": "openai-chat", "name": "a-model", "baseUrl": f"{other}/v1"},
        {"provider": "openai-chat", "name": "a-model", "baseUrl": f"http://127.0.0.1:{server.port + 1}/v1"},
        {"provider": "openai-chat", "name": "a-model", "baseUrl": f"https://127.0.0.1:{server.port}/v1"},
    ):
        found = await page.create("/models/check", {"model": spec})
        assert found["problem"] == "address"
        assert "egress.listed" in found["message"], "denied, not merely away"


@pytest.mark.one_database
async def test_a_name_that_turns_to_a_metadata_service_stays_shut(offices: Offices) -> None:
    """DNS rebinding: the name was confirmed, and then it leads elsewhere."""

    class Turning:
        async def addresses(self, name: str) -> list[Any]:
            from ipaddress import ip_address

            return [ip_address("169.254.169.254")]

    async with Egress(Allowance(), dns=Turning()) as egress:
        office = await offices.open()
        office.office._egress = egress
        page = await signed_in(office)
        url = "http://llama.internal:11434"
        made = await page.create("/models", {"provider": "openai-chat", "baseUrl": url, "confirm": url})
        found = await page.create("/models/check", {"model": {"connection": made["id"], "name": "a-model"}})
    assert found["problem"] == "address"
    assert "nobody may list by name" in found["message"]


async def test_an_address_is_shut_for_all_processes_with_its_connection(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server)
    spec = {"provider": "openai-chat", "name": "a-model", "baseUrl": f"{server.url}/v1"}
    others = [office]
    if office.office.store.shared:
        others.append(await offices.open(watch=False))
    server.key = None
    server.gives(plays(Text("yes")))
    for each in others:
        assert (await each.create("/models/check", {"model": spec}))["answered"] is True
    await page.ask("DELETE", f"/models/{made['id']}")
    for each in others:
        assert (await each.create("/models/check", {"model": spec}))["problem"] == "address"


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_key_does_not_follow_to_another_address(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server)
    moved = await page.ask("PATCH", f"/models/{made['id']}", json={"baseUrl": "https://models.example.com/v1"})
    assert (moved["hasKey"], moved.get("apiKeyVariable"), moved.get("confirmed")) == (False, None, None)
    assert await page.items("/variables") == []


@pytest.mark.one_database
async def test_a_key_is_sealed_and_goes_with_its_connection(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server)
    (variable,) = await page.items("/variables")
    assert (variable["name"], variable["type"], variable.get("value")) == (made["apiKeyVariable"], "secret", None)
    assert REDACTOR.clean(KEY) != KEY
    await page.ask("DELETE", f"/models/{made['id']}")
    assert await page.items("/variables") == []


@pytest.mark.one_database
async def test_a_key_that_agents_use_by_name_stays(offices: Offices) -> None:
    office = await offices.open()
    made = await office.create("/models", {"provider": "anthropic", "apiKey": KEY})
    assert made["apiKeyVariable"] == "ANTHROPIC_API_KEY"
    await office.agent("ada", model="anthropic:a-model")
    await office.ask("DELETE", f"/models/{made['id']}")
    assert [each["name"] for each in await office.items("/variables")] == ["ANTHROPIC_API_KEY"]


# ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_connection_in_use_is_not_deleted(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    made = await office.create("/models", {"provider": "anthropic"})
    await ada_on(office, made)
    assert (await office.items("/models"))[0]["agents"] == ["ada"]
    answer = await office.ask("DELETE", f"/models/{made['id']}", status=409)
    assert answer["error"]["message"].startswith("Ada uses Anthropic.")
    await office.ask("PATCH", "/agents/ada", json={"model": "script:echo"})
    await office.ask("DELETE", f"/models/{made['id']}")
    assert await office.items("/models") == []


async def test_agents_name_a_connection_by_its_name(offices: Offices) -> None:
    office = await offices.open()
    made = await office.create("/models", {"provider": "anthropic", "name": "Clouds"})
    agent = {"id": "ada", "name": "Ada", "model": {"connection": "clouds", "name": "a-model"}}
    changes = [await office.create("/apply", {"agents": [agent]}) for _ in range(2)]
    assert [change["agents"][0]["change"] for change in changes] == ["created", "unchanged"]
    kept = (await office.get("/agents/ada"))["model"]
    assert kept == {"connection": made["id"], "name": "a-model"}
    agent["model"] = {"connection": "nowhere", "name": "a-model"}
    assert "There is no connection 'nowhere'" in await refusal(office, "/apply", {"agents": [agent]}, 422)
    agent["model"] = {"connection": "clouds", "name": "a-model", "baseUrl": "http://10.0.0.1"}
    assert "no 'baseUrl'" in await refusal(office, "/apply", {"agents": [agent]}, 422)


async def test_new_agents_run_on_the_default_model(offices: Offices) -> None:
    office = await offices.open()
    assert "No connection is the default" in await refusal(office, "/agents", {"id": "ada", "name": "Ada"}, 422)
    first = await office.create("/models", {"provider": "anthropic", "defaultModel": "one"})
    made = await office.create("/agents", {"id": "ada", "name": "Ada"})
    assert made["model"] == {"connection": first["id"], "name": "one"}
    second = await office.create("/models", {"provider": "openai", "defaultModel": "two"})
    assert [each.get("defaultModel") for each in await office.items("/models")] == [None, "two"]
    await office.ask("PATCH", f"/models/{second['id']}", json={"defaultModel": None})
    await office.create("/agents", {"id": "eve", "name": "Eve"}, status=422)


async def test_an_agent_finds_back_to_its_script(offices: Offices) -> None:
    office = await offices.open()
    made = await office.create("/models", {"provider": "anthropic"})
    before = await office.agent("ada", steps=[{"calls": []}])
    changed = await office.ask("PATCH", "/agents/ada", json={"model": {"connection": made["id"], "name": "a-model"}})
    assert changed["script"] == before["model"]
    again = await office.ask("PATCH", "/agents/ada", json={"model": changed["script"]})
    assert again["model"] == before["model"]


# ── what it costs ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_price_counts_in_usage_and_in_budgets(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    page = await signed_in(office)
    made = await connect(page, server)
    await ada_on(office, made)
    server.gives(plays(SILENT))
    await office.post("general", "hello?")
    first = await office.run_finished("ada")
    assert first["usage"]["cost"] == 0
    (row,) = await office.items("/usage", by="model")
    assert row["unpriced"] == 1
    price = {"input": 1_000_000, "output": 1_000_000}
    changed = await page.ask("PATCH", f"/models/{made['id']}", json={"models": {"a-model": {"price": price}}})
    assert changed["models"][0]["price"]["input"] == 1_000_000
    await office.ask("PUT", "/budgets", json={"kind": "agent", "subjectId": "ada", "period": "day", "amount": 1})
    await office.post("general", "and now?")
    second = await office.run_finished("ada", nth=2)
    spent = second["usage"]["inputTokens"] + second["usage"]["outputTokens"]
    assert second["usage"]["cost"] == spent
    assert (await office.items("/usage", by="model"))[0]["unpriced"] == 1, "none is added"
    assert (await office.items("/budgets"))[0]["reached"] is True


@pytest.mark.one_database
async def test_the_context_size_of_a_model_bounds_the_prompt(offices: Offices, server: ModelServer) -> None:
    office = await offices.open()
    made = await office.create("/models", {"provider": "anthropic", "models": {"a-model": {"contextTokens": 5000}}})
    await ada_on(office, made)
    assert (await office.get("/agents/ada/prompt"))["window"] == 5000


@pytest.mark.one_database
@pytest.mark.parametrize(
    "body",
    [
        {"provider": "oracle"},
        {"provider": "openai-chat", "baseUrl": "ftp://models.example.com"},
        {"provider": "openai-chat", "baseUrl": "http://user:pw@models.example.com"},
        {"provider": "anthropic", "apiKey": "short"},
        {"provider": "anthropic", "apiKey": KEY, "apiKeyVariable": "MY_KEY"},
        {"provider": "anthropic", "models": {"m": {"price": {"input": -1, "output": 1}}}},
        {"provider": "anthropic", "models": {"m": {"price": {"input": 1}}}},
        {"provider": "anthropic", "confirm": "http://127.0.0.1:1"},
    ],
)
async def test_a_connection_that_makes_no_sense_is_refused(body: Json, offices: Offices) -> None:
    office = await offices.open()
    page = await signed_in(office)
    answer = await page.create("/models", body, status=422)
    assert answer["error"]["fields"]
    assert await page.items("/models") == []
