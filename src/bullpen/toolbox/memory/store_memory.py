"""store_memory: keep a passage for later."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import actions as memory
from bullpen.tools import ToolContext, tool


@tool(effect="tx")
async def store_memory(
    context: ToolContext,
    content: Annotated[str, Field(min_length=1, max_length=20_000, description="What to remember, in full.")],
    tags: Annotated[list[str] | None, Field(max_length=50, description="Words to find it by.")] = None,
) -> dict[str, Any]:
    """Store a passage in your long-term memory. What you store twice is kept once."""
    said, group_id = content.replace("\x00", ""), context.run.stays_in
    outside = context.sources_of(said, " ".join(tags or []))
    passage, _ = await memory.store(context.tx, context.agent.id, said, tags or [], group_id=group_id, outside=outside)
    return {"passageId": passage.id}
