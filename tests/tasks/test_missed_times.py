"""Nobody was there when a task was due: its policy says what becomes of that, and it is kept."""

from __future__ import annotations

import pytest

from tests.driver import Offices
from tests.tasks.offices import scheduled, studio, timed


@pytest.mark.proves("P8")
@pytest.mark.parametrize(
    "missed, statuses, counts",
    [("once", ["fired"], [4]), ("all", ["fired"] * 5, [0] * 5), ("none", ["missed"], [4])],
)
async def test_five_missed_times_are_handled_by_the_tasks_policy(
    offices: Offices, missed: str, statuses: list[str], counts: list[int]
) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, missed=missed)
    await office.wait(hours=5, minutes=30)
    firings = await office.firings(task)
    assert [firing["status"] for firing in firings] == statuses
    assert [firing["missed"] for firing in firings] == counts
    assert firings[-1]["nominalAt"] == "2026-06-01T13:00:00.000000Z"
    assert len(await office.driver.texts("studio")) == statuses.count("fired")
    assert (await office.task(task))["nextRun"] == "2026-06-01T14:00:00.000000Z", "real time goes on"
    await office.look()
    assert await office.statuses(task) == statuses, "looking again fires nothing"


async def test_a_paused_agent_accumulates_only_one_firing(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.driver.create("/agents/ada/pause", {})
    for _ in range(3):
        await office.wait(hours=1)
    assert await office.statuses(task) == ["fired", "missed", "missed"]
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    assert await office.driver.texts("studio") == ["done: look"]
    await office.wait(hours=1)
    assert (await office.statuses(task))[-1] == "fired"


async def test_a_paused_agents_once_task_fires_at_its_new_time(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, scheduleType="once", scheduleValue="2026-06-01T09:00:00")
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    await office.driver.ask("PATCH", f"/tasks/{task['id']}", json={"scheduleValue": "2026-06-01T10:00:00"})
    await office.wait(hours=1)
    assert await office.statuses(task) == ["dropped", "fired"]
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    assert await office.driver.texts("studio") == ["done: look"]


@pytest.mark.proves("S2-37", "S2-38")
async def test_a_paused_task_skips_its_times_until_it_is_resumed(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    paused = await office.driver.create(f"/tasks/{task['id']}/pause", {}, status=200)
    assert (paused["status"], paused["nextRuns"]) == ("paused", [])
    await office.wait(hours=7, minutes=20)
    assert await office.statuses(task) == []
    resumed = await office.driver.create(f"/tasks/{task['id']}/resume", {}, status=200)
    assert resumed["nextRun"] == "2026-06-01T16:00:00.000000Z"
    await office.look()
    assert await office.statuses(task) == [], "what was due meanwhile is not made up for"
    await office.wait(hours=1)
    assert await office.statuses(task) == ["fired"]


async def test_a_once_task_whose_time_passed_while_paused_cannot_resume(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver, scheduleType="once", scheduleValue="2026-06-01T09:00:00")
    await office.driver.create(f"/tasks/{task['id']}/pause", {})
    await office.wait(hours=2)
    await office.driver.create(f"/tasks/{task['id']}/resume", {}, status=409)
    again = {"scheduleValue": "2026-06-01T11:00:00"}
    assert (await office.driver.ask("PATCH", f"/tasks/{task['id']}", json=again))["status"] == "paused"
    await office.driver.create(f"/tasks/{task['id']}/resume", {})
    await office.wait(hours=1)
    assert await office.statuses(task) == ["fired"]


async def test_pausing_a_task_drops_a_firing_that_has_not_started(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    await office.driver.create(f"/tasks/{task['id']}/pause", {})
    await office.driver.create("/agents/ada/resume", {})
    await office.look()
    assert await office.statuses(task) == ["dropped"]
    assert await office.driver.texts("studio") == []


@pytest.mark.proves("S2-39")
async def test_a_cancelled_task_is_gone_and_never_starts(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    await office.driver.ask("DELETE", f"/tasks/{task['id']}", status=204)
    await office.driver.create("/agents/ada/resume", {})
    await office.wait(hours=5)
    await office.driver.get(f"/tasks/{task['id']}", status=404)
    assert await office.driver.items("/tasks", status="all") == []
    assert await office.driver.texts("studio") == []
    assert await office.driver.runs() == []


@pytest.mark.parametrize(
    "schedule",
    [
        {"scheduleType": "once", "scheduleValue": "2026-06-01T09:00:00"},
        {"scheduleType": "cron", "scheduleValue": "0 9 * * *"},
    ],
)
@pytest.mark.one_database
async def test_a_task_scheduled_half_a_second_ahead_fires_on_time(offices: Offices, schedule: dict[str, str]) -> None:
    office = await timed(offices, "2026-06-01T08:59:59.500Z")
    await studio(office.driver)
    task = await scheduled(office.driver, timezone="UTC", **schedule)
    assert task["nextRun"] == "2026-06-01T09:00:00.000000Z"
    later = await scheduled(office.driver, timezone="UTC", scheduleType="once", scheduleValue="2026-06-02T09:00:00")
    later = await office.driver.ask("PATCH", f"/tasks/{later['id']}", json=schedule)
    assert later["nextRun"] == task["nextRun"]
    await office.wait(seconds=1)
    assert await office.statuses(task) == await office.statuses(later) == ["fired"]
