"""An office whose clock a test moves, with an agent of scope `agent` that the test plays."""

from __future__ import annotations

from typing import Any

from tests.driver import Json, Offices
from tests.path.puppets import Puppet, puppet
from tests.path.scripts import call, step
from tests.tasks.offices import Timed, timed

BUILT_IN = [
    "enter_space",
    "leave_space",
    "send_message",
    "read_messages",
    "skip",
    "set_goals",
    "delete_goals",
    "set_memories",
    "delete_memories",
    "set_plans",
    "delete_plans",
    "get_plans",
]


async def mind(offices: Offices, *steps: Json, **fields: Any) -> tuple[Timed, Puppet]:
    """Ada, alone with the owner in the public channel `desk`, who does this when she is spoken to."""
    office = await timed(offices)
    fields = {"scope": "agent", "tools": [], **fields}
    turns = fields.pop("turns", [])
    seen = await puppet(office.driver, "ada", [*turns, {"kind": "message", "steps": list(steps)}], **fields)
    await office.driver.space("desk", ["ada"], wake={"people": "all"})
    return office, seen


async def told(office: Timed, text: str = "hello", space: str = "desk") -> list[Any]:
    """Somebody says this, and what the calls of the run came to."""
    await office.driver.post(space, text)
    await office.driver.idle()
    return await office.driver.results((await office.driver.runs())[-1]["id"])


def plans(*wishes: Json) -> Json:
    return step(call("set_plans", plans=list(wishes)))


def later(text: str = "look again", **when: str) -> Json:
    return {"name": "later", "instruction": text, **(when or {"runAfter": "2 hours"})}


async def woken(office: Timed) -> list[str]:
    """When plans have woken an agent, oldest first, by the clock of the plan."""
    runs = await office.driver.runs()
    return [run["trigger"]["nominalAt"] for run in runs if run["trigger"]["kind"] == "plan"]
