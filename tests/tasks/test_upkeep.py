"""Tasks in what is exported, erased and forgotten."""

from __future__ import annotations

import orjson
import pytest

from bullpen.settings import RetentionSettings
from bullpen.upkeep import retention
from tests.driver import Offices
from tests.tasks.offices import scheduled, studio, timed


@pytest.mark.parametrize("kind", ["spaces", "people"])
async def test_an_export_holds_the_tasks(offices: Offices, kind: str) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    id = "studio" if kind == "spaces" else office.driver.owner_id
    response = await office.driver.http.get(f"/{kind}/{id}/export")
    lines = [orjson.loads(line) for line in response.content.splitlines()]
    assert [line["task"]["id"] for line in lines if line["type"] == "task"] == [task["id"]]


@pytest.mark.parametrize("whose", ["person", "agent", "space"])
async def test_whoever_is_erased_leaves_no_task(offices: Offices, whose: str) -> None:
    office = await timed(offices)
    await studio(office.driver)
    id, pia = await office.driver.person("Pia")
    await office.driver.create("/spaces/studio/members", {"memberId": id})
    task = await scheduled(pia, prompt="quite secret")
    await office.driver.create("/agents/ada/pause", {})
    await office.wait(hours=1)
    path = {"person": f"/people/{id}/erase", "agent": "/agents/ada/erase", "space": "/spaces/studio"}[whose]
    await office.driver.ask("DELETE" if whose == "space" else "POST", path)
    await office.driver.get(f"/tasks/{task['id']}", status=404)
    await office.wait(hours=5)
    assert await office.driver.runs() == []


async def test_old_firings_are_forgotten_and_the_task_stays(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    task = await scheduled(office.driver)
    await office.wait(hours=1)
    await office.wait(days=100)
    assert len(await office.firings(task)) == 2
    store = office.driver.office.store
    forgotten = await retention.forget(store, RetentionSettings(journals_days=90, events_days=0, sessions_days=0))
    assert forgotten.firings == 1
    assert len(await office.firings(task)) == 1
    assert (await office.task(task))["status"] == "active"


async def test_a_task_completed_long_ago_is_deleted_with_its_budget(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    over = await scheduled(office.driver, scheduleType="once", scheduleValue="2026-06-01T09:00:00")
    paused = await scheduled(office.driver)
    await office.driver.create(f"/tasks/{paused['id']}/pause", {})
    budget = {"kind": "task", "subjectId": over["id"], "amount": 1}
    await office.driver.ask("PUT", "/budgets", json=budget)
    await office.driver.ask("PUT", "/budgets", json={**budget, "subjectId": "tsk_none"}, status=404)
    await office.wait(hours=1)
    assert (await office.task(over))["status"] == "completed"
    settings = RetentionSettings(journals_days=90, events_days=0, sessions_days=0)
    store = office.driver.office.store
    assert (await retention.forget(store, settings)).tasks == 0
    await office.wait(days=91)
    assert (await retention.forget(store, settings)).tasks == 1
    assert [task["id"] for task in await office.driver.items("/tasks", status="all")] == [paused["id"]]
    assert await office.driver.items("/budgets") == []
    deleted = await office.driver.event("task_deleted")
    assert deleted["task"] == {"id": over["id"]}
