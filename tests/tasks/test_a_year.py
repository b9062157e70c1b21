"""A year in some seconds: mixed schedules in six zones, over both changes of their clocks, against the oracle.

Only the exhaustive run goes through the whole year. Other runs go through some weeks of it; a sample takes those in
which the clocks of Chatham and Lord Howe change. Most of the time nobody looks for days, and what was missed is made up
for. On the two days around a change somebody looks every hour, so that each firing is of its own hour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bullpen.testing.clock import FakeClock
from tests import effort
from tests.driver import Offices
from tests.tasks import oracle
from tests.tasks.offices import hourly

ZONES = {
    "America/New_York": "30 2 * * *",
    "Africa/Cairo": "0 0 * * *",
    "Australia/Lord_Howe": "15 2 * * *",
    "Europe/Berlin": "30 2 * * *",
    "America/Santiago": "30 23 * * *",
    "Pacific/Chatham": "*/30 2 * 3,4,9,10 *",
}
OFTEN = "0 */6 1-7 4,10 *"
SINGLE = "2026-10-04T02:15"
FORTNIGHT = 14 * 86_400
YEAR = datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)
WEEKS = [(YEAR[0] + timedelta(days=day), YEAR[0] + timedelta(days=day + 40)) for day in range(0, 360, 40)]
WEEKS.insert(0, (datetime(2026, 9, 20, tzinfo=UTC), datetime(2026, 10, 11, tzinfo=UTC)))
TIMELY = datetime(2026, 10, 3, tzinfo=UTC), datetime(2026, 10, 5, tzinfo=UTC)


@pytest.mark.proves("P8", "V9")
async def test_over_a_year_every_task_fires_at_exactly_its_times(offices: Offices) -> None:
    start, end = YEAR if effort.EVERYTHING else effort.pick(WEEKS, sample=1)[0]
    clock = FakeClock(f"{start:%Y-%m-%dT%H:%M:%S}Z")
    office = await offices.open(clock=clock, drive=False, watch=False)
    await office.agent("ada", steps=[{}])
    await office.space("studio", ["ada"])
    expected: dict[str, list[str]] = {}

    async def make(type: str, value: str, zone: str, times: list[datetime]) -> None:
        wish = hourly(scheduleType=type, scheduleValue=value, timezone=zone, missed="all")
        made = await office.create("/tasks", wish)
        due = [at for at in times if start < at.replace(tzinfo=UTC) <= end]
        expected[made["id"]] = [f"{at:%Y-%m-%dT%H:%M:%S.%f}Z" for at in due]

    for zone, daily in ZONES.items():
        await make("cron", daily, zone, oracle.cron(daily, zone, 2026))
        await make("cron", OFTEN, zone, oracle.cron(OFTEN, zone, 2026))
        if start.date() < datetime.fromisoformat(SINGLE).date():
            await make("once", f"{SINGLE}:00", zone, [oracle.once(SINGLE, zone, 2026)])
    every = [start + timedelta(seconds=FORTNIGHT * n) for n in range(1, 27)]
    await make("interval", "14d", "America/New_York", every)
    looks = {start + timedelta(days=5 * n) for n in range(1, 73)} | {end}
    looks |= {TIMELY[0] + timedelta(hours=n) for n in range(49)}
    for at in sorted(at for at in looks if start < at <= end):
        clock.advance(int(at.timestamp()) - clock.millis() // 1000)
        await office.office.fire_tasks()
    for id, times in expected.items():
        fired: list[str] = []
        page = await office.get(f"/tasks/{id}/firings", params={"limit": 200})
        while True:
            assert {firing["status"] for firing in page["items"]} <= {"fired"}
            fired += [firing["nominalAt"] for firing in page["items"]]
            for firing in page["items"]:
                if TIMELY[0] < (due := datetime.fromisoformat(firing["nominalAt"])) <= TIMELY[1]:
                    assert datetime.fromisoformat(firing["firedAt"]) - due <= timedelta(hours=1), firing
            if "next" not in page:
                break
            page = await office.get(f"/tasks/{id}/firings", params={"limit": 200, "cursor": page["next"]})
        assert fired[::-1] == times
