"""get_plans: what one means to do, and when."""

from __future__ import annotations

from typing import Any

from bullpen.mind import rows
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import together
from bullpen.tools.outward import MEMORY
from bullpen.tools.remembering import situate_call


@tool(effect="tx", act=None)
async def get_plans(context: ToolContext) -> dict[str, Any]:
    """Read your plans that are not over, with their ids and next times."""
    situation = await situate_call(context)
    places = await rows.select_places(context.tx, context.agent, situation)
    found = await rows.select_plans(context.tx, context.agent.id, places)
    if found:
        context.effects.seen_in = (MEMORY,)
    context.effects.outside = together(*(plan.outside for plan in found))
    return {"plans": [own.shown(plan) for plan in found]}
