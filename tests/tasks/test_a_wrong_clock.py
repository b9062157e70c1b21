"""The clock was ahead and is put back: tasks, turns and dates follow it at once, and the owner is told."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from bullpen import ids
from bullpen.clock import Clock
from bullpen.testing import UNLIMITED, invariants, snapshot
from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Json, Offices
from tests.tasks.offices import Timed, scheduled, studio, timed

DAY = 86_400


async def put_back(office: Timed, seconds: float = DAY) -> None:
    """As the engine's sweep finds it."""
    office.clock.advance(-seconds)
    await office.driver.office.tidy()
    await office.look()


async def put_ahead(office: Timed, seconds: float = DAY) -> None:
    await office.driver.office.tidy()
    office.clock.advance(seconds)
    await office.driver.office.tidy()
    await office.look()


@pytest.mark.proves("P8")
@pytest.mark.parametrize(
    "schedule, next_run",
    [
        ({"scheduleType": "interval", "scheduleValue": "1h"}, "2026-06-01T09:00:00.000000Z"),
        ({"scheduleType": "cron", "scheduleValue": "30 * * * *"}, "2026-06-01T08:30:00.000000Z"),
    ],
)
async def test_a_clock_put_back_moves_recurring_tasks_back(offices: Offices, schedule: Json, next_run: str) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, **schedule)
    await put_ahead(office)
    assert await office.statuses(task) == ["fired"]
    await put_back(office)
    assert (await office.task(task))["nextRun"] == next_run
    await office.wait(hours=1)
    assert (await office.statuses(task)).count("fired") == 2, "it does not stay silent until tomorrow"


async def test_the_space_and_the_audit_log_tell_of_it(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await put_ahead(office)
    await put_back(office)
    said = [each["text"] for each in await office.driver.items("/spaces/studio/messages") if each["type"] == "system"]
    told = f"{task['id']} (“look”) is next due at 2026-06-01T09:00:00+00:00."
    assert said == [f"The server's clock was ahead and was put back. {told}"]
    noted = {each["action"]: each for each in await office.driver.items("/audit")}
    assert noted["clock.put_back"]["detail"] == {"seconds": float(DAY), "tasks": 1}
    assert noted["task.moved"]["objectId"] == task["id"]


async def test_a_time_fired_too_early_is_not_fired_again(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, scheduleType="cron", scheduleValue="0 9 * * *")
    await office.wait(hours=1)
    await put_ahead(office)
    assert await office.statuses(task) == ["fired", "fired"]
    await put_back(office)
    await office.wait(days=1)
    assert await office.statuses(task) == ["fired", "fired"]
    await office.wait(days=1)
    assert await office.statuses(task) == ["fired", "fired", "fired"]


async def test_a_single_time_keeps_its_moment(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, scheduleType="once", scheduleValue="2026-06-05T09:00:00")
    await put_ahead(office)
    await put_back(office)
    assert (await office.task(task))["nextRun"] == "2026-06-05T09:00:00.000000Z"


async def test_a_server_that_starts_after_it_moves_tasks_back(offices: Offices) -> None:
    async with AsyncExitStack() as stack:
        ahead = await timed(Offices(offices.database, stack), "2026-06-02T08:00:00Z")
        await studio(ahead.driver)
        task = await scheduled(ahead.driver)
    right = FakeClock("2026-06-01T08:00:00Z")
    office = Timed(await offices.open(clock=right, drive=False, watch=False), right)
    await office.driver.office.tidy()
    assert (await office.task(task))["nextRun"] == "2026-06-01T09:00:00.000000Z"


async def test_dates_and_sums_follow_a_clock_that_is_put_back(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    await put_ahead(office)
    first = await speak(office.driver)
    await put_back(office)
    second = await speak(office.driver)
    assert first["createdAt"].startswith("2026-06-02")
    assert second["createdAt"].startswith("2026-06-01")
    assert second["seq"] > first["seq"]
    assert second["id"] > first["id"]
    seen = invariants.Seen(await snapshot.read(offices.database.url), at_rest=True)
    assert invariants.check(seen)["V11"] == []


async def speak(driver: Driver) -> Json:
    """A message that wakes Ada, and her answer waited for."""
    sent: Json = await driver.create("/spaces/studio/messages", {"text": "@ada hello"})
    await driver.idle()
    return sent


async def test_agents_speak_again_after_the_clock_was_put_back(offices: Offices) -> None:
    office = await timed(offices, limits=replace(UNLIMITED, agent_messages_per_minute=1))
    await studio(office.driver)
    await put_ahead(office)
    await speak(office.driver)
    await put_back(office)
    await office.wait(minutes=2)
    await speak(office.driver)
    assert (await office.driver.texts("studio")).count("done: @ada hello") == 2


async def test_nobody_waits_until_tomorrow_for_a_turn(offices: Offices) -> None:
    office = await timed(offices, drive=False, watch=False)
    for id in ("ada", "bo"):
        await office.driver.agent(id, steps=[])
    await office.driver.space("lab", ["ada", "bo"], wake={"people": "all"})
    office.clock.advance(DAY)
    await office.driver.create("/spaces/lab/messages", {"text": "hello"})
    office.clock.advance(-DAY)
    await office.driver.office.tidy()
    wait = int(office.driver.office.settings.engine.group_wait_seconds * 1000)
    items = (await snapshot.read(offices.database.url))["inbox_items"]
    assert sorted(item["due_at"] - office.clock.millis() for item in items) == [0, wait]


async def test_a_server_that_starts_gives_newer_messages_larger_ids(
    offices: Offices, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        ahead = await timed(Offices(offices.database, stack))
        await studio(ahead.driver)
        monkeypatch.setattr(ids, "_rising", ids._Rising())
        ids.rise_above(ids.runs_since(Clock().millis() + 3_600_000))
        first = await speak(ahead.driver)
    monkeypatch.setattr(ids, "_rising", ids._Rising())  # another process, whose clock is right
    office = await timed(offices)
    assert (await speak(office.driver))["id"] > first["id"]


def test_ids_go_on_above_an_id_from_the_future() -> None:
    before = ids.run()
    future = ids.runs_since(Clock().millis() + 60_000)
    ids.rise_above(future)
    after = [ids.run(), ids.run()]
    assert before < future < after[0] < after[1]


@pytest.mark.parametrize("id", ["", "general", "msg_", "run_" + "v" * 26, "run_" + "!" * 26, "run_" + "é" * 26])
def test_an_id_that_cannot_be_ours_moves_nothing(id: str) -> None:
    ids.rise_above(id)
    assert ids.run() < "run_v"
