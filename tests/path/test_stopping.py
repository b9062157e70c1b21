"""A run can be cancelled, wherever it is. It stops for reasons from a closed list, and every call has its result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bullpen.tools import Tool, ToolContext, tool
from bullpen.tools.types import Effect
from tests.driver import Driver, Offices
from tests.path.puppets import puppet
from tests.path.scripts import call, say, step


async def test_a_run_is_cancelled_while_its_model_thinks(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("never")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    (running,) = await office.runs()
    asked = await office.create(f"/runs/{running['id']}/cancel", {}, status=200)
    assert asked["id"] == running["id"]
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("cancelled", "cancelled")
    assert "outcome" not in run
    assert run["finishedAt"]
    assert await office.texts("general") == ["hello", "Olga stopped Ada."]
    # What comes next is answered as if nothing had been.
    ada.release()
    await office.post("general", "and now?")
    assert (await office.run_finished("ada", nth=2))["outcome"] == "spoke"


def endless_tool(effect: Effect = "pure") -> tuple[Tool, asyncio.Event]:
    begun = asyncio.Event()

    @tool(effect=effect, timeout_ms=600_000)
    async def wait_here(context: ToolContext) -> dict[str, Any]:
        """Wait, and never come back."""
        begun.set()
        await asyncio.Event().wait()
        return {"waited": True}

    return wait_here, begun


STOPPED = {"error": "wait_here was stopped while it ran, along with the run. It had no effect."}
UNKNOWN = {
    "error": "wait_here was interrupted while it ran; whether it took effect is unknown. It was not run again.",
    "outcome": "unknown",
}


@pytest.mark.parametrize(
    "effect, told, way",
    [("pure", STOPPED, "api"), ("once", UNKNOWN, "space"), ("idempotent", UNKNOWN, "api")],
    ids=["pure", "once", "idempotent"],
)
async def test_cancelling_during_an_endless_call_marks_later_calls_as_skipped(
    offices: Offices, effect: Effect, told: dict[str, str], way: str
) -> None:
    wait_here, begun = endless_tool(effect)
    office = await offices.open(families={"waiting": [wait_here]})
    calls = [call("wait_here"), call("send_message", text="never"), call("do_nothing")]
    await office.agent("ada", steps=[step(*calls)], tools=["messaging", "waiting"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await asyncio.wait_for(begun.wait(), 10)
    (running,) = await office.runs()
    assert running["status"] == "acting"
    if way == "api":
        await office.create(f"/runs/{running['id']}/cancel", {})
    else:
        await office.post("general", "/stop")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("cancelled", "cancelled")
    assert await office.results(run["id"]) == [
        told,
        {"error": "Not run: the run was cancelled."},
        {"error": "Not run: the run was cancelled."},
    ]
    assert "never" not in await office.texts("general")


@pytest.mark.one_database
async def test_a_run_cannot_be_cancelled_once_finished_or_by_strangers(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("hi")], held=True)
    await office.agent("bo")
    await office.space("general", ["ada", "bo"], private=True)
    _, stranger = await office.person("Zoe")
    await office.post("general", "@ada hello")
    await ada.asked(1)
    (running,) = await office.runs()
    path = f"/runs/{running['id']}/cancel"
    await stranger.create(path, {}, status=404)
    await (await office.as_agent("bo")).create(path, {}, status=403)
    await office.create("/runs/run_unknown/cancel", {}, status=404)
    ada.release()
    run = await office.run_finished("ada")
    assert run["outcome"] == "spoke"
    answer = await office.create(path, {}, status=409)
    assert answer["error"]["code"] == "run_already_finished"
    assert (await office.get(f"/runs/{run['id']}")) == run


@pytest.mark.one_database
async def test_a_run_can_be_cancelled_by_its_agent_or_members(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("never")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    peter, member = await office.person("Peter")
    await office.create("/spaces/general/members", {"memberId": peter})
    for nth, api in enumerate((member, await office.as_agent("ada")), start=1):
        await office.post("general", "hello")
        await ada.asked(nth)
        (running,) = await office.runs(status="thinking")
        await api.create(f"/runs/{running['id']}/cancel", {})
        assert (await office.run_finished("ada", nth=nth))["status"] == "cancelled"


async def test_deleting_an_agent_cancels_its_run_and_drops_waiting_messages(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("never")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    await office.post("general", "still there?")
    await office.ask("DELETE", "/agents/ada")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"]) == ("cancelled", "agent_deleted")
    assert (await office.get("/spaces/general"))["members"] == [office.owner_id]
    await office.post("general", "@ada?")
    assert len(await office.runs()) == 1
    assert await office.texts("general") == ["hello", "still there?", "@ada?"]


async def test_a_run_nobody_drives_is_cancelled_by_the_next_process(offices: Offices) -> None:
    first = await offices.open()
    ada = await puppet(first, "ada", steps=[say("never")], held=True)
    await first.space("general", ["ada"], wake={"people": "all"})
    await first.post("general", "hello")
    await ada.asked(1)
    await first.office.engine.stop()
    (left,) = await first.runs()
    asked = await first.create(f"/runs/{left['id']}/cancel", {})
    assert asked["status"] == "thinking"
    await first.office.store.close()
    second = await offices.open()
    await second.idle()
    (run,) = await second.runs()
    assert (run["id"], run["status"]) == (left["id"], "cancelled")
    assert len(ada.shown) == 1


async def test_repeated_cancelling_ends_a_run_once(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("never")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    (running,) = await office.runs()
    path = f"/runs/{running['id']}/cancel"
    answers = await asyncio.gather(*(office.http.post(path, json={}) for _ in range(5)))
    statuses = {answer.status_code for answer in answers}
    assert 200 in statuses, "whichever of them came first"
    assert statuses <= {200, 409}
    run = await office.run_finished("ada")
    assert run["stopReason"] == "cancelled"
    await office.create(path, {}, status=409)
    assert [event["type"] for event in office.events].count("run_finished") == 1


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
@pytest.mark.parametrize("told", [True, False])
async def test_another_process_can_cancel_a_run_even_without_the_signal(offices: Offices, told: bool) -> None:
    wait_here, begun = endless_tool()
    worker = await offices.open(families={"waiting": [wait_here]})
    door = await offices.open(drive=False, watch=False)
    await worker.agent("ada", steps=[step(call("wait_here")), say("never")], tools=["messaging", "waiting"])
    await worker.space("general", ["ada"], wake={"people": "all"})
    await worker.post("general", "hello")
    await asyncio.wait_for(begun.wait(), 10)
    if not told:
        worker.office.signals.on_cancel = lambda run_id: None
    (running,) = await door.runs()
    await door.create(f"/runs/{running['id']}/cancel", {})
    run = await worker.run_finished("ada")
    assert (run["status"], await worker.results(run["id"])) == ("cancelled", [STOPPED])
    assert await worker.texts("general") == ["hello", "Olga stopped Ada."]


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_cancel_interrupts_a_model_call_in_another_process(offices: Offices) -> None:
    worker = await offices.open()
    door = await offices.open(drive=False, watch=False)
    ada = await puppet(worker, "ada", steps=[say("never")], held=True)
    await worker.space("general", ["ada"], wake={"people": "all"})
    await worker.post("general", "hello")
    await ada.asked(1)
    (running,) = await door.runs()
    await door.create(f"/runs/{running['id']}/cancel", {})
    assert (await worker.run_finished("ada"))["status"] == "cancelled"
