"""A paused agent begins nothing and goes on with nothing; resumed, it goes on exactly where it was.

One agent or all of them, in every process, over a restart. Whatever comes in meanwhile waits.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from bullpen.runs import loop
from bullpen.runs import rows as run_rows
from bullpen.settings import EngineSettings
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import leases, threads
from bullpen.testing import invariants, snapshot
from bullpen.testing.clock import FakeClock
from bullpen.tools import Tool, ToolContext, tool
from tests.driver import Driver, Json, Offices
from tests.path.puppets import puppet, window
from tests.path.scripts import call, say, step
from tests.waits import BOUND

# Nothing is found by the sweep within the bound of a test: whatever begins was nudged.
UNSWEPT = EngineSettings(lease_seconds=1000.0)  # no regular sweep within any wait of a test

_OWNERS = Statement(
    select(leases.c.owner)
    .select_from(leases.join(threads, threads.c.id == leases.c.thread_id))
    .where(threads.c.state != "idle")
)


async def pause(office: Driver, id: str | None = None) -> Json:
    made: Json = await office.create(f"/agents/{id}/pause" if id else "/agents/pause", {})
    return made


async def resume(office: Driver, id: str | None = None) -> Json:
    made: Json = await office.create(f"/agents/{id}/resume" if id else "/agents/resume", {})
    return made


async def state(office: Driver, id: str) -> str:
    return str((await office.get(f"/agents/{id}"))["state"])


async def put_aside(office: Driver) -> None:
    """Wait until nobody drives anything, though threads are queued."""

    async def free(tx: Transaction) -> bool:
        owners = [row[0] for row in await tx.all(_OWNERS)]
        return bool(owners) and not any(owners)

    await office.until(lambda: office.office.store.read(free))


async def sweep(office: Driver) -> None:
    await office.office.engine.sweep()


async def check(office: Driver, *, at_rest: bool) -> None:
    seen = invariants.Seen(await snapshot.read(office.office.settings.database_url), at_rest=at_rest)
    assert invariants.violations(seen) == []


# ── one agent ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_paused_agent_sleeps_and_answers_everything_once_resumed(offices: Offices) -> None:
    office = await offices.open(engine=UNSWEPT)
    ada = await puppet(office, "ada", steps=[say("heard")])
    await office.space("general", ["ada"], wake={"people": "all"})
    paused = await pause(office, "ada")
    assert (paused["state"], paused["id"]) == ("paused", "ada")
    assert paused["pausedAt"]
    for text in ("one", "two", "three"):
        await office.post("general", text)
    await sweep(office)
    assert [item["payload"]["text"] for item in await office.items("/agents/ada/inbox")] == ["three", "two", "one"]
    assert await state(office, "ada") == "paused"
    assert ada.shown == []
    assert await office.runs() == []
    resumed = await resume(office, "ada")
    assert resumed["state"] == "queued"
    assert "pausedAt" not in resumed
    run = await office.run_finished("ada")
    assert (run["outcome"], run["trigger"]["items"]) == ("spoke", 3)
    await office.idle()
    await check(office, at_rest=True)


async def test_a_run_paused_while_thinking_repeats_the_same_model_call(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("done")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    first = await ada.asked(1)
    (running,) = await office.runs()
    await pause(office, "ada")
    await put_aside(office)
    kept = await office.get(f"/runs/{running['id']}")
    assert (kept["status"], kept["id"]) == ("thinking", running["id"])
    assert "finishedAt" not in kept
    await check(office, at_rest=True)
    ada.release()
    await office.post("general", "are you there?")
    assert len(ada.shown) == 1
    await resume(office, "ada")
    run = await office.run_finished("ada")
    assert (run["id"], run["outcome"], run["trigger"]["items"]) == (running["id"], "spoke", 1)
    assert ada.shown[1] == first
    second = await office.run_finished("ada", nth=2)
    assert second["trigger"]["items"] == 1
    assert await office.texts("general") == ["hello", "are you there?", "done", "done"]


def slow_tool() -> tuple[Tool, asyncio.Event, asyncio.Event, list[str]]:
    begun, go_on, calls = asyncio.Event(), asyncio.Event(), list[str]()

    @tool(effect="once")
    async def wait_here(context: ToolContext) -> dict[str, Any]:
        """Wait until the test says so."""
        calls.append(context.call_id)
        begun.set()
        await go_on.wait()
        return {"waited": True}

    return wait_here, begun, go_on, calls


async def test_a_pause_finishes_the_current_call_and_holds_the_next(offices: Offices) -> None:
    wait_here, begun, go_on, calls = slow_tool()
    office = await offices.open(families={"waiting": [wait_here]})
    steps = [step(call("wait_here"), call("send_message", text="one")), say("two")]
    await office.agent("ada", steps=steps, tools=["messaging", "waiting"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await asyncio.wait_for(begun.wait(), BOUND)
    await pause(office, "ada")
    go_on.set()
    await put_aside(office)
    (run,) = await office.runs()
    assert run["status"] == "acting"
    assert await office.results(run["id"]) == [{"waited": True}]
    assert await office.texts("general") == ["hello"]
    await resume(office, "ada")
    done = await office.run_finished("ada")
    assert (done["id"], done["outcome"]) == (run["id"], "spoke")
    assert await office.texts("general") == ["hello", "one", "two"]
    assert len(calls) == 1
    await office.idle()
    await check(office, at_rest=True)


@pytest.mark.one_database
async def test_a_pause_resets_no_budget(offices: Offices) -> None:
    wait_here, begun, go_on, _ = slow_tool()
    office = await offices.open(families={"waiting": [wait_here]})
    steps = [step(call("send_message", text=str(n)), call("wait_here")) for n in range(5)]
    limits = {"maxSteps": 3, "maxMessages": 2}
    await office.agent("ada", steps=steps, tools=["messaging", "waiting"], limits=limits)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    for _ in range(3):
        await asyncio.wait_for(begun.wait(), BOUND)
        await pause(office, "ada")
        begun.clear()
        go_on.set()
        await put_aside(office)
        go_on.clear()
        await resume(office, "ada")
    run = await office.run_finished("ada")
    assert run["stopReason"] == "max_steps"
    assert await office.texts("general") == ["hello", "0", "1"]


async def test_time_spent_paused_does_not_count_as_active(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Stopwatch()
    monkeypatch.setattr(loop, "monotonic", watch.read)
    ada = await puppet(office, "ada", steps=[say("done")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    watch.seconds += 100
    await pause(office, "ada")
    await put_aside(office)
    watch.seconds += 10_000
    ada.release()
    await resume(office, "ada")
    run = await office.run_finished("ada")
    kept = await office.office.store.read(lambda tx: run_rows.select_run(tx, run["id"]))
    assert kept is not None
    assert 100_000 <= kept.active_ms < 110_000


class Stopwatch:
    seconds = 0.0

    def read(self) -> float:
        return self.seconds


async def test_repeated_pausing_and_resuming_changes_nothing(office: Driver) -> None:
    await office.agent("ada")
    first = await pause(office, "ada")
    assert await pause(office, "ada") == first
    await resume(office, "ada")
    await resume(office, "ada")
    await office.event("agent_updated", nth=2)
    told = [event["agent"]["state"] for event in office.events if event["type"] == "agent_updated"]
    assert told == ["paused", "idle"]
    actions = [row["action"] for row in await office.items("/audit") if row["action"].startswith("agent.")]
    assert [action for action in actions if action in ("agent.paused", "agent.resumed")] == [
        "agent.resumed",
        "agent.paused",
    ]


async def test_a_paused_run_can_be_cancelled_and_its_agent_deleted(offices: Offices) -> None:
    office = await offices.open(engine=UNSWEPT)
    for how in ("cancel", "delete"):
        puppet_of = await puppet(office, how, steps=[say("never")], held=True)
        await office.space(f"with-{how}", [how], wake={"people": "all"})
        await office.post(f"with-{how}", "hello")
        await puppet_of.asked(1)
        await pause(office, how)
        await put_aside(office)
        (run,) = await office.runs(agentId=how)
        if how == "cancel":
            await office.post("with-cancel", "and this waits")
            await office.create(f"/runs/{run['id']}/cancel", {})
        else:
            await office.ask("DELETE", "/agents/delete")
        ended = await office.run_finished(how)
        assert (ended["status"], ended["stopReason"]) == (
            "cancelled",
            "cancelled" if how == "cancel" else "agent_deleted",
        )
        assert len(puppet_of.shown) == 1
    assert await state(office, "cancel") == "paused"
    assert len(await office.items("/agents/cancel/inbox")) == 1


# ── groups ──────────────────────────────────────────────────────────────────────────────────────────────


async def crew(office: Driver) -> list[Any]:
    cast = [await puppet(office, id, steps=[say(f"{id} was here")]) for id in ("ada", "bo", "cy")]
    await office.space("general", ["ada", "bo", "cy"], wake={"people": "all", "agents": "none"})
    return cast


@pytest.mark.parametrize("absent", ["ada", "bo", "cy"])
@pytest.mark.one_database
async def test_group_members_do_not_wait_for_a_paused_agent(office: Driver, absent: str) -> None:
    await crew(office)
    await pause(office, absent)
    await office.post("general", "hello")
    there = [id for id in ("ada", "bo", "cy") if id != absent]
    for id in there:
        await office.run_finished(id)
    assert [run["agentId"] for run in await office.runs()] == there
    # It kept its turn, and need not wait until it would have been due.
    await resume(office, absent)
    await office.run_finished(absent)
    assert await office.texts("general") == ["hello", *(f"{id} was here" for id in [*there, absent])]
    await office.idle()
    await check(office, at_rest=True)


async def test_an_agent_paused_before_its_turn_passes_it_on(offices: Offices) -> None:
    asleep = await offices.open(drive=False, watch=False)
    for id in ("ada", "bo", "cy"):
        await asleep.agent(id, steps=[say(f"{id} was here")])
    await asleep.space("general", ["ada", "bo", "cy"], wake={"people": "all", "agents": "none"})
    await asleep.post("general", "hello")
    await pause(asleep, "ada")
    await pause(asleep, "cy")
    assert await state(asleep, "bo") == "queued"
    await asleep.office.store.close()
    office = await offices.open()
    await resume(office, "cy")
    await office.run_finished("cy")
    assert await office.texts("general") == ["hello", "bo was here", "cy was here"]


async def test_an_agent_paused_during_its_turn_passes_it_on(office: Driver) -> None:
    ada, _, cy = await crew(office)
    ada.hold()
    await office.post("general", "hello")
    await ada.asked(1)
    await pause(office, "ada")
    await office.run_finished("cy")
    ada.release()
    await resume(office, "ada")
    await office.run_finished("ada")
    assert [run["agentId"] for run in await office.runs()] == ["ada", "bo", "cy"]
    assert window(cy.shown[0]) == ["Olga: hello", "Bo: bo was here"]


# ── all ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_pausing_all_also_pauses_agents_created_later(office: Driver) -> None:
    await pause(office)
    await crew(office)
    assert (await office.get("/agents"))["pausedAt"]
    assert [agent["state"] for agent in await office.items("/agents")] == ["paused"] * 3
    await office.post("general", "hello")
    await sweep(office)
    assert await office.runs() == []
    await resume(office)
    assert "pausedAt" not in await office.get("/agents")
    await office.run_finished("cy")


async def test_turn_timeouts_stand_still_while_all_agents_are_paused(offices: Offices) -> None:
    clock = FakeClock()
    office = await offices.open(clock=clock)
    ada, _, cy = await crew(office)
    ada.hold()
    await office.post("general", "hello")
    await ada.asked(1)
    await pause(office)
    await put_aside(office)
    clock.advance(3600)
    await sweep(office)
    assert [run["agentId"] for run in await office.runs()] == ["ada"]
    await resume(office)
    await sweep(office)
    ada.release()
    await office.run_finished("cy")
    assert window(cy.shown[0]) == ["Olga: hello", "Ada: ada was here", "Bo: bo was here"]


async def test_resuming_all_leaves_individually_paused_agents_paused(office: Driver) -> None:
    ada, _, _ = await crew(office)
    await pause(office, "ada")
    assert (await pause(office))["paused"] is True
    assert (await resume(office, "bo"))["state"] == "paused"
    await office.post("general", "hello")
    assert (await resume(office))["paused"] is False
    await office.run_finished("cy")
    assert (await state(office, "ada"), ada.shown) == ("paused", [])
    await resume(office, "ada")
    await office.run_finished("ada")
    told = [event["type"] for event in office.events if event["type"].startswith("agents_")]
    assert told == ["agents_paused", "agents_resumed"]
    actions = [row["action"] for row in await office.items("/audit") if row["action"].startswith("agents.")]
    assert actions == ["agents.resumed", "agents.paused"]


async def test_pausing_all_suspends_every_run_and_resuming_continues_them(offices: Offices) -> None:
    office = await offices.open(engine=UNSWEPT)
    cast = [await puppet(office, f"a{n}", steps=[say(f"a{n} done")], held=True) for n in range(5)]
    for n in range(5):
        await office.space(f"room{n}", [f"a{n}"], wake={"people": "all"})
        await office.post(f"room{n}", "hello")
    for one in cast:
        await one.asked(1)
    await pause(office)
    await put_aside(office)
    await check(office, at_rest=True)
    assert {run["status"] for run in await office.runs()} == {"thinking"}
    for one in cast:
        one.release()
    await resume(office)
    await office.idle()
    assert [run["outcome"] for run in await office.runs()] == ["spoke"] * 5


# ── restarts and other processes ────────────────────────────────────────────────────────────────────────


async def test_a_pause_is_still_there_after_a_restart(offices: Offices) -> None:
    first = await offices.open(drive=False)
    await first.agent("ada", steps=[say("heard")])
    await first.agent("bo", steps=[say("heard")])
    await first.space("general", ["ada"], wake={"people": "all"})
    await pause(first, "ada")
    await pause(first)
    await first.post("general", "hello")
    await first.office.store.close()
    second = await offices.open()
    await sweep(second)
    assert await second.runs() == []
    await resume(second)
    assert (await state(second, "ada"), await state(second, "bo")) == ("paused", "idle")
    await resume(second, "ada")
    await second.run_finished("ada")


async def test_a_paused_office_at_rest_writes_nothing(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("never")], held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await ada.asked(1)
    await pause(office, "ada")
    await put_aside(office)

    async def nobody_drives() -> bool:
        return not office.office.engine.drives

    await office.until(nobody_drives)  # a sweep passes over what is still being driven
    before = office.office.store.commits
    for _ in range(20):
        await sweep(office)
    assert office.office.store.commits == before


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
@pytest.mark.parametrize("told", [True, False])
async def test_a_pause_reaches_another_process_even_without_the_signal(offices: Offices, told: bool) -> None:
    wait_here, begun, go_on, _ = slow_tool()
    worker = await offices.open(families={"waiting": [wait_here]})
    door = await offices.open(drive=False, watch=False)
    steps = [step(call("wait_here")), say("done")]
    await worker.agent("ada", steps=steps, tools=["messaging", "waiting"])
    await worker.space("general", ["ada"], wake={"people": "all"})
    await worker.post("general", "hello")
    await asyncio.wait_for(begun.wait(), BOUND)
    if not told:
        worker.office.signals.on_cancel = lambda run_id: None
    await pause(door, "ada")
    go_on.set()
    await put_aside(worker)
    (run,) = await worker.runs()
    assert run["status"] == "thinking"
    await resume(door, "ada")
    assert (await worker.run_finished("ada"))["outcome"] == "spoke"


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_pause_interrupts_model_calls_in_another_process(offices: Offices) -> None:
    worker = await offices.open()
    door = await offices.open(drive=False, watch=False)
    ada = await puppet(worker, "ada", steps=[say("done")], held=True)
    bo = await puppet(worker, "bo", steps=[say("done")], held=True)
    for id in ("ada", "bo"):
        await worker.space(f"with-{id}", [id], wake={"people": "all"})
        await worker.post(f"with-{id}", "hello")
    await ada.asked(1)
    await bo.asked(1)
    await pause(door)
    await put_aside(worker)
    ada.release()
    bo.release()
    await resume(door)
    await worker.run_finished("ada")
    await worker.run_finished("bo")


# ── who may ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.one_database
async def test_only_those_who_manage_agents_may_pause(office: Driver) -> None:
    await office.agent("ada")
    _, member = await office.person("Peter")
    agent = await office.as_agent("ada")
    for path in ("/agents/ada/pause", "/agents/ada/resume", "/agents/pause", "/agents/resume"):
        await member.create(path, {}, status=403)
        await agent.create(path, {}, status=403)
    for verb in ("pause", "resume"):
        await office.create(f"/agents/nobody/{verb}", {}, status=404)
