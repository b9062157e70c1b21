"""Whole runs through the real wire: a strict server on one side, an office on the other, on both databases."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from bullpen.settings import EgressSettings
from bullpen.testing.model_server import (
    KEY,
    ModelServer,
    breaks_off,
    fails,
    model_server,
    plays,
    stalls,
)
from bullpen.testing.wires import Text, Thought, Wanted, Wire
from tests.driver import Driver, Offices
from tests.llm.offices import SILENT, ada, an_office, say
from tests.llm.speaking import EVERY_WIRE, PROVIDERS, WIRES, base_of

NAMES = {"messages": "ANTHROPIC_API_KEY", "responses": "OPENAI_API_KEY", "chat": "OPENAI_API_KEY"}


@pytest.mark.proves("S2-01", "S2-04", "B-wire")
@EVERY_WIRE
async def test_an_agent_thinks_with_a_real_model(wire: Wire, offices: Offices, server: ModelServer) -> None:
    """Think, call, read the result, call again, and rest: each step is a request that the strict server took."""
    office = await an_office(offices, server)
    server.knows(Thought("They greet.", "s1"), Thought("", "s2"))
    server.gives(
        plays(Thought("They greet.", "s1"), Text("I will answer."), say("hello there", "c1"), cuts=1),
        plays(say("and welcome", "c2"), Wanted("c3", "read_messages", '{"limit": 2}'), cuts=2),
        plays(Text("")),
    )
    await ada(office, {"provider": PROVIDERS[wire], "name": "a-model", "settings": {"thinking": 2048}})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["outcome"]) == ("completed", "spoke"), run
    assert await office.texts("general") == ["hello", "hello there", "and welcome"]
    assert server.problems == []
    assert len(server.asked) == 3
    usage = run["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["cachedTokens"]) == (300, 60, 180)
    # What it thought went back to it, and is in no answer of the API.
    if wire != "chat":
        assert b"s1" in server.asked[1].body
        assert b"s1" in server.asked[2].body
    assert "They greet." not in str(await office.journal(run["id"]))
    # The tools are those of the one registry, whoever is asked.
    tools = server.asked[0].json["tools"]
    listed = office.office.registry.listed((await office.get("/agents/ada"))["tools"])
    assert {tool.get("name") or tool["function"]["name"] for tool in tools} == {tool.name for tool in listed}


@pytest.mark.proves("B-wire")
@pytest.mark.one_database
async def test_updating_memory_does_not_invalidate_earlier_sealed_thinking(
    offices: Offices, server: ModelServer
) -> None:
    """By default, and without being asked to, it thinks: what it thought is sealed with its prompt, which changes."""
    office = await an_office(offices, server)
    written = orjson.dumps({"label": "notes", "content": "They are called Pia."}).decode()
    server.gives(
        plays(Thought("A name.", "s1"), Wanted("c1", "update_memory", written)),
        plays(Thought("Now greet.", "s2"), say("hello Pia", "c2")),
        plays(SILENT),
        plays(Thought("Again.", "s3"), say("hello again", "c3")),
        plays(SILENT),
    )
    await ada(office, "anthropic:claude-sonnet-5-5", scope="agent", tools=["messaging", "memory"])
    await office.post("general", "I am Pia")
    assert (await office.run_finished("ada"))["outcome"] == "spoke"
    assert [b"s1" in server.asked[2].body, b"s2" in server.asked[2].body] == [True, True]
    await office.post("general", "hello again")
    run = await office.run_finished("ada", nth=2)
    assert (run["outcome"], server.problems) == ("spoke", []), run
    assert [b'"s2"' in server.asked[4].body, b'"s3"' in server.asked[4].body] == [False, True]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.one_database
async def test_a_message_is_shown_while_it_is_written(wire: Wire, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    words = "a long message, word by word, " * 40
    server.gives(plays(say(words), piece=60, pace=0.01), plays(SILENT))
    await ada(office, f"{PROVIDERS[wire]}:a-model")
    await office.post("general", "hello")
    await office.run_finished("ada")
    grown = [event["text"] for event in office.events if event["type"] == "message_streaming"]
    assert len(grown) >= 2
    assert all(words.startswith(text) for text in grown)
    assert (await office.texts("general"))[1] == words
    assert (await office.event("tool.streaming"))["call"]["toolName"] == "send_message"
    await office.event("agent_done")


# ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-model-away", "B-unfinished")
@EVERY_WIRE
async def test_a_failing_provider_is_retried_and_nothing_is_done_twice(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    server.gives(
        fails(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, Retry_After="0"),
        breaks_off(say("too early"), before=4),
        stalls(say("never"), after=5),
        plays(say("at last"), cuts=4),
        plays(SILENT),
    )
    await ada(office, {"provider": PROVIDERS[wire], "name": "a-model", "settings": {"timeout": 0.3}})
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["outcome"]) == ("completed", "spoke"), run
    assert await office.texts("general") == ["hello", "at last"]
    kinds = [entry["type"] for entry in await office.journal(run["id"])]
    assert kinds.count("tool_call_message") == 1


@pytest.mark.one_database
async def test_a_long_retry_after_fails_the_run_at_once(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    server.gives(fails(429, {"error": {"message": "come back tomorrow"}}, Retry_After="7200"))
    await ada(office, "anthropic:a-model")
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("failed", "model_unavailable")
    assert "come back tomorrow" in run["error"]
    assert len(server.asked) == 1


@pytest.mark.proves("B-unfinished")
@pytest.mark.one_database
async def test_a_truncated_answer_is_discarded_and_the_agent_is_told(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    server.gives(plays(say("far too lo"), stop="length"), plays(say("short")), plays(SILENT))
    await ada(office, "anthropic:a-model")
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert run["outcome"] == "spoke"
    assert await office.texts("general") == ["hello", "short"]
    assert b"cut off" in server.asked[1].body
    assert server.problems == []


@pytest.mark.proves("B-model-away")
@pytest.mark.one_database
async def test_another_model_answers_when_the_first_is_away(offices: Offices, server: ModelServer) -> None:
    async with model_server(fails(503)) as away:
        listed = EgressSettings(listed=f"model={away.url}")
        office = await an_office(offices, server, egress=listed)
        server.gives(plays(say("I stand in")), plays(SILENT))
        first = {"provider": "openai-chat", "name": "gone", "baseUrl": f"{away.url}/v1"}
        away.key = None
        await ada(office, {**first, "fallback": ["anthropic:a-model"]})
        await office.post("general", "hello")
        run = await office.run_finished("ada")
        assert await office.texts("general") == ["hello", "I stand in"], run
        assert len(away.asked) == len(server.asked) == 2


@pytest.mark.proves("B-model-away")
@pytest.mark.one_database
async def test_a_run_waits_for_whichever_model_is_available_first(offices: Offices, server: ModelServer) -> None:
    """The first wants to be left alone for hours; the other only hiccups."""
    async with model_server(fails(429, Retry_After="7200"), key=None) as away:
        office = await an_office(offices, server, egress=EgressSettings(listed=f"model={away.url}"))
        server.gives(fails(503), plays(say("I stand in")), plays(SILENT))
        first = {"provider": "openai-chat", "name": "gone", "baseUrl": f"{away.url}/v1"}
        await ada(office, {**first, "fallback": ["anthropic:a-model"]})
        await office.post("general", "hello")
        run = await office.run_finished("ada")
        assert await office.texts("general") == ["hello", "I stand in"], run


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.one_database
async def test_a_run_waiting_for_a_model_is_cancelled_at_once(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    office = await an_office(offices, server)
    server.gives(stalls(say("never"), after=5))
    await ada(office, f"{PROVIDERS[wire]}:a-model")
    await office.post("general", "hello")
    await server.was_asked(1)
    (run,) = await office.runs()
    await office.create(f"/runs/{run['id']}/cancel", {})
    assert (await office.run_finished("ada"))["status"] == "cancelled"
    assert await office.texts("general") == ["hello", "Olga stopped Ada."]


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def elsewhere() -> AsyncIterator[ModelServer]:
    async with model_server(plays(say("hi")), plays(SILENT), key=None) as made:
        yield made


@pytest.mark.proves("B-model-key")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.one_database
async def test_a_missing_key_is_named_and_space_variables_supply_it(
    wire: Wire, offices: Offices, server: ModelServer
) -> None:
    office = await offices.open(egress=EgressSettings(listed=f"model={server.url}"))
    server.gives(plays(say("hi")), plays(SILENT))
    model = {"provider": PROVIDERS[wire], "name": "m", "baseUrl": base_of(server, wire), "apiKeyVariable": "OUR_KEY"}
    await ada(office, model)
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert run["stopReason"] == "model_refused"
    assert "Set the variable OUR_KEY" in run["error"]
    assert server.asked == []
    scope = {"kind": "space", "id": "general"}
    await office.ask("PUT", "/variables/OUR_KEY", json={"value": KEY, "type": "secret", "scope": scope})
    await office.post("general", "hello again")
    assert (await office.run_finished("ada", nth=2))["outcome"] == "spoke"
    assert server.problems == []


@pytest.mark.proves("B-model-key")
@pytest.mark.one_database
async def test_a_providers_own_key_is_never_sent_to_custom_urls(
    offices: Offices, server: ModelServer, elsewhere: ModelServer
) -> None:
    office = await an_office(offices, server, egress=EgressSettings(listed=f"model={elsewhere.url}"))
    await ada(office, {"provider": "openai-chat", "name": "m", "baseUrl": f"{elsewhere.url}/v1"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    assert await office.texts("general") == ["hello", "hi"]
    assert [asked.headers.get("authorization") for asked in elsewhere.asked] == [None, None]


@pytest.mark.proves("B-model-key", "P9")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.one_database
async def test_a_key_is_nowhere_to_be_seen(
    wire: Wire, offices: Offices, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that does not like the key says it back; nothing that anybody can read holds it."""
    caplog.set_level(logging.DEBUG)
    office = await an_office(offices, server)
    server.key = "another"
    await ada(office, f"{PROVIDERS[wire]}:a-model")
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert run["stopReason"] == "model_refused"
    assert f"the variable {NAMES[wire]} of settings" in run["error"]
    server.key = None
    server.gives(plays(Text(f"My key is {KEY}."), say(f"the key is {KEY}")), plays(SILENT))
    await office.post("general", "and now?")
    second = await office.run_finished("ada", nth=2)
    assert second["outcome"] == "spoke"
    seen = [str(office.events), caplog.text, str(await office.texts("general"))]
    for each in (run, second):
        seen += [str(each), str(await office.journal(each["id"])), str(await office.get(f"/runs/{each['id']}/trace"))]
    seen += [str(await office.get("/agents/ada")), server.asked[-1].body.decode()]
    assert not [text for text in seen if KEY in text]


