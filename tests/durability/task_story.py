"""More chapters of the story: somebody schedules, a task is due, and another is wanted now.

A kill may come between any two commits of it, also while nobody is there at the very time: afterwards each time was
fired once, and its run did its work once.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bullpen.wire.nouns import Task
from tests.durability.story import Deed, Person, say, script, turn

YEARLY = {"prompt": "a new year", "scheduleType": "cron", "scheduleValue": "0 0 1 1 *", "contextMode": "isolated"}
CAST = [
    {
        "id": "clock",
        "name": "Clock",
        "tools": ["messaging", "tasks"],
        "model": script(
            turn("plan", [say("schedule_task", **YEARLY)]),
            turn("soon", [say("send_message", text="it was due"), say("schedule_task", **YEARLY)]),
            turn("a new year", [say("list_tasks"), say("send_message", text="happy new year")]),
        ),
    }
]
ROOMS = [{"id": "tower", "members": ["clock"], "wake": {"people": "all"}, "timezone": "UTC"}]


async def set_up_tasks(person: Person) -> None:
    await person.bp.apply(agents=CAST, spaces=ROOMS)


async def plan(person: Person) -> None:
    await person.post("tower", "plan", key="plan")


async def task(person: Person, prompt: str) -> Task | None:
    found = await person.bp.tasks.list(space="tower", status="all")
    return next((each for each in found if each.prompt == prompt), None)


async def schedule(person: Person) -> None:
    """For one of the next seconds, and wait until it was fired, in this life or in another."""
    if await task(person, "soon") is None:
        due = (datetime.now(UTC) + timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%S")
        await person.bp.tasks.create("tower", "soon", "once", due)
    while (found := await task(person, "soon")) is None or found.status != "completed":
        await person.wait()


async def want_now(person: Person) -> None:
    """Once: whoever is not sure looks whether it was fired."""
    found = await task(person, "a new year")
    assert found is not None
    if not (await person.bp.tasks.firings(found.id)).items:
        await person.bp.tasks.run(found.id)


CHAPTERS: dict[str, list[Deed]] = {
    "a clock is put up": [set_up_tasks],
    "somebody plans": [plan],
    "a task is due": [schedule],
    "a task is wanted now": [want_now],
}
