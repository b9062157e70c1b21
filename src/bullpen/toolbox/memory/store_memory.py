"""store_memory: keep a passage for later."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.toolbox.memory.passages import Expires, Supersedes, Tag, answer, keep
from bullpen.tools import ToolContext, remembering, tool


@tool(effect="tx")
async def store_memory(
    context: ToolContext,
    content: Annotated[str, Field(min_length=1, max_length=20_000, description="What to remember, in full.")],
    tags: Annotated[list[Tag] | None, Field(max_length=50, description="Words to find it by.")] = None,
    supersedes: Supersedes = None,
    expires: Expires = None,
) -> dict[str, Any]:
    """Store a passage in your long-term memory. What you store twice is kept once; of something that is almost the same
    you are told the earlier id, and both are kept. What you learn in a private space you find there alone."""
    place = await remembering.find_place(context)
    return answer(await keep(context, place, context.agent.id, content, tags or [], {}, supersedes, expires))
