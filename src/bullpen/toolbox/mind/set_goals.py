"""set_goals: say what one wants, or how far it has come."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.mind import actions as mind
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import MOST_AT_ONCE, SetGoal


@tool(effect="tx")
async def set_goals(
    context: ToolContext,
    goals: Annotated[list[SetGoal], Field(min_length=1, max_length=MOST_AT_ONCE, description="New or changed goals.")],
) -> dict[str, Any]:
    """Set goals of yours, or change them by their ids. You are shown them each time you wake."""
    made = await mind.set_goals(context.tx, await own.find_mind(context), goals)
    return {"goals": [{"id": goal.id, "status": goal.status, "priority": goal.priority} for goal in made]}