# ── what may be said about a model ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "model, field",
    [
        ({"provider": "anthropic"}, "model.name"),
        ({"provider": "anthropic", "name": "m", "speed": 9}, "model.speed"),
        ({"provider": "openai", "name": "m", "baseUrl": "ftp://x"}, "model.baseUrl"),
        ({"provider": "openai", "name": "m", "baseUrl": "https://x.example/?a=1"}, "model.baseUrl"),
        ({"provider": "openai", "name": "m", "apiKeyVariable": "sk-123 456"}, "model.apiKeyVariable"),
        ({"provider": "openai", "name": "m", "key": "sk-123"}, "model"),
        ({"provider": "openai", "name": "m", "settings": {"temperature": 9}}, "model.settings.temperature"),
        ({"provider": "openai", "name": "m", "fallback": "anthropic:x"}, "model"),
        ({"provider": "openai", "name": "m", "fallback": ["telepathy:x"]}, "model"),
        (
            {"provider": "openai", "name": "m", "fallback": [{"provider": "openai", "name": "m", "fallback": []}]},
            "model",
        ),
    ],
)
@pytest.mark.one_database
async def test_an_unusable_model_is_refused_when_the_agent_is_defined(
    office: Driver, model: dict[str, Any], field: str
) -> None:
    answer = await office.ask("POST", "/agents", json={"id": "x", "name": "X", "model": model}, status=422)
    assert list(answer["error"]["fields"]) == [field]
    assert "sk-123" not in str(answer)


@pytest.mark.one_database
async def test_a_variable_reference_works_like_the_variables_name(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server, variables={"MY_KEY": KEY})
    server.gives(plays(say("hi")), plays(SILENT))
    await ada(office, {"provider": "openai", "name": "gpt-5", "key": "{{var:MY_KEY}}"})
    await office.post("general", "hello")
    assert (await office.run_finished("ada"))["outcome"] == "spoke"
    assert server.asked[0].json["include"] == ["reasoning.encrypted_content"]
