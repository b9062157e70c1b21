"""An office whose clock a test moves, with an agent that does what its tasks say."""

from __future__ import annotations

from typing import Any

from bullpen.testing.clock import FakeClock
from bullpen.wire.nouns import ScheduleType
from tests.driver import Api, Driver, Json, Offices

START = "2026-06-01T08:00:00Z"
SPEAK = [{"calls": [{"tool": "send_message", "args": {"text": "done: {{trigger.text}}"}}]}, {}]
TOOLS = ["messaging", "memory", "tasks"]
# What nobody can schedule at START, and a part of the sentence that says why.
REFUSED: list[tuple[ScheduleType, str, str]] = [
    ("cron", "* * * * * *", "five fields"),
    ("cron", "0 9 * *", "five fields"),
    ("cron", "61 * * * *", "no cron expression"),
    ("cron", "0 9 * * FUN", "no cron expression"),
    ("cron", "0 0 30 2 *", "no cron expression"),
    ("cron", "0 0 31 4 */7", "no cron expression"),
    ("cron", "@daily", "five fields"),
    ("interval", "0", "no interval"),
    ("interval", "-5", "no interval"),
    ("interval", "1", "shorter than 60 s"),
    ("interval", "59999", "shorter than 60 s"),
    ("interval", "soon", "no interval"),
    ("interval", "1.5h", "no interval"),
    ("interval", "99999999999999", "ten years"),
    ("interval", "9" * 100, "no interval"),
    ("once", "2026-02-01T15:30:00", "in the past"),
    ("once", "2026-06-01T09:30:00Z", "without Z"),
    ("once", "2026-06-01T09:30:00+02:00", "without Z"),
    ("once", "9999-12-31T23:59:59", "ten years"),
    ("once", "2027-02-30T10:00:00", "no local time"),
    ("once", "tomorrow", "no local time"),
    ("once", "2026-06-02", "no local time"),
]


class Timed:
    """A driver and its clock."""

    def __init__(self, driver: Driver, clock: FakeClock) -> None:
        self.driver = driver
        self.clock = clock

    async def wait(self, **much: float) -> None:
        """Let time pass, look for what is due, and wait until all of it is done."""
        units = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
        self.clock.advance(sum(units[name] * count for name, count in much.items()))
        await self.look()

    async def look(self) -> None:
        await self.driver.office.fire_tasks()
        await self.driver.idle()
        await self.driver.office.fire_tasks()  # what became of it is counted

    async def statuses(self, task: Json) -> list[str]:
        """Of its firings, oldest first."""
        return [firing["status"] for firing in await self.firings(task)]

    async def firings(self, task: Json) -> list[Json]:
        return (await self.driver.items(f"/tasks/{task['id']}/firings", limit=200))[::-1]

    async def task(self, task: Json) -> Json:
        found: Json = await self.driver.get(f"/tasks/{task['id']}")
        return found


async def timed(offices: Offices, start: str = START, **more: Any) -> Timed:
    clock = FakeClock(start)
    driver = await offices.open(clock=clock, **more)
    return Timed(driver, clock)


async def studio(office: Driver, **agent: Any) -> None:
    """Ada, who says that she has done it, in a space of the owner's."""
    await office.agent("ada", **{"steps": SPEAK, "tools": TOOLS, **agent})
    await office.space("studio", ["ada"])


def hourly(**more: Any) -> Json:
    return {"spaceId": "studio", "prompt": "look", "scheduleType": "interval", "scheduleValue": "1h", **more}


async def scheduled(api: Api, **more: Any) -> Json:
    made: Json = await api.create("/tasks", hourly(**more))
    return made
