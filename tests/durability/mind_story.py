"""More chapters of the story: an agent writes down what it wants and knows, plans, and is woken by its plan.

A kill may come between any two commits of it, also when the plan is due: afterwards it was fired once, and its run did
its work once.
"""

from __future__ import annotations

from bullpen.wire.nouns import Plan
from tests.durability.story import Deed, Person, say, script, turn

YEARLY = {"id": "yearly", "name": "New year", "instruction": "a new year", "cron": "0 0 1 1 *"}
SOON = {"id": "soon", "name": "Soon", "instruction": "it is time", "runAfter": "3 seconds"}
DUE = {
    "kind": "plan",
    "steps": [
        {
            "calls": [
                say("send_message", text="it was due"),
                say("set_goals", goals=[{"id": "rest", "description": "rest", "status": "completed"}]),
                say("set_plans", plans=[YEARLY]),
                say("delete_memories", keys=["kettle"]),
            ]
        }
    ],
}
CAST = [
    {
        "id": "muse",
        "name": "Muse",
        "scope": "agent",
        "tools": [],
        "model": script(
            DUE,
            turn(
                "think",
                [
                    say("set_goals", goals=[{"id": "rest", "description": "rest", "priority": 1}]),
                    say("set_memories", memories=[{"key": "kettle", "value": "is broken"}]),
                    say("set_plans", plans=[YEARLY]),
                    say("get_plans"),
                ],
            ),
            turn("soon", [say("set_plans", plans=[SOON]), say("delete_plans", planIds=["yearly"])]),
        ),
    }
]
ROOMS = [{"id": "loft", "members": ["muse"], "wake": {"people": "all"}, "timezone": "UTC"}]


async def set_up_mind(person: Person) -> None:
    await person.bp.apply(agents=CAST, spaces=ROOMS)


async def think(person: Person) -> None:
    await person.post("loft", "think", key="loft-think")


async def _plan(person: Person) -> Plan | None:
    found = await person.bp.plans.list("muse", status="completed")
    return next((plan for plan in found if plan.id == "soon"), None)


async def plan_soon(person: Person) -> None:
    """For one of the next seconds, and wait until it was fired, in this life or in another."""
    await person.post("loft", "soon", key="loft-soon")
    while await _plan(person) is None:
        await person.wait()


CHAPTERS: dict[str, list[Deed]] = {
    "a mind is set up": [set_up_mind],
    "a mind is written down": [think],
    "a plan is due": [plan_soon],
}
