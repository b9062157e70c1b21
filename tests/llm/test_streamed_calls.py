"""Calls while a real model writes them, as followers see them: begun once, shown in the right place, ended once."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bullpen.settings import EgressSettings
from bullpen.testing.model_server import ModelServer, model_server, plays, plays_in_two
from bullpen.testing.wires import Wanted, Wire
from tests.driver import Driver, Json, Offices
from tests.feed.streams import Stream, following
from tests.llm.offices import SILENT, ada, an_office
from tests.llm.speaking import EVERY_WIRE, PROVIDERS, WIRES

WORDS = "a long message, word by word, " * 30
ENDS = ("tool.done", "tool.error")
SLOWLY: dict[str, Any] = {"piece": 40, "pace": 0.02}


def send(written: str, id: str = "c1") -> Wanted:
    return Wanted(id, "send_message", written)


def to(space_id: str, text: str = WORDS) -> str:
    return orjson.dumps({"spaceId": space_id, "text": text}).decode()


def shown(stream: Stream | Driver, type: str) -> list[Json]:
    return [event for event in stream.events if event["type"] == type]


def calls_of(stream: Stream | Driver) -> dict[str, list[str]]:
    """What was told of each call, in its order; many frames count once."""
    found: dict[str, list[str]] = {}
    for event in stream.events:
        if event["type"].startswith("tool."):
            told = found.setdefault(event["call"]["callId"], [])
            if told[-1:] != [event["type"]]:
                told.append(event["type"])
    return found


async def in_rooms(offices: Offices, server: ModelServer, wire: Wire = "messages", **more: Any) -> Driver:
    """Ada is in three rooms and is woken in one of them."""
    office = await an_office(offices, server, **more.pop("settings", {}))
    await ada(office, f"{PROVIDERS[wire]}:a-model", **more)
    await office.space("attic", ["ada"])
    await office.space("cellar", ["ada"])
    return office


# ── rooms ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.one_database
async def test_agents_in_several_rooms_are_seen_writing(wire: Wire, offices: Offices, server: ModelServer) -> None:
    """In every format: the model is shown a schema that begins with the space, and its words grow there alone."""
    office = await in_rooms(offices, server, wire)
    server.gives(plays(send(to("attic")), **SLOWLY), plays(send(to("general"), "c2"), **SLOWLY), plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada")
    grown = [(event["spaceId"], event["text"]) for event in shown(office, "message_streaming")]
    assert [space for space, _ in grown] == sorted(space for space, _ in grown), "first the attic, then the other"
    for space_id in ("attic", "general"):
        texts = [text for where, text in grown if where == space_id]
        assert len(texts) >= 3
        assert all(WORDS.startswith(text) for text in texts)
        (message,) = [m for m in await office.items(f"/spaces/{space_id}/messages") if m["authorId"] == "ada"]
        assert message["text"] == WORDS
        assert {e["messageId"] for e in shown(office, "message_streaming") if e["spaceId"] == space_id} == {
            message["id"]
        }
    schema = schema_of(server, 0)
    assert next(iter(schema["properties"])) == "spaceId"
    assert schema["required"] == ["spaceId", "text"]


def schema_of(server: ModelServer, nth: int) -> Json:
    """Of send_message, as the model got it."""
    for tool in server.asked[nth].json["tools"]:
        told = tool.get("function", tool)
        if told["name"] == "send_message":
            found: Json = told.get("input_schema") or told["parameters"]
            return found
    raise AssertionError("it was shown no send_message")


@pytest.mark.one_database
async def test_the_schema_changes_only_with_the_number_of_rooms(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    server.gives(plays(SILENT))
    await ada(office, "anthropic:a-model")
    await office.post("general", "one")
    await office.run_finished("ada")
    assert list(schema_of(server, 0)["properties"]) == ["text", "spaceId", "replyTo"]
    assert schema_of(server, 0)["required"] == ["text"]
    for nth, space_id in enumerate(("attic", "cellar"), start=2):
        await office.space(space_id, ["ada"])
        await office.post("general", str(nth))
        await office.run_finished("ada", nth=nth)
    tools = [asked.body[asked.body.index(b'"tools"') : asked.body.index(b'"system"')] for asked in server.asked[:3]]
    assert tools[0] != tools[1] == tools[2]


HOSTILE = {
    "the space comes after the words": '{"text": "%s", "spaceId": "attic"}',
    "the space is named by two aliases": '{"spaceId": "general", "channelId": "attic", "text": "%s"}',
    "the space is named twice": '{"spaceId": "general", "spaceId": "attic", "text": "%s"}',
    "the agent is not a member": '{"spaceId": "vault", "text": "%s"}',
    "the id is in another case": '{"spaceId": "ATTIC", "text": "%s"}',
    "there is no such space": '{"spaceId": "atti", "text": "%s"}',
    "the words are too long": '{"spaceId": "attic", "text": "' + "x" * 33_000 + '%s"}',
    "no space is named": '{"text": "%s"}',
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.one_database
async def test_words_never_show_where_they_may_not_end_up(case: str, offices: Offices, server: ModelServer) -> None:
    office = await in_rooms(offices, server)
    await office.space("vault", [office.owner_id])
    piece = 2000 if "long" in case else 40
    server.gives(plays(send(HOSTILE[case] % WORDS), piece=piece, pace=0.01), plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada")
    last: dict[str, str] = {}
    for event in shown(office, "message_streaming"):
        last[event["spaceId"]] = event["text"]
    if "long" in case:
        assert set(last) <= {"attic"}
        assert not any(last.values()), "what was shown is taken back"
    else:
        assert not last
    if case in ("the space comes after the words", "no space is named"):
        where = "attic" if "after" in case else "general"
        assert WORDS in await office.texts(where), "the door takes it all the same"


@pytest.mark.one_database
async def test_words_shown_in_one_room_are_posted_in_no_other(offices: Offices, server: ModelServer) -> None:
    """It names the space, writes, and names another one at the very end."""
    office = await in_rooms(offices, server)
    written = to("attic")[:-1] + ', "spaceId": "cellar"}'
    server.gives(plays(send(written), **SLOWLY), plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada")
    grown = shown(office, "message_streaming")
    assert {event["spaceId"] for event in grown} == {"attic"}
    assert grown[-1]["text"] == ""
    assert await office.texts("attic") == await office.texts("cellar") == []
    (error,) = shown(office, "tool.error")
    assert "Nothing was sent" in error["call"]["result"]["error"]


GUARDS: dict[str, dict[str, Any]] = {
    "it needs an approval there": {"policies": [{"spaceId": "attic", "decision": "ask"}]},
    "it is denied for some words": {
        "policies": [{"spaceId": "attic", "decision": "deny", "when": {"path": "text", "op": "contains", "value": "x"}}]
    },
    "its agent asks for all of them": {"agent": {"policy": {"send_message": "ask"}}},
    "its messages are used up": {"agent": {"limits": {"maxMessages": 1}}},
}


@pytest.mark.parametrize("case", GUARDS)
@pytest.mark.one_database
async def test_guarded_words_do_not_show_before_they_are_sent(case: str, offices: Offices, server: ModelServer) -> None:
    guard = GUARDS[case]
    office = await in_rooms(offices, server, **guard.get("agent", {}))
    for policy in guard.get("policies", []):
        await office.ask("PUT", "/policies", json={"agentId": "ada", "toolName": "send_message", **policy})
    first = [plays(send(to("attic", "one"), "c0"))] if case == "its messages are used up" else []
    server.gives(*first, plays(send(to("attic")), **SLOWLY), plays(SILENT))
    await office.post("general", "hello")
    if "approval" in case or "asks" in case:
        await office.event("tool.requires_action")
    else:
        await office.run_finished("ada")
    assert not [event for event in shown(office, "message_streaming") if "word" in event["text"]]


@pytest.mark.one_database
async def test_words_are_taken_back_when_the_agent_leaves(offices: Offices, server: ModelServer) -> None:
    office = await in_rooms(offices, server)
    left = asyncio.Event()
    server.gives(plays_in_two(send(to("attic")), rest=left), plays(SILENT))
    await office.post("general", "hello")
    await office.event("message_streaming", lambda event: event["spaceId"] == "attic")
    await office.ask("DELETE", "/spaces/attic/members/ada")
    await office.event("message_streaming", lambda event: event["text"] == "")
    left.set()
    await office.run_finished("ada")
    assert shown(office, "message_streaming")[-1]["text"] == ""
    assert await office.texts("attic") == []


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-32")
async def test_a_call_begins_before_it_is_shown(offices: Offices, server: ModelServer) -> None:
    """Two calls of one answer, one to a tool that is not there, each with one id from its first event to its last."""
    office = await in_rooms(offices, server)
    lost = Wanted("c2", "no_such_tool", orjson.dumps({"a": WORDS}).decode())
    bad = Wanted("c3", "react_to_message", orjson.dumps({"emoji": WORDS}).decode())
    server.gives(plays(send(to("general")), lost, bad, **SLOWLY), plays(SILENT))
    async with following(office) as stream:
        await office.post("general", "hello")
        run = await office.run_finished("ada")
        await stream.until_type("run_finished")
    told = calls_of(stream)
    kept = [entry for entry in await office.journal(run["id"]) if entry["type"] == "tool_call_message"]
    assert list(told) == [entry["callId"] for entry in kept]
    assert list(told.values()) == [
        ["tool.started", "tool.streaming", end] for end in ("tool.done", *2 * ["tool.error"])
    ]
    started = shown(stream, "tool.started")[0]["call"]
    assert started == {"callId": kept[0]["callId"], "toolName": "send_message"}


@EVERY_WIRE
async def test_discarded_answers_abandon_their_calls(wire: Wire, offices: Offices, server: ModelServer) -> None:
    office = await in_rooms(offices, server, wire)
    server.gives(
        plays(send(to("general")), stop="length", **SLOWLY), plays(send(to("general", "short"), "c2")), plays(SILENT)
    )
    async with following(office) as stream:
        await office.post("general", "hello")
        await office.run_finished("ada")
        await stream.until_type("run_finished")
    first, *others = calls_of(stream).values()
    assert first == ["tool.started", "tool.streaming", "tool.error"]
    (error,) = shown(stream, "tool.error")
    assert (error["call"]["code"], error["call"]["result"]["code"]) == ("abandoned", "abandoned")
    assert [told[-1] for told in others] == ["tool.done"]
    texts = [event["text"] for event in shown(stream, "message_streaming")]
    assert texts[0]
    assert texts[-1] == "", "people do not go on seeing what will not be sent"
    assert await office.texts("general") == ["hello", "short"]


@pytest.mark.one_database
async def test_a_retried_answer_abandons_before_it_begins_anew(offices: Offices, server: ModelServer) -> None:
    office = await in_rooms(offices, server)
    slow = plays_in_two(
        send(to("general")), rest=asyncio.Event(), piece=100
    )  # never ends: the line is quiet for too long
    server.gives(slow, plays(send(to("general"), "c2"), **SLOWLY), plays(SILENT))
    await office.ask(
        "PATCH",
        "/agents/ada",
        json={"model": {"provider": "anthropic", "name": "a-model", "settings": {"timeout": 0.5}}},
    )
    async with following(office) as stream:
        await office.post("general", "hello")
        await office.run_finished("ada")
        await stream.until_type("run_finished")
    order = [event["type"] for event in stream.stored if event["type"] in ("tool.started", *ENDS)]
    assert order == ["tool.started", "tool.error", "tool.started", "tool.done"]


@pytest.mark.one_database
async def test_a_fallback_abandons_what_the_first_model_began(offices: Offices, server: ModelServer) -> None:
    async with model_server() as first:
        office = await an_office(offices, server, egress=EgressSettings(listed=f"model={first.url}"))
        first.key = None
        never = asyncio.Event()
        first.gives(plays_in_two(send(to("general")), rest=never, piece=100))
        server.gives(plays(send(to("general"), "c2"), **SLOWLY), plays(SILENT))
        spec = {"provider": "openai-chat", "name": "gone", "baseUrl": f"{first.url}/v1", "settings": {"timeout": 0.5}}
        await ada(office, {**spec, "fallback": ["anthropic:a-model"]})
        await office.post("general", "hello")
        await office.event("tool.done")
        begun = [(e["type"], e["call"].get("code")) for e in office.events if e["type"] in ("tool.started", *ENDS)]
        assert begun[:4] == [
            ("tool.started", None), ("tool.error", "abandoned"), ("tool.started", None), ("tool.done", None)
        ]  # fmt: skip
        _, second = calls_of(office).values()
        assert "tool.streaming" in second, "what the other model writes is shown as it grows"


@pytest.mark.parametrize("end", ["cancelled", "agent deleted"])
async def test_a_stopped_run_abandons_what_it_was_writing(end: str, offices: Offices, server: ModelServer) -> None:
    office = await in_rooms(offices, server)
    server.gives(plays_in_two(send(to("attic")), rest=asyncio.Event()))
    await office.post("general", "hello")
    frame = await office.event("tool.streaming")
    await office.event("message_streaming")
    if end == "cancelled":
        await office.ask("POST", f"/runs/{frame['runId']}/cancel")
    else:
        await office.ask("DELETE", "/agents/ada")
    error = await office.event("tool.error", lambda event: event["call"]["callId"] == frame["call"]["callId"])
    assert error["call"]["code"] == "abandoned"
    await office.event("message_streaming", lambda event: event["text"] == "")
