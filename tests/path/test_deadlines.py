"""A tool runs with a deadline, and whatever it raises is a result that the model reads. design.md §6.12."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bullpen.errors import ToolFailed
from bullpen.tools import ToolContext, tool
from tests.driver import Offices
from tests.path.scripts import call, step

pytestmark = pytest.mark.one_database


@tool(effect="pure", timeout_ms=60)
async def wait_for_ever(context: ToolContext) -> dict[str, Any]:
    """Never come back."""
    await asyncio.Event().wait()
    return {}


@tool(effect="idempotent")
async def give_up(context: ToolContext) -> dict[str, Any]:
    """Say what is wrong."""
    raise ToolFailed("The printer is out of paper.")


@tool()
async def break_down(context: ToolContext) -> dict[str, Any]:
    """Break."""
    return {"never": 1 / 0}


@tool()
async def reach_inside(context: ToolContext) -> dict[str, Any]:
    """Use what only a tool of our own database may use."""
    return {"never": context.tx}


async def test_broken_or_hanging_tools_return_an_error_to_the_model(
    offices: Offices,
) -> None:
    office = await offices.open(families={"odd": [wait_for_ever, give_up, break_down, reach_inside]})
    names = ["wait_for_ever", "give_up", "break_down", "reach_inside"]
    steps = [step(*(call(name) for name in names), call("send_message", text="still here"))]
    await office.agent("ada", steps=steps, tools=["messaging", "odd"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    run = await office.run_finished("ada")
    assert (await office.results(run["id"]))[:4] == [
        {"error": "Tool timed out after 60ms"},
        {"error": "The printer is out of paper."},
        {"error": "break_down failed inside (ZeroDivisionError). Try something else, or tell a person."},
        {"error": "reach_inside failed inside (Broken). Try something else, or tell a person."},
    ]
    assert await office.texts("general") == ["go", "still here"]
    assert (run["status"], run["outcome"]) == ("completed", "spoke")
    told = [event["type"] for event in office.events if event["type"] in ("tool.error", "tool.done")]
    assert told == ["tool.error"] * 4 + ["tool.done"]
