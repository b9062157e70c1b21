"""Two processes look at the same tasks at the same time, and some of them die: nothing fires twice, nothing is lost."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.settings import TaskSettings
from bullpen.storage import Transaction
from bullpen.tasks import firing, rows
from bullpen.testing import schedules, snapshot
from bullpen.testing.clock import FakeClock
from tests import effort
from tests.driver import Offices
from tests.tasks.offices import hourly


@pytest.mark.proves("P8", "V9")
async def test_two_processes_fire_each_time_once(offices: Offices) -> None:
    """On SQLite there is one process, whose rounds come at the same time; on PostgreSQL there are two."""
    tasks, hours = effort.count(40, sample=10), effort.count(10, sample=5)
    clock = FakeClock("2026-06-01T08:00:00Z")
    most = TaskSettings(per_space=0)
    office = await offices.open(clock=clock, drive=False, watch=False, tasks=most)
    shared = office.office.store.shared
    other = await offices.open(clock=clock, drive=False, watch=False, tasks=most) if shared else office
    await office.agent("ada", steps=[{}])
    await office.space("studio", ["ada"])
    for _ in range(tasks):
        await office.create("/tasks", hourly(missed="all"))
    for _ in range(hours):
        clock.advance(3600)
        await asyncio.gather(*(each.office.fire_tasks() for each in (office, other, office, other)))
    seen = await snapshot.read(offices.database.url)
    assert len(seen["task_firings"]) == tasks * hours
    assert len([item for item in seen["inbox_items"] if item["kind"] == "task"]) == tasks * hours
    assert list(schedules.firing_faults(seen, at_rest=False)) == []


async def test_a_process_that_dies_before_the_commit_has_fired_nothing(offices: Offices) -> None:
    clock = FakeClock("2026-06-01T08:00:00Z")
    office = await offices.open(clock=clock, drive=False, watch=False)
    await office.agent("ada", steps=[{}])
    await office.space("studio", ["ada"])
    task = await office.create("/tasks", hourly())
    clock.advance(3600)

    class Killed(BaseException):
        pass

    async def die(tx: Transaction) -> None:
        await firing.fire_these(tx, firing.TASKS, [task["id"]], 3)
        raise Killed

    with pytest.raises(Killed):
        await office.office.store.transact(die)
    assert await office.items(f"/tasks/{task['id']}/firings") == []
    assert await office.office.store.read(lambda tx: rows.select_due(tx, clock.millis(), 10)) == [task["id"]]
    await office.office.fire_tasks()
    assert [each["status"] for each in await office.items(f"/tasks/{task['id']}/firings")] == ["fired"]
