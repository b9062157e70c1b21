"""delete_goals: have goals no more."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.mind import actions as mind
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import MOST_AT_ONCE, Ref


@tool(effect="tx")
async def delete_goals(
    context: ToolContext,
    goal_ids: Annotated[list[Ref], Field(min_length=1, max_length=MOST_AT_ONCE, description="Their ids.")],
) -> dict[str, Any]:
    """Delete goals of yours."""
    return own.told_of(*await mind.delete_goals(context.tx, await own.find_mind(context), goal_ids))
