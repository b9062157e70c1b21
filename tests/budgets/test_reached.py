"""A budget that is used up stops what falls under it, visibly, until it may go on. design.md §6.8; L6, L7, H10."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.testing.clock import FakeClock
from tests.budgets.spending import budget, costing, looking, paused, saying, told
from tests.driver import Driver, Offices
from tests.path.scripts import call, step

NOON = "2026-01-10T12:00:00Z"


@pytest.mark.proves("L7")
async def test_at_100_percent_the_run_pauses_and_owners_hear_once(office: Driver) -> None:
    steps = [looking(0.6), saying("nearly there", 0.6), saying("done", 0.6)]
    await office.agent("ada", steps=steps, limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    agent = await paused(office, "ada")
    assert agent["pausedReason"] == "The budget of Ada for today is used up."
    assert agent["costToday"] == 1.2
    assert "pausedAt" not in agent
    # What the step wanted was carried out; the next was not begun. Everybody there reads why.
    assert await office.texts("general") == [
        "go",
        "nearly there",
        "The budget of Ada for today is used up. Work that falls under it waits.",
    ]
    (run,) = await office.runs()
    assert (run["status"], run["pausedReason"]) == ("thinking", agent["pausedReason"])
    assert "finishedAt" not in run
    assert run["usage"]["cost"] == 1.2
    await office.event("budget_reached")
    (reached,) = told(office, "budget_reached")
    assert (reached["kind"], reached["subjectId"], reached["amount"], reached["spent"]) == ("agent", "ada", 1.0, 1.2)
    # More work waits behind it, and nobody is told again.
    await office.post("general", "and now?")
    await office.idle()
    assert len(told(office, "budget_reached")) == 1
    assert len(await office.texts("general")) == 4


async def test_resuming_grants_the_same_amount_again_and_continues_the_run(office: Driver) -> None:
    steps = [looking(0.6), looking(0.6), saying("done", 0.1)]
    await office.agent("ada", steps=steps, limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    await office.create("/agents/ada/resume", {})
    run = await office.run_finished("ada")
    assert (run["stopReason"], run["usage"]["cost"]) == ("done", 1.3)
    assert "pausedReason" not in run
    (kept,) = await office.items("/budgets")
    assert (kept["amount"], kept["extra"], kept["spent"], kept["reached"]) == (1.0, 1.2, 1.3, False)
    assert "pausedReason" not in await office.get("/agents/ada")


async def test_resuming_grants_a_full_budget_however_far_it_was_overdrawn(office: Driver) -> None:
    """So much again from now on, however far it was overdrawn, and for all that are used up at once."""
    await office.agent("ada", steps=[looking(3.9), looking(0.9), saying("done", 0.05)], limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await budget(office, "space", "general", 1.0)
    await budget(office, "office", None, 1.5, period="month")
    await office.post("general", "go")
    await paused(office, "ada")
    await office.create("/agents/ada/resume", {})
    assert (await office.run_finished("ada"))["stopReason"] == "done"
    assert {row["extra"] for row in await office.items("/budgets")} == {3.9}
    actions = [row["action"] for row in await office.items("/audit", limit=200)]
    assert actions.count("budget.extended") == 3


async def test_a_tiny_budget_is_extended_without_counting_up(office: Driver) -> None:
    """A billion times the amount was spent: nobody counts up to that."""
    await office.agent("ada", steps=[looking(1.0), saying("done", 0)], limits={"maxCostPerDay": 0.000000001})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    await office.create("/agents/ada/resume", {})
    assert (await office.run_finished("ada"))["stopReason"] == "done"


async def test_a_budget_paused_run_ends_when_its_space_is_deleted(office: Driver) -> None:
    await office.agent("ada", steps=[looking(0.5), saying("done", 0.1)], scope="agent")
    await office.space("general", ["ada"], wake={"people": "all"})
    await budget(office, "space", "general", 0.5, period="month")
    await office.post("general", "go")
    await paused(office, "ada")
    await office.ask("DELETE", "/spaces/general")
    assert await office.items("/budgets") == []
    await office.office.tidy()
    await office.run_finished("ada")
    await office.idle()
    assert "pausedReason" not in await office.get("/agents/ada")


@pytest.mark.parametrize("how", ["limits", "raised", "deleted"])
async def test_raising_or_removing_a_budget_continues_the_paused_run(office: Driver, how: str) -> None:
    limits = {"maxCostPerDay": 1.0} if how == "limits" else {}
    await office.agent("ada", steps=[looking(1.0), saying("done", 0.1)], limits=limits)
    set_ = None if how == "limits" else await budget(office, "agent", "ada", 1.0)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    if how == "limits":
        await office.ask("PATCH", "/agents/ada", json={"limits": {"maxCostPerDay": 2.0}})
    elif how == "raised":
        await budget(office, "agent", "ada", 2.0)
    else:
        assert set_ is not None
        await office.ask("DELETE", f"/budgets/{set_['id']}", status=204)
    assert (await office.run_finished("ada"))["stopReason"] == "done"


async def test_a_raise_that_does_not_suffice_leaves_it_paused(office: Driver) -> None:
    await office.agent("ada", steps=[looking(1.0), saying("done", 0.1)])
    await budget(office, "agent", "ada", 0.5)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    await budget(office, "agent", "ada", 0.9)
    await office.event("budget_reached", nth=2)  # of another amount
    await paused(office, "ada")
    assert [run["status"] for run in await office.runs()] == ["thinking"]


async def test_a_daily_budget_lets_the_run_continue_the_next_day(offices: Offices) -> None:
    clock = FakeClock(NOON)
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=[looking(1.0), saying("done", 0.1)], limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    clock.advance(11 * 3600)
    await office.office.tidy()
    assert (await office.get("/agents/ada"))["state"] == "paused"
    clock.advance(2 * 3600)
    await office.office.tidy()
    assert (await office.run_finished("ada"))["stopReason"] == "done"
    days = await office.items("/usage", by="day")
    assert [(row["id"], row["cost"]) for row in days] == [("2026-01-10", 1.0), ("2026-01-11", 0.1)]


async def test_a_monthly_budget_renews_with_the_calendar_month(offices: Offices) -> None:
    clock = FakeClock("2026-01-30T12:00:00Z")
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=[saying("done", 0.6)])
    made = await budget(office, "agent", "ada", 1.3, period="month")
    await office.space("general", ["ada"], wake={"people": "all"})
    for nth in (1, 2):
        await office.post("general", "go")
        await office.run_finished("ada", nth=nth)
        clock.advance(24 * 3600 if nth == 1 else 0)
    await office.post("general", "go")
    assert (await paused(office, "ada"))["pausedReason"].endswith("for this month is used up.")
    assert (await office.items("/budgets"))[0]["id"] == made["id"]
    clock.advance(12 * 3600)
    await office.office.tidy()
    await office.run_finished("ada", nth=3)


async def test_budget_paused_runs_can_be_cancelled_or_their_agents_deleted(office: Driver) -> None:
    for id in ("ada", "bo"):
        await office.agent(id, steps=[looking(1.0), saying("done", 0.1)], limits={"maxCostPerDay": 1.0})
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "go")
        await paused(office, id)
    (run,) = await office.runs(agentId="ada")
    await office.create(f"/runs/{run['id']}/cancel", {})
    assert (await office.run_finished("ada"))["stopReason"] == "cancelled"
    assert (await office.get("/agents/ada"))["state"] == "idle"
    await office.ask("DELETE", "/agents/bo")
    assert (await office.run_finished("bo"))["stopReason"] == "agent_deleted"
    assert [row["subjectId"] for row in await office.items("/budgets")] == ["ada"]


@pytest.mark.one_database
async def test_an_agent_with_zero_budget_pauses_without_calling_its_model(office: Driver) -> None:
    await office.agent("ada", steps=[saying("never", 0.1)], limits={"maxCostPerDay": 0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    assert (await office.runs())[0]["usage"]["cost"] == 0
    refused = await office.ask("POST", "/agents/ada/resume", status=409)
    assert "Raise it first" in refused["error"]["message"]


@pytest.mark.proves("L6")
async def test_tokens_of_a_run_and_of_a_day_are_limited(office: Driver) -> None:
    endless = [looking(0, inputTokens=300, outputTokens=50)] * 10
    await office.agent("ada", steps=endless, limits={"maxTokensPerRun": 1000})
    await office.agent("bo", steps=endless, limits={"maxTokensPerDay": 1000})
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "go")
    run = await office.run_finished("ada")
    assert (run["status"], run["stopReason"], run["usage"]["inputTokens"]) == ("completed", "max_tokens", 900)
    assert (await paused(office, "bo"))["pausedReason"] == "The budget of Bo for today is used up."
    (kept,) = await office.items("/budgets")
    assert (kept["unit"], kept["amount"], kept["spent"]) == ("tokens", 1000, 1050)


@pytest.mark.proves("H10")
@pytest.mark.one_database
async def test_a_long_tool_loop_stops_at_its_budget_with_reason(office: Driver) -> None:
    await office.agent("ada", steps=[looking(0.01)] * 50, limits={"maxSteps": 100, "maxCostPerDay": 0.2})
    await office.agent("bo", steps=[looking(0.01)] * 50)
    for id in ("ada", "bo"):
        await office.space(f"to-{id}", [id], wake={"people": "all"})
        await office.post(f"to-{id}", "go")
    await paused(office, "ada")
    (run,) = await office.runs(agentId="ada")
    assert run["usage"]["cost"] == 0.2
    assert run["pausedReason"] == "The budget of Ada for today is used up."
    assert (await office.run_finished("bo"))["stopReason"] == "max_steps"


@pytest.mark.one_database
async def test_an_agent_without_budget_does_not_block_its_group(office: Driver) -> None:
    await office.agent("ada", steps=[saying("never", 0.1)], limits={"maxCostPerDay": 0})
    await office.agent("bo", steps=[saying("here", 0.1)])
    await office.space("general", ["ada", "bo"], wake={"people": "all"})
    await office.post("general", "who is there?")
    await office.run_finished("bo")
    assert "here" in await office.texts("general")
    assert (await paused(office, "ada"))["state"] == "paused"


async def test_a_manually_paused_agent_stays_paused_when_its_budget_renews(offices: Offices) -> None:
    clock = FakeClock(NOON)
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=[looking(1.0), saying("done", 0.1)], limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await paused(office, "ada")
    await office.create("/agents/ada/pause", {})
    clock.advance(24 * 3600)
    await office.office.tidy()
    agent = await office.get("/agents/ada")
    assert (agent["state"], "pausedReason" in agent) == ("paused", False)
    assert "done" not in await office.texts("general")
    await office.create("/agents/ada/resume", {})
    await office.run_finished("ada")


async def test_concurrent_raises_resumes_and_pauses_do_not_deadlock(office: Driver) -> None:
    """All of them change budgets and agents: what they wait for is always in the same order."""
    names = [f"agent-{n}" for n in range(4)]
    for id in names:
        await office.agent(id, steps=[looking(1.0), saying("done", 0.1)])
        await office.space(f"to-{id}", [id], wake={"people": "all"})
    await budget(office, "office", None, 0.5)
    for id in names:
        await budget(office, "agent", id, 0.5)
        await office.post(f"to-{id}", "go")
    for id in names:
        await paused(office, id)
    await asyncio.gather(
        *(office.create(f"/agents/{id}/resume", {}) for id in names),
        *(office.create(f"/agents/{id}/pause", {}) for id in names),
        *(budget(office, "office", None, 9.0 + n) for n in range(4)),
        *(budget(office, "agent", id, 9.0) for id in names),
        office.office.tidy(),
    )
    for id in names:
        await office.create(f"/agents/{id}/resume", {})
        assert (await office.run_finished(id))["stopReason"] == "done"
    await office.idle()
    assert {row["reached"] for row in await office.items("/budgets")} == {False}


async def test_concurrent_runs_each_overdraw_by_at_most_one_step(office: Driver) -> None:
    """Runs that are under way at once each finish the step they have begun: a budget is overdrawn by no more."""
    steps = [{**costing(step(call("read_messages")), 0.4), "delayMs": 30}] * 10
    await office.agent("ada", steps=steps)
    await budget(office, "office", None, 1.0)
    for n in range(4):
        await office.space(f"room-{n}", ["ada"], wake={"people": "all"})
    for n in range(4):
        await office.post(f"room-{n}", "go")
    await paused(office, "ada")
    await office.idle()
    (row,) = await office.items("/budgets")
    assert 1.0 <= row["spent"] <= 1.0 + 4 * 0.4
