"""Calls that wait for somebody: answered in time, too late, twice, by the wrong one, and after a restart."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from bullpen.testing import FakeClock
from bullpen.tools import execute, rows
from bullpen.tools.door import Door
from tests.driver import Api, Driver, Offices
from tests.feed.streams import following
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, step
from tests.waiting.calls import ASK, FETCH, agents_token, texts, with_tool

# ── waiting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-10", "S4-25", "C1")
async def test_a_result_within_the_timeout_comes_inline(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="projects")
    assert (call_["status"], call_["args"]) == ("waiting", {"query": "projects"})
    (run,) = await office.runs()
    assert run["status"] == "waiting"
    assert (await office.get("/agents/ada"))["state"] == "waiting"
    answer = await office.ask(
        "POST", f"/runs/{run['id']}/tool-results", json={"callId": call_["callId"], "result": {"n": 3}}
    )
    assert answer == {"accepted": True, "duplicate": False}
    done = await office.run_finished()
    assert await office.results(done["id"]) == [{"n": 3}, *(await office.results(done["id"]))[1:]]
    found = await office.get(f"/pending/{call_['callId']}")
    assert (found["status"], found["deliveredVia"], found["answeredBy"]) == ("resolved", "inline", office.owner_id)
    assert len(await office.runs()) == 1


@pytest.mark.proves("S4-26")
@pytest.mark.parametrize("late", [False, True], ids=["inline", "by inbox"])
async def test_a_posted_result_resolves_wakes_and_completes_the_card(office: Driver, late: bool) -> None:
    call_ = await with_tool(office, {**FETCH, "visible": True, "isAsync": late}, query="x")
    if late:
        await office.run_finished()
    (card,) = [message for message in await office.messages("lab") if message["type"] == "tool"]
    assert (card["status"], "result" in card["metadata"]) == ("requires_action", False)
    body = {"callId": call_["callId"], "result": {"n": 3}}
    assert await office.ask("POST", f"/runs/{call_['runId']}/tool-results", json=body) == {
        "accepted": True,
        "duplicate": False,
    }
    await office.run_finished(nth=2 if late else 1)
    assert len(await office.runs()) == (2 if late else 1), "only whoever does not wait is woken"
    found = await office.get(f"/pending/{call_['callId']}")
    assert (found["status"], found["result"], found["deliveredVia"]) == (
        "resolved",
        {"n": 3},
        "inbox" if late else "inline",
    )
    done = await office.get(f"/messages/{card['id']}")
    assert (done["status"], done["metadata"]["result"], done["seq"]) == ("complete", {"n": 3}, card["seq"])
    told = [e["message"] for e in office.events if e["type"] == "message_updated" and e["message"]["id"] == card["id"]]
    assert told[-1]["status"] == "complete"


@pytest.mark.proves("S4-11", "S4-15", "S4-16", "S4-25")
async def test_after_a_timeout_the_run_continues_and_late_results_arrive(office: Driver) -> None:
    call_ = await with_tool(office, {**FETCH, "timeout": 150}, query="x")
    done = await office.run_finished()
    assert (await office.results(done["id"]))[0] == {
        "error": "Tool timed out after 150ms",
        "pendingToolCallId": call_["callId"],
    }
    assert (await office.get(f"/pending/{call_['callId']}"))["status"] == "pending"
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": "late"}, status=200)
    await office.run_finished(nth=2)
    assert "came later" in await texts(office)
    found = await office.get(f"/pending/{call_['callId']}")
    assert (found["status"], found["deliveredVia"]) == ("resolved", "inbox")


@pytest.mark.proves("S4-08", "S4-09", "S4-33", "S4-29")
async def test_an_asynchronous_card_stays_open_until_a_person_answers(office: Driver) -> None:
    call_ = await with_tool(office, ASK, what="Book it?")
    done = await office.run_finished()
    assert (await office.results(done["id"]))[0] == {"status": "pending", "pendingToolCallId": call_["callId"]}
    (card,) = [m for m in await office.items("/spaces/lab/messages") if m["type"] == "tool"]
    assert (card["status"], card["metadata"]["args"]) == ("requires_action", {"what": "Book it?"})
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": {"confirmed": True}}, status=200)
    await office.run_finished(nth=2)
    (card,) = [m for m in await office.items("/spaces/lab/messages") if m["type"] == "tool"]
    assert (card["status"], card["metadata"]["result"]) == ("complete", {"confirmed": True})
    assert card["metadata"]["answeredBy"] == office.owner_id
    assert "came later" in await texts(office)


async def test_a_waiting_run_takes_no_slot_and_new_messages_queue(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    await office.create("/spaces/lab/messages", {"text": "and another thing"})
    assert [run["status"] for run in await office.runs()] == ["waiting"]
    assert office.office.engine.driving == set()
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": 1}, status=200)
    await office.run_finished(nth=1)
    await office.event("run_started", nth=2)


# ── who may, and how often ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("C4", "C5", "C3")
async def test_a_repeated_result_is_a_duplicate_and_another_is_refused(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    path = f"/runs/{call_['runId']}/tool-results"
    body = {"callId": call_["callId"], "result": {"a": [1, 2]}}
    await office.ask("POST", "/runs/run_other/tool-results", json=body, status=404)
    await office.ask("POST", path, json={**body, "callId": "call_none"}, status=404)
    assert (await office.ask("POST", path, json=body))["duplicate"] is False
    await office.run_finished()
    assert (await office.ask("POST", path, json=body))["duplicate"] is True
    for other in (2, {"a": [True, 2]}, {"a": [1, 2], "b": None}):
        refused = await office.ask("POST", path, json={**body, "result": other}, status=409)
        assert office.owner_id in refused["error"]["message"]
    assert (await office.get(f"/pending/{call_['callId']}"))["result"] == {"a": [1, 2]}
    await office.idle()
    assert len(await office.runs()) == 1  # none of them woke anybody


@pytest.mark.proves("C2", "C14", "C15")
@pytest.mark.one_database
async def test_only_the_callers_own_program_may_answer_its_call(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    path = f"/pending/{call_['callId']}/resolve"
    await office.agent("eve")
    eve = Api(office.office, (await office.create("/tokens", {"name": "e", "agentId": "eve"}))["token"])
    other = await agents_token(office, tools=["somethingElse"])
    eves = Api(
        office.office,
        (await office.create("/tokens", {"name": "e", "agentId": "eve", "tools": ["fetchExternalData"]}))["token"],
    )
    _, anna = await office.person("Anna")
    for stranger in (eve, other, eves, anna):
        await stranger.ask("POST", path, json={"result": "forged"}, status=403)
    assert (await office.get(f"/pending/{call_['callId']}"))["status"] == "waiting"
    named = await agents_token(office, tools=["fetchExternalData"])
    assert (await named.ask("POST", path, json={"result": "real"}))["accepted"] is True


@pytest.mark.proves("C15")
@pytest.mark.one_database
async def test_a_card_is_answered_only_by_people_in_the_space(office: Driver) -> None:
    call_ = await with_tool(office, ASK, what="?")
    path = f"/pending/{call_['callId']}/resolve"
    itself = await agents_token(office)
    await itself.ask("POST", path, json={"result": 1}, status=403)
    anna_id, anna = await office.person("Anna")
    await anna.ask("POST", path, json={"result": 1}, status=403)
    await anna.ask("GET", f"/pending/{call_['callId']}", status=404)
    await office.create("/spaces/lab/members", {"memberId": anna_id})
    assert (await anna.ask("POST", path, json={"result": 1}))["accepted"] is True
    assert (await office.get(f"/pending/{call_['callId']}"))["answeredBy"] == anna_id


@pytest.mark.proves("C6", "C16")
async def test_of_fifty_concurrent_answers_one_wins(office: Driver) -> None:
    call_ = await with_tool(office, ASK, what="?")

    async def submit(number: int) -> int:
        response = await office.http.post(f"/pending/{call_['callId']}/resolve", json={"result": number})
        return response.status_code

    codes = await asyncio.gather(*(submit(number) for number in range(50)))
    assert sorted(codes) == [200, *[409] * 49]
    await office.run_finished(nth=2)
    assert len(await office.runs()) == 2


@pytest.mark.proves("C1")
@pytest.mark.parametrize("change", ["taken from its agent", "deleted", "made another kind"])
@pytest.mark.one_database
async def test_a_result_reaches_an_agent_that_lost_the_tool_meanwhile(office: Driver, change: str) -> None:
    call_ = await with_tool(office, {**FETCH, "visible": True}, query="x")
    if change == "made another kind":
        await office.ask("PATCH", f"/tools/{FETCH['name']}", json={"executionType": "internal"})
    else:
        await office.ask("PATCH", "/agents/ada", json={"tools": ["messaging"]})
    if change == "deleted":
        await office.ask("DELETE", f"/tools/{FETCH['name']}")
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": {"n": 3}}, status=200)
    done = await office.run_finished()
    assert (await office.results(done["id"]))[0] == {"n": 3}
    assert (await office.get(f"/pending/{call_['callId']}"))["deliveredVia"] == "inline"
    told = [
        event for event in office.events if event["type"] == "tool.done" and event["call"].get("result") == {"n": 3}
    ]
    assert len(told) == 1


async def test_an_unanswered_call_to_a_removed_tool_times_out(
    offices: Offices,
) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    call_ = await with_tool(office, FETCH, query="x")
    await office.ask("PATCH", "/agents/ada", json={"tools": ["messaging"]})
    clock.advance(61)
    office.office.engine.sweep_at(clock.millis())
    done = await office.run_finished()
    error = {"error": "Nobody answered fetchExternalData in time.", "pendingToolCallId": call_["callId"]}
    assert (await office.results(done["id"]))[0] == error
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": "late"}, status=200)
    await office.run_finished(nth=2)
    assert "came later" in await texts(office)


async def test_a_once_call_is_begun_by_one_program_only(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    call_ = await with_tool(office, {**FETCH, "effect": "once", "timeout": 600_000}, query="x")
    path = f"/pending/{call_['callId']}/progress"
    await office.ask("POST", path, json={"runner": "first"})
    clock.advance(50)
    await office.ask("POST", path, json={"fraction": 0.5})  # it is heard of
    clock.advance(50)
    refused = await office.ask("POST", path, json={"runner": "second"}, status=409)
    assert "Another process" in refused["error"]["message"]
    again = await office.ask("POST", path, json={"runner": "first"})
    assert again["progress"]["runner"] == "first"
    clock.advance(61)
    await office.ask("POST", path, json={"runner": "second"}, status=410)
    done = await office.run_finished()
    assert "whether it took effect is unknown" in (await office.results(done["id"]))[0]["error"]
    await office.ask("POST", path, json={"runner": "first"}, status=410)


@pytest.mark.parametrize("effect", [None, "idempotent", "pure"])
@pytest.mark.one_database
async def test_a_repeatable_call_goes_to_the_next_program(office: Driver, effect: str | None) -> None:
    call_ = await with_tool(office, {**FETCH, "effect": effect}, query="x")
    path = f"/pending/{call_['callId']}/progress"
    await office.ask("POST", path, json={"runner": "first"})
    taken = await office.ask("POST", path, json={"runner": "second"})
    assert taken["progress"]["runner"] == "second"


@pytest.mark.parametrize("more", [{}, {"policy": "ask"}], ids=["card", "approval"])
async def test_a_call_expires_when_its_tool_says(office: Driver, more: Json) -> None:
    asked = await with_tool(office, {**ASK, "expiresAfter": 1_500, **more})
    lasts = datetime.fromisoformat(asked["expiresAt"]) - datetime.fromisoformat(asked["createdAt"])
    assert 1.4 <= lasts.total_seconds() <= 1.6
    over = (await office.event("pending_resolved"))["call"]
    assert (over["callId"], over["status"]) == (asked["callId"], "expired")
    await office.run_finished(nth=2)
    assert "nobody came" in await texts(office)


async def test_a_tool_without_expiry_again_keeps_thirty_days(office: Driver) -> None:
    await office.create("/tools", {**ASK, "name": "other", "expiresAfter": 1_000})
    assert (await office.get("/tools/other"))["expiresAfter"] == 1_000
    await office.ask("PATCH", "/tools/other", json={"expiresAfter": None})
    assert (await office.get("/tools/other")).get("expiresAfter") is None
    await office.ask("POST", "/tools", json={**ASK, "name": "third", "expiresAfter": 999}, status=422)
    asked = await with_tool(office, ASK)
    lasts = datetime.fromisoformat(asked["expiresAt"]) - datetime.fromisoformat(asked["createdAt"])
    assert 29.9 < lasts.total_seconds() / 86_400 < 30.1


async def test_a_clock_put_back_does_not_prolong_waiting(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    clock.advance(86_400)
    call_ = await with_tool(office, FETCH, query="x")
    expires = datetime.fromisoformat((await office.get(f"/pending/{call_['callId']}"))["expiresAt"])
    await office.office.tidy()
    clock.advance(-86_400)
    await office.office.tidy()
    seen = datetime.fromisoformat((await office.get(f"/pending/{call_['callId']}"))["expiresAt"])
    assert 86_399 <= (expires - seen).total_seconds() <= 86_401
    clock.advance(62)
    office.office.engine.sweep_at(clock.millis())
    done = await office.run_finished()
    assert "timed out" in (await office.results(done["id"]))[0]["error"]


async def test_cancelling_a_call_tells_the_agent_once(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    done = await office.create(f"/pending/{call_['callId']}/cancel", {}, status=200)
    assert done["status"] == "cancelled"
    run = await office.run_finished()
    assert (await office.results(run["id"]))[0]["error"] == "Olga cancelled this call."
    await office.ask("POST", f"/pending/{call_['callId']}/resolve", json={"result": 1}, status=410)


@pytest.mark.proves("C9")
async def test_a_result_for_a_cancelled_run_arrives_once_by_inbox(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    await office.ask("POST", f"/runs/{call_['runId']}/cancel")
    run = await office.run_finished()
    assert run["status"] == "cancelled"
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": "late"}, status=200)
    await office.run_finished(nth=2)
    assert await texts(office) == ["came later"]


async def test_a_run_cancelled_just_before_waiting_does_not_wait(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = execute._await_answer

    async def cancelled_first(door: Door, *rest: Any) -> Any:
        await office.ask("POST", f"/runs/{door.run.id}/cancel")
        return await wait(door, *rest)

    monkeypatch.setattr(execute, "_await_answer", cancelled_first)
    await with_tool(office, FETCH, query="x")
    assert (await office.run_finished())["status"] == "cancelled"


@pytest.mark.proves("I12", "S4-42")
@pytest.mark.one_database
async def test_a_programs_stream_contains_only_calls_of_its_tools(office: Driver) -> None:
    await office.agent("ada")
    program = await agents_token(office, tools=["fetchExternalData"])
    async with following(program) as stream:
        call_ = await with_tool(office, FETCH, query="x")
        await program.ask("POST", f"/pending/{call_['callId']}/resolve", json={"result": 1})
        await office.run_finished()
        await stream.until(lambda event: event["type"] == "pending_resolved")
        told = [event["type"] for event in stream.stored]
        assert told[:3] == ["tool.started", "tool.requires_action", "pending_resolved"]
        assert all(event["call"]["toolName"] == "fetchExternalData" for event in stream.stored)
    assert [c["callId"] for c in await program.items("/pending", status="resolved")] == [call_["callId"]]


async def test_one_agents_many_open_calls_do_not_hide_another_agents(
    office: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MOST_WAITED_FOR", 2)
    await office.create("/tools", ASK)
    for name, count in (("ada", 3), ("bo", 1)):
        wishes = [call("confirmAction", what=str(number)) for number in range(count)]
        await office.agent(name, steps=[step(*wishes)], tools=["messaging", "confirmAction"])
        await office.space(f"{name}s", [name], wake={"people": "all", "agents": "none"})
        await office.post(f"{name}s", "go")
        await office.run_finished(name)
    waited_for = {agent["id"]: len(agent["waitingFor"]) for agent in await office.items("/agents")}
    assert waited_for == {"ada": 2, "bo": 1}


# ── what the agent knows of them ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_a_result_with_only_an_error_key_is_an_error(office: Driver) -> None:
    inline = await with_tool(office, {**FETCH, "visible": True}, query="x")
    await office.create(f"/pending/{inline['callId']}/resolve", {"result": {"error": "no such table"}}, status=200)
    done = await office.run_finished()
    returned = [entry for entry in await office.items(f"/runs/{done['id']}/messages") if "result" in entry]
    assert (returned[0]["result"], returned[0]["isError"]) == ({"error": "no such table"}, True)
    (card,) = [m for m in await office.items("/spaces/lab/messages") if m["type"] == "tool"]
    assert (card["status"], card["metadata"]["error"]) == ("error", "no such table")
    assert "result" not in card["metadata"]


@pytest.mark.one_database
async def test_a_result_with_other_keys_beside_error_is_no_error(office: Driver) -> None:
    call_ = await with_tool(office, FETCH, query="x")
    result = {"error": None, "rows": 3}
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": result}, status=200)
    assert (await office.results((await office.run_finished())["id"]))[0] == result


@pytest.mark.one_database
async def test_a_late_error_comes_by_inbox_as_an_error(office: Driver) -> None:
    call_ = await with_tool(office, ASK, what="Book it?")
    await office.run_finished()
    await office.create(f"/pending/{call_['callId']}/resolve", {"result": {"error": "fully booked"}}, status=200)
    second = await office.run_finished(nth=2)
    woken = (await office.items(f"/runs/{second['id']}/messages"))[0]["content"]
    assert woken.endswith('] Nothing came of your call confirmAction(what="Book it?"): fully booked')


@pytest.mark.proves("S4-19")
@pytest.mark.one_database
async def test_the_system_prompt_explains_visible_and_asynchronous_tools(office: Driver) -> None:
    for config in (ASK, FETCH):
        await office.create("/tools", config)
    ada = await puppet(office, "ada", tools=["messaging", ASK["name"], FETCH["name"]])
    await office.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await office.create("/spaces/lab/messages", {"text": "go"})
    await office.run_finished()
    prompt = ada.shown[0].system
    assert "is shown in the space you are in: confirmAction. If you are in no space, call enter_space first" in prompt
    assert "outside a space they are refused" in prompt
    assert "These tools are answered later: confirmAction." in prompt
    assert "fetchExternalData" not in prompt  # it neither shows nor is answered later


@pytest.mark.one_database
async def test_arguments_in_another_case_style_are_renamed_to_the_schemas(office: Driver) -> None:
    schema = {"type": "object", "properties": {"dueDate": {"type": "string"}}, "additionalProperties": False}
    call_ = await with_tool(office, {**FETCH, "inputSchema": schema}, due_date="today")
    assert call_["args"] == {"dueDate": "today"}


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("S4-33")
@pytest.mark.parametrize("end", ["answered", "cancelled", "its run is stopped first"])
async def test_an_async_call_ends_once_there_is_a_result(office: Driver, end: str) -> None:
    """Its run goes on and is told that it waits, which is no result."""
    stopped = end == "its run is stopped first"
    call_ = await with_tool(office, {**FETCH, "isAsync": not stopped}, query="x")
    if stopped:
        await office.ask("POST", f"/runs/{call_['runId']}/cancel")
    await office.run_finished()
    told = [e["type"] for e in office.events if e.get("call", {}).get("callId") == call_["callId"]]
    assert told == ["tool.started", "tool.requires_action"]
    if end == "cancelled":
        await office.ask("POST", f"/pending/{call_['callId']}/cancel")
        ended = await office.event("tool.error")
    else:
        await office.ask("POST", f"/pending/{call_['callId']}/resolve", json={"result": {"n": 3}})
        ended = await office.event("tool.done", lambda event: event["call"]["callId"] == call_["callId"])
        assert ended["call"]["result"] == {"n": 3}
    await office.run_finished(nth=2)
    told = [e["type"] for e in office.events if e.get("call", {}).get("callId") == call_["callId"]]
    assert told == ["tool.started", "tool.requires_action", "pending_resolved", ended["type"]]
