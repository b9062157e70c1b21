"""Owners are warned at 80 %, once for each amount and period, and a restart forgets nothing."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from bullpen.budgets import actions as budgets
from bullpen.budgets import rows
from bullpen.testing import snapshot
from bullpen.testing.clock import FakeClock
from tests.budgets.spending import budget, costing, looking, paused, saying, told, url_of
from tests.databases import Database
from tests.driver import Driver, Json, Offices
from tests.path.scripts import call, step


async def test_owners_are_warned_once_at_80_percent_despite_a_restart(offices: Offices, database: Database) -> None:
    async with AsyncExitStack() as stack:
        await _until_warned(await Offices(database, stack).open())
    again = await offices.open()
    await again.post("general", "go")
    await paused(again, "ada")
    await again.idle()
    assert told(again, "budget_warned") == []
    assert len(told(again, "budget_reached")) == 1
    actions = [row["action"] for row in await again.items("/audit", limit=200)]
    assert (actions.count("budget.warned"), actions.count("budget.reached")) == (1, 1)


async def _until_warned(office: Driver) -> None:
    await office.agent("ada", steps=[saying("here", 0.3)], limits={"maxCostPerDay": 1.0})
    await office.space("general", ["ada"], wake={"people": "all"})
    for nth in (1, 2):
        await office.post("general", "go")
        await office.run_finished("ada", nth=nth)
    await office.idle()
    assert told(office, "budget_warned") == []
    await office.post("general", "go")
    await office.run_finished("ada", nth=3)
    # The last answer of a run warns, too: nobody has to ask again for it.
    warned = (await office.event("budget_warned"))["budget"]
    assert (warned["amount"], warned["spent"], warned["reached"]) == (1.0, 0.9, False)


@pytest.mark.parametrize("last", [saying("here", 0.9), costing(step(call("skip", reason="nothing to do")), 1.2)])
async def test_a_runs_last_answer_warns_whatever_its_ending_or_cost(office: Driver, last: Json) -> None:
    await office.agent("ada", steps=[last, step()])
    await budget(office, "agent", "ada", 1.0)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await office.run_finished("ada")
    warned = (await office.event("budget_warned"))["budget"]
    assert (warned["spent"], warned["reached"]) == (last["usage"]["cost"], last["usage"]["cost"] > 1)
    await office.idle()
    assert told(office, "budget_reached") == [], "nothing was stopped yet"


async def test_a_restart_mid_run_resets_no_budget_state(offices: Offices, database: Database) -> None:
    steps = [looking(0.6), looking(0.6), saying("done", 0.1)]
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open()
        await office.agent("ada", steps=steps, limits={"maxCostPerDay": 1.0})
        await office.space("general", ["ada"], wake={"people": "all"})
        await office.post("general", "go")
        before = await paused(office, "ada")
    again = await offices.open()
    await again.office.tidy()
    after = await again.get("/agents/ada")
    assert after == before
    await again.idle()
    told_ever = [event["type"] for event in (await snapshot.read(url_of(again))).events]
    assert told_ever.count("run_paused") == 1, "nobody drives what is put aside, not even to find that out again"
    assert (await again.runs())[0]["status"] == "thinking"
    await again.create("/agents/ada/resume", {})
    run = await again.run_finished("ada")
    assert (run["stopReason"], run["usage"]["cost"]) == ("done", 1.3)
    assert told(again, "budget_reached") == []  # that was in another life


async def test_a_new_day_or_amount_warns_again(offices: Offices) -> None:
    clock = FakeClock("2026-01-10T12:00:00Z")
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=[saying("here", 0.9)])
    await budget(office, "agent", "ada", 1.0)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await office.run_finished("ada")
    await office.event("budget_warned")
    clock.advance(24 * 3600)
    await office.post("general", "go")
    await office.run_finished("ada", nth=2)
    await office.event("budget_warned", nth=2)
    await budget(office, "agent", "ada", 1.1)
    await office.post("general", "go")
    assert (await office.event("budget_warned", nth=3))["budget"]["amount"] == 1.1


async def test_runs_crossing_80_percent_together_warn_once(office: Driver) -> None:
    """Each has looked before the other has told."""
    await office.agent("ada", steps=[saying("here", 0.85)])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    await office.run_finished("ada")
    await budget(office, "agent", "ada", 1.0)
    seen = await office.office.store.read(rows.select_standings)
    for _ in range(2):
        await office.office.store.transact(lambda tx: budgets.warn(tx, seen))
    await office.idle()
    assert len(told(office, "budget_warned")) == 1
