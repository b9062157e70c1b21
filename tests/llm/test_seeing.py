"""People see what a model is shown: now, and before each step. It is what its server got, or says what changed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from bullpen.testing.model_server import ModelServer, fails, plays
from bullpen.testing.wires import Text, Wanted, Wire
from tests.driver import Driver, Json, Offices
from tests.llm.offices import SILENT, ada, an_office, say
from tests.llm.speaking import EVERY_WIRE, PROVIDERS
from tests.path.talk import talk

READ = Wanted("c1", "read_messages", '{"limit": 2}')
TOO_LONG = fails(400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}})


async def request(office: Driver, run_id: str, step: int, **more: Any) -> Json:
    found: Json = await office.get(f"/runs/{run_id}/steps/{step}/request", params={"body": "true"}, **more)
    return found


def parts(seen: Json) -> dict[str, str]:
    return {part["name"]: part["text"] for part in seen["parts"]}


def read_out(seen: Json) -> str:
    return orjson.dumps(seen).decode()


async def three_steps(office: Driver, server: ModelServer, text: str = "how was Q3?", nth: int = 1) -> Json:
    """The n-th run of Ada: it reads, then speaks, then is done."""
    server.asked.clear()
    server.gives(plays(Text("Hm."), READ), plays(say("fine", "c2")), plays(SILENT))
    await office.post("general", text)
    return await office.run_finished("ada", nth=nth)


# ── what it was shown ───────────────────────────────────────────────────────────────────────────────────────────────


@EVERY_WIRE
async def test_a_step_shows_what_the_model_server_got(wire: Wire, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, f"{PROVIDERS[wire]}:a-model", tools=["messaging", "memory"], blocks={"likes": "tea"})
    server.gives(plays(SILENT))
    await talk(office, "general", (f"a word before, number {n}" for n in range(1, 5)))
    await office.run_finished("ada")
    run = await three_steps(office, server, nth=2)
    seen: Json = {}
    assert len(server.asked) == 3
    for step, asked in enumerate(server.asked, 1):
        seen = await request(office, run["id"], step)
        assert seen["body"] == asked.json
        assert seen["changed"] == []
        assert seen["tokens"] == sum(each["tokens"] for each in [*seen["parts"], *seen["tools"]])
    names = [part["name"] for part in seen["parts"]]
    assert names[:2] == ["identity", "memory"]
    assert names[-2:] == ["waking", "steps"]
    assert "tea" in parts(seen)["memory"]
    assert "number 4" in parts(seen)["messages"]
    assert "how was Q3?" in parts(seen)["waking"]


@EVERY_WIRE
async def test_a_resumed_run_shows_what_was_sent(wire: Wire, offices: Offices, server: ModelServer) -> None:
    """It waited for a result, held by no process, and something else was said meanwhile."""
    office = await an_office(offices, server)
    await office.create(
        "/tools",
        {
            "name": "ask_finance",
            "description": "Ask finance.",
            "inputSchema": {"type": "object", "properties": {}},
            "executionType": "external",
            "visible": False,
        },
    )
    await ada(office, f"{PROVIDERS[wire]}:a-model", tools=["messaging", "ask_finance"])
    server.gives(plays(Wanted("c1", "ask_finance", "{}")), plays(SILENT))
    await office.post("general", "how was Q3?")
    call = (await office.event("tool.requires_action"))["call"]
    await office.post("general", "and by the way")
    await office.create(f"/pending/{call['callId']}/resolve", {"result": {"profit": 7}})
    await office.run_finished("ada")
    run = (await office.runs(agentId="ada"))[0]
    for step, asked in enumerate(server.asked[:2], 1):
        seen = await request(office, run["id"], step)
        assert (seen["body"], seen["changed"]) == (asked.json, [])
    assert len(server.asked) >= 2


async def test_a_halved_context_shows_what_was_sent(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model", limits={"contextTokens": 4000})
    server.gives(plays(SILENT))
    await talk(office, "general", (f"number {n} " + "word " * 100 for n in range(1, 15)))
    await office.run_finished("ada")
    server.asked.clear()
    server.gives(TOO_LONG, plays(SILENT))
    await office.post("general", "hello")
    await office.run_finished("ada", nth=2)
    run = (await office.runs(agentId="ada"))[-1]
    seen = await request(office, run["id"], 1)
    assert len(server.asked) == 2
    assert server.asked[0].json != server.asked[1].json
    assert (seen["body"], seen["changed"]) == (server.asked[1].json, [])
    assert seen["window"] < 4000


async def test_a_refused_request_can_be_seen(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    server.gives(fails(400, {"error": {"message": "no"}}))
    await office.post("general", "hello")
    await office.run_finished("ada")
    run = (await office.runs(agentId="ada"))[-1]
    assert (await request(office, run["id"], 1))["body"] == server.asked[0].json
    await request(office, run["id"], 2, status=404)


# ── what must not come back ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("change", ["edited", "deleted"])
async def test_changed_messages_do_not_come_back(change: str, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    server.gives(plays(SILENT))
    before = await office.post("general", "the code is 4711")
    await office.run_finished("ada")
    run = await three_steps(office, server, "remember plum jam", nth=2)
    waking = (await office.messages("general"))[1]
    assert "4711" in read_out(await request(office, run["id"], 3))
    for message in (before, waking):
        if change == "edited":
            await office.ask("PATCH", f"/messages/{message['id']}", json={"text": "something else"})
        else:
            await office.ask("DELETE", f"/messages/{message['id']}")
    for step in (1, 2, 3):
        seen = await request(office, run["id"], step)
        assert "4711" not in read_out(seen)
        assert "plum jam" not in read_out(seen)
        changed = {each["part"]: each["messageIds"] for each in seen["changed"]}
        assert before["id"] in changed["messages"]
        assert waking["id"] in changed["journal"]


async def test_words_that_the_agent_deleted_do_not_come_back(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    server.gives(plays(say("the code is 4711")), plays(SILENT))
    await office.post("general", "tell me")
    await office.run_finished("ada")
    run = (await office.runs(agentId="ada"))[-1]
    assert "4711" in read_out(await request(office, run["id"], 2))
    agent = await office.as_agent("ada")
    await agent.ask("DELETE", f"/messages/{run['messageIds'][0]}")
    seen = await request(office, run["id"], 2)
    assert "4711" not in read_out(seen)
    assert seen["changed"][-1]["messageIds"] == run["messageIds"]


async def test_erased_people_do_not_come_back(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    id, pat = await office.person("Pat")
    await pat.create("/spaces/general/members", {"memberId": id})
    server.gives(plays(SILENT))
    await pat.create("/spaces/general/messages", {"text": "my number is 4711"})
    await office.run_finished("ada")
    run = (await office.runs(agentId="ada"))[-1]
    assert "4711" in read_out(await request(office, run["id"], 1))
    await office.ask("POST", f"/people/{id}/erase")
    assert "4711" not in read_out(await request(office, run["id"], 1))


async def test_changed_tools_and_models_are_told(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    run = await three_steps(office, server)
    await office.ask("PATCH", "/agents/ada", json={"tools": ["messaging", "memory"], "model": "openai:another"})
    seen = await request(office, run["id"], 1)
    assert {each["part"] for each in seen["changed"]} == {"tools", "model"}
    assert "body" not in seen


async def test_a_secret_stays_masked(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    run = await three_steps(office, server, "the word is velvet-harbour-9931")
    await office.ask("PUT", "/variables/WORD", json={"value": "velvet-harbour-9931", "type": "secret"})
    assert "velvet-harbour-9931" not in read_out(await request(office, run["id"], 3))
    assert "velvet-harbour-9931" not in read_out(await office.get("/agents/ada/prompt?spaceId=general"))


# ── what it would be shown ──────────────────────────────────────────────────────────────────────────────────────────


@EVERY_WIRE
async def test_the_prompt_of_now_is_what_the_next_run_gets(wire: Wire, offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, f"{PROVIDERS[wire]}:a-model", instructions="Be brief.", blocks={"likes": "tea"})
    await three_steps(office, server)
    runs = await office.runs()
    now = await office.get("/agents/ada/prompt", params={"spaceId": "general"})
    assert await office.runs() == runs
    assert [part["name"] for part in now["parts"]][:3] == ["identity", "instructions", "memory"]
    server.gives(plays(SILENT))
    await office.post("general", "and Q4?")
    await office.run_finished("ada", nth=2)
    sent = orjson.dumps(server.asked[-1].json).decode()
    for part in now["parts"]:
        assert orjson.dumps(part["text"]).decode().strip('"') in sent, part["name"]
    assert [tool["name"] for tool in now["tools"]] == [tool_name(tool) for tool in server.asked[-1].json["tools"]]


def tool_name(tool: Json) -> str:
    name: str = tool["name"] if "name" in tool else tool["function"]["name"]
    return name


async def test_only_those_who_may_see_inside_are_shown(offices: Offices, server: ModelServer) -> None:
    office = await an_office(offices, server)
    await ada(office, "openai:a-model")
    run = await three_steps(office, server)
    id, pat = await office.person("Pat")
    await pat.create("/spaces/general/members", {"memberId": id})
    await pat.get("/agents/ada/prompt?spaceId=general", status=403)
    await pat.get(f"/runs/{run['id']}/steps/1/request", status=403)
    await office.get("/agents/ada/prompt?spaceId=nowhere", status=404)


async def test_private_talk_is_left_out_of_a_spanning_mind(offices: Offices, server: ModelServer) -> None:
    """An owner does not read a DM of somebody else by way of the agent's journals."""
    office = await an_office(offices, server)
    await ada(office, "openai:a-model", scope="agent", autoEnter=True)
    id, pat = await office.person("Pat")
    server.gives(plays(say("I will keep that")), plays(SILENT))
    dm = await pat.create("/spaces", {"kind": "dm", "members": ["ada", id]})
    await pat.create(f"/spaces/{dm['id']}/messages", {"text": "the code is 4711"})
    await office.idle()
    server.gives(plays(SILENT))
    await office.post("general", "hello")
    run = await office.run_finished("ada")
    assert "4711" in server.asked[-1].body.decode()
    seen = await request(office, run["id"], 1)
    assert "4711" not in read_out(seen)
    assert seen["leftOut"] == ["journals"]
    now = await office.get("/agents/ada/prompt?spaceId=general")
    assert "4711" not in read_out(now)
    assert "journals" in now["leftOut"]
