"""search_memory: find one's own passages by keyword."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import actions as memory
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import together
from bullpen.tools.outward import MEMORY


@tool(effect="tx", act=None)
async def search_memory(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words that the passage contains, in any case.")],
) -> dict[str, Any]:
    """Search what you have stored with store_memory. Finds passages that contain every word of the query."""
    group_id = context.run.stays_in
    found = await memory.search(context.tx, context.agent.id, query.replace("\x00", ""), group_id=group_id)
    if found:
        context.effects.seen_in = (MEMORY,)
    context.effects.outside = together(*(passage.outside for passage in found))
    shown = {"id", "content", "tags", "created_at"}
    return {"passages": [passage.model_dump(include=shown, by_alias=True) for passage in found]}
