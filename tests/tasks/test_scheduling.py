"""Tasks are made by a tool and at the door, wake their agent at their time, and everybody can see what came of it."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from bullpen.testing.clock import FakeClock
from tests.driver import Driver, Json, Offices
from tests.path.scripts import call, step
from tests.tasks.offices import REFUSED, studio, timed

SPEAK = [{"calls": [{"tool": "send_message", "args": {"text": "It is time: {{trigger.text}}"}}]}, {}]


def schedule(**args: str) -> list[Json]:
    return [{"calls": [{"tool": "schedule_task", "args": args}]}, {}]


@pytest.mark.proves("S2-30", "S2-31")
async def test_a_scheduled_task_wakes_its_agent_once_at_its_time(offices: Offices) -> None:
    clock = FakeClock("2026-06-01T08:00:00Z")
    office = await offices.open(clock=clock)
    await office.agent("ada", steps=SPEAK, tools=["messaging", "tasks"])
    await office.space("studio", ["ada"], timezone="Europe/Berlin")
    body = {"spaceId": "studio", "prompt": "water the plants", "scheduleType": "once"}
    task = await office.create("/tasks", {**body, "scheduleValue": "2026-06-01T10:30:00"})
    assert task["nextRun"] == "2026-06-01T08:30:00.000000Z"
    assert (task["timezone"], task["status"], task["agentId"]) == ("Europe/Berlin", "active", "ada")
    await office.office.fire_tasks()
    assert await office.texts("studio") == []
    clock.advance(30 * 60)
    await asyncio.gather(office.office.fire_tasks(), office.office.fire_tasks())
    run = await office.run_finished("ada")
    assert run["trigger"]["taskId"] == task["id"]
    assert await office.texts("studio") == ["It is time: water the plants"]
    [firing] = await office.items(f"/tasks/{task['id']}/firings")
    assert (firing["status"], firing["runId"], firing["outcome"]) == ("fired", run["id"], "spoke")
    told = await office.event("task_fired")
    assert (told["task"]["id"], told["task"]["firing"]["nominalAt"]) == (task["id"], "2026-06-01T08:30:00.000000Z")
    assert (await office.get(f"/tasks/{task['id']}"))["status"] == "completed"


async def test_an_agent_schedules_for_itself_by_a_tool(office: Driver) -> None:
    asked = schedule(prompt="stand-up", scheduleType="cron", scheduleValue="0 9 * * 1-5")
    await office.agent("ada", turns=[{"when": "plan", "steps": asked}, {"steps": SPEAK}], tools=["messaging", "tasks"])
    await office.space("studio", ["ada"], timezone="America/New_York")
    await office.post("studio", "@ada plan")
    run = await office.run_finished("ada")
    [made] = await office.results(run["id"])
    assert (made["timezone"], len(made["nextRuns"])) == ("America/New_York", 5)
    assert all(at[11:16] == "09:00" for at in made["nextRuns"])
    [task] = await office.items("/tasks", spaceId="studio")
    assert (task["id"], task["createdBy"], task["onBehalfOf"]) == (made["taskId"], "ada", office.owner_id)
    await office.create(f"/tasks/{task['id']}/run", {}, status=202)
    run = await office.run_finished("ada", nth=2)
    assert await office.texts("studio") == ["@ada plan", "It is time: stand-up"]


@pytest.mark.proves("S2-35", "L12")
@pytest.mark.one_database
async def test_invalid_schedules_are_refused_by_the_tool_and_the_api(
    offices: Offices,
) -> None:
    wishes = [{"prompt": "p", "scheduleType": type, "scheduleValue": value} for type, value, _ in REFUSED]
    office = (await timed(offices)).driver
    await studio(office, steps=[step(*(call("schedule_task", **wish) for wish in wishes))])
    await office.post("studio", "@ada plan")
    results = await office.results((await office.run_finished("ada"))["id"])
    assert len(results) == len(REFUSED)
    for wish, result, (_, _, why) in zip(wishes, results, REFUSED, strict=True):
        assert why in result["error"], wish
        refused = await office.create("/tasks", {"spaceId": "studio", **wish}, status=422)
        assert why in refused["error"]["fields"]["scheduleValue"], wish
    assert await office.items("/tasks", status="all") == []


@pytest.mark.proves("S2-32")
@pytest.mark.one_database
async def test_tool_and_api_schedule_in_the_spaces_time_zone(offices: Offices) -> None:
    """On the day before the clocks of New York go forward."""
    wanted = {
        ("cron", "*/30 2 * * *"): ["2027-03-14T03:00:00-04:00", "2027-03-15T02:00:00-04:00"],
        ("once", "2027-03-14T02:30:00"): ["2027-03-14T03:00:00-04:00"],
        ("interval", "43200000"): ["2027-03-13T19:00:00-05:00", "2027-03-14T08:00:00-04:00"],
    }
    wishes = [{"prompt": "p", "scheduleType": type, "scheduleValue": value} for type, value in wanted]
    office = (await timed(offices, "2027-03-13T12:00:00Z")).driver
    await office.agent("ada", steps=[step(*(call("schedule_task", **wish) for wish in wishes))], tools=["tasks"])
    await office.space("studio", ["ada"], timezone="America/New_York")
    await office.post("studio", "@ada plan")
    results = await office.results((await office.run_finished("ada"))["id"])
    for wish, told, times in zip(wishes, results, wanted.values(), strict=True):
        assert told["nextRuns"][:2] == times, wish
        made = await office.create("/tasks", {"spaceId": "studio", **wish})
        assert [datetime.fromisoformat(at) for at in made["nextRuns"][:2]] == [
            datetime.fromisoformat(at) for at in times
        ]


@pytest.mark.parametrize("zone", ["Mars/Base", "../../etc/passwd", "/etc/localtime", "", "europe", "nul\x00"])
@pytest.mark.one_database
async def test_an_unknown_time_zone_is_refused_for_a_space(office: Driver, zone: str) -> None:
    await office.create("/spaces", {"id": "mars", "timezone": zone}, status=422)
    await office.space("studio")
    await office.ask("PATCH", "/spaces/studio", json={"timezone": zone}, status=422)
    await office.ask("PATCH", "/spaces/studio", json={"timezone": "Asia/Tokyo"})
