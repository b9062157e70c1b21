"""Stopping and trying again: who did it is told, what was said stays, effects outside are asked about first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bullpen.testing import UNLIMITED
from bullpen.tools import Tool, ToolContext, tool
from tests.driver import Api, Driver, Offices
from tests.path.puppets import puppet
from tests.path.scripts import Json, call, say, step, turn


def family(paid: list[Any]) -> dict[str, list[Tool]]:
    @tool(effect="once")
    async def pay(context: ToolContext, amount: int) -> dict[str, Any]:
        """Pay."""
        paid.append((context.run.id, amount))
        return {"paid": amount}

    @tool(effect="pure")
    async def look(context: ToolContext) -> dict[str, Any]:
        """Look."""
        paid.append((context.run.id, "looked"))
        return {}

    return {"ledger": [pay, look]}


@pytest.fixture
def paid() -> list[Any]:
    return []


@pytest.fixture
async def room(offices: Offices, paid: list[Any]) -> Driver:
    return await offices.open(families=family(paid), limits=UNLIMITED)


async def answered(room: Driver, *steps: Json, by: Api | None = None, **fields: Any) -> Json:
    """Ada has answered somebody in the space `lab`; her run."""
    await room.agent("ada", [turn("", *(steps or (say("hello"),)))], tools=["messaging", "ledger"], **fields)
    await room.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await (by or room).create("/spaces/lab/messages", {"text": "how was Q3?"})
    return await room.run_finished()


async def retried(room: Driver, run: Json, by: Api | None = None, *, status: int = 201, **body: Any) -> Json:
    found: Json = await (by or room).ask("POST", f"/runs/{run['id']}/retry", json=body, status=status)
    return found


# ── trying again ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_retry_is_a_new_run_and_both_answers_stay(room: Driver) -> None:
    first = await answered(room)
    promised = await retried(room, first)
    assert (promised["status"], promised["retryOf"]) == ("queued", first["id"])
    assert promised["id"] != first["id"]
    again = await room.run_finished(nth=2)
    assert (again["id"], again["retryOf"], again["depth"]) == (promised["id"], first["id"], first["depth"])
    assert again["trigger"] == first["trigger"]
    assert again["threadId"] == first["threadId"]
    assert (await room.get(f"/runs/{promised['id']}"))["retryOf"] == first["id"]
    assert [text for text in await room.texts("lab") if text] == ["how was Q3?", "hello", "hello"]


@pytest.mark.one_database
async def test_the_model_is_told_that_it_tries_again(room: Driver) -> None:
    ada = await puppet(room, "ada", steps=[say("hello")], tools=["messaging"])
    await room.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await room.post("lab", "how was Q3?")
    first = await room.run_finished()
    await retried(room, first)
    await room.run_finished(nth=2)
    told, _, again = str(ada.shown[-1]).partition("A person asked you to try this again.")
    assert "how was Q3?" in again
    assert "hello" in told


async def test_a_retry_reads_the_message_as_it_was_edited(room: Driver) -> None:
    first = await answered(room)
    message_id = first["trigger"]["messageId"]
    await room.ask("PATCH", f"/messages/{message_id}", json={"text": "how was Q4?"})
    promised = await retried(room, first)
    await room.run_finished(nth=2)
    told = (await room.journal(promised["id"]))[0]["content"]
    assert "how was Q4?" in told
    assert "how was Q3?" not in told


async def test_two_clicks_make_one_run(room: Driver) -> None:
    first = await answered(room)
    await room.ask("POST", "/agents/ada/pause")
    made = await retried(room, first, clientRetryId="a")
    assert (await retried(room, first, clientRetryId="a", status=200))["id"] == made["id"]
    assert (await retried(room, first, clientRetryId="b", status=200))["id"] == made["id"]
    assert (await room.get(f"/runs/{made['id']}"))["status"] == "queued"
    await room.ask("POST", "/agents/ada/resume")
    await room.run_finished(nth=2)
    assert (await retried(room, first, clientRetryId="a", status=200))["status"] == "completed"
    assert len(await room.runs()) == 2


async def test_concurrent_retries_make_one_run(room: Driver) -> None:
    first = await answered(room)
    await room.ask("POST", "/agents/ada/pause")
    path = f"/runs/{first['id']}/retry"
    answers = await asyncio.gather(*(room.ask("POST", path, json={"clientRetryId": str(n)}) for n in range(6)))
    assert len({answer["id"] for answer in answers}) == 1
    await room.ask("POST", "/agents/ada/resume")
    await room.idle()
    assert len(await room.runs()) == 2


async def test_a_retry_that_has_not_begun_can_be_taken_back(room: Driver) -> None:
    first = await answered(room)
    await room.ask("POST", "/agents/ada/pause")
    made = await retried(room, first)
    assert (await room.create(f"/runs/{made['id']}/cancel", {}))["status"] == "cancelled"
    await room.ask("POST", "/agents/ada/resume")
    await room.idle()
    assert len(await room.runs()) == 1


async def test_a_run_under_way_is_not_tried_again(room: Driver) -> None:
    await room.agent("ada", [turn("", step(call("pay", amount=5)))], tools=["ledger"], policy={"pay": "ask"})
    await room.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await room.post("lab", "go")
    asked = (await room.event("tool.requires_action"))["call"]
    refused = await retried(room, {"id": asked["runId"]}, status=409)
    assert "Stop it first" in refused["error"]["message"]


async def test_a_deleted_message_is_not_tried_again(room: Driver) -> None:
    first = await answered(room)
    await room.ask("DELETE", f"/messages/{first['trigger']['messageId']}")
    assert "was deleted" in (await retried(room, first, status=409))["error"]["message"]


async def test_only_the_causer_and_managers_may_retry(room: Driver) -> None:
    anna_id, anna = await room.person("Anna")
    bob_id, bob = await room.person("Bob")
    _, zoe = await room.person("Zoe")
    await room.agent("ada", [turn("", say("hello"))], tools=["messaging"])
    await room.space("lab", ["ada", anna_id, bob_id], private=True, wake={"people": "all", "agents": "none"})
    await anna.create("/spaces/lab/messages", {"text": "go"})
    first = await room.run_finished()
    await retried(room, first, bob, status=403)
    await retried(room, first, zoe, status=404)
    await retried(room, first, await room.as_agent("ada"), status=403)
    await retried(room, first, anna)
    await room.run_finished(nth=2)
    await retried(room, first)
    again = await room.run_finished(nth=3)
    why = await room.get(f"/messages/{again['messageIds'][0]}/why", params={"agentId": "ada"})
    assert why is not None


# ── effects outside ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_effect_outside_is_asked_about_before_it_is_repeated(room: Driver, paid: list[Any]) -> None:
    first = await answered(room, step(call("pay", amount=5), call("look")), say("done"))
    assert [what for _, what in paid] == [5, "looked"]
    made = await retried(room, first)
    asked = (await room.event("tool.requires_action"))["call"]
    assert (asked["runId"], asked["kind"], asked["metadata"]["reason"]) == (made["id"], "approval", "repeat")
    assert [what for _, what in paid] == [5, "looked"]
    assert (await retried(room, first, status=200))["id"] == made["id"]
    await room.create(f"/pending/{asked['callId']}/resolve", {"result": {"approved": True}})
    await room.run_finished(nth=2)
    assert [what for _, what in paid] == [5, "looked", 5, "looked"]


async def test_a_retry_of_a_retry_asks_about_the_first_effects(room: Driver, paid: list[Any]) -> None:
    paying = [step(call("pay", amount=5)), say("done")]
    first = await answered(room, *paying)
    await room.ask("PATCH", "/agents/ada", json={"model": {"provider": "script", "turns": [turn("", say("no"))]}})
    second = await retried(room, first)
    await room.run_finished(nth=2)
    await room.ask("PATCH", "/agents/ada", json={"model": {"provider": "script", "turns": [turn("", *paying)]}})
    await retried(room, second)
    asked = (await room.event("tool.requires_action"))["call"]
    assert asked["metadata"]["reason"] == "repeat"
    assert len(paid) == 1


# ── stopping ────────────────────────────────────────────────────────────────────────────────────────────────────────

Stop = Callable[[Driver, Api, str], Awaitable[Any]]


async def by_api(room: Driver, who: Api, run_id: str) -> Any:
    return await who.create(f"/runs/{run_id}/cancel", {})


async def by_command(room: Driver, who: Api, run_id: str) -> Any:
    return await who.create("/spaces/lab/messages", {"text": "/stop"})


@pytest.mark.parametrize("stop", [by_api, by_command])
async def test_the_run_and_the_room_say_who_stopped_it(room: Driver, stop: Stop) -> None:
    mara_id, mara = await room.person("Mara")
    await room.agent("ada", [turn("", step(call("pay", amount=5)))], tools=["ledger"], policy={"pay": "ask"})
    await room.space("lab", ["ada", mara_id], wake={"people": "all", "agents": "none"})
    await room.post("lab", "go")
    asked = (await room.event("tool.requires_action"))["call"]
    await stop(room, mara, asked["runId"])
    run = await room.run_finished()
    assert (run["status"], run["stopReason"], run["stoppedBy"]) == ("cancelled", "cancelled", mara_id)
    assert run["error"] == "Stopped by Mara."
    assert [text for text in await room.texts("lab") if "stopped" in text] == ["Mara stopped Ada."]
    await retried(room, run)
    again = (await room.event("tool.requires_action", nth=2))["call"]
    assert again["runId"] != run["id"]


async def test_stopping_twice_is_told_once(room: Driver) -> None:
    await room.agent("ada", [turn("", step(call("pay", amount=5)))], tools=["ledger"], policy={"pay": "ask"})
    await room.space("lab", ["ada"], wake={"people": "all", "agents": "none"})
    await room.post("lab", "go")
    asked = (await room.event("tool.requires_action"))["call"]
    answers = await asyncio.gather(
        *(room.http.post(f"/runs/{asked['runId']}/cancel", json={}) for _ in range(4)), return_exceptions=False
    )
    assert {answer.status_code for answer in answers} <= {200, 409}
    await room.run_finished()
    assert len([text for text in await room.texts("lab") if "stopped" in text]) == 1
