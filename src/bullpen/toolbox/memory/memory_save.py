"""memory_save: keep something for all agents of the space."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from bullpen.toolbox.memory.passages import Expires, Supersedes, answer, keep
from bullpen.tools import ToolContext, remembering, tool

Key = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Value = Annotated[str, StringConstraints(max_length=1000)]


@tool(effect="tx", grant="post")
async def memory_save(
    context: ToolContext,
    content: Annotated[str, Field(min_length=1, max_length=20_000, description="What to remember, in full.")],
    metadata: Annotated[dict[Key, Value] | None, Field(max_length=20, description="Notes beside it, by name.")] = None,
    supersedes: Supersedes = None,
    expires: Expires = None,
) -> dict[str, Any]:
    """Save something in the memory of the space that you are in. Every agent there finds it with memory_search, and the
    people there can read it. What is saved twice is kept once; of something almost the same you are told the earlier
    id, and both are kept."""
    place = await remembering.find_store(context)
    return answer(await keep(context, place, None, content, [], dict(metadata or {}), supersedes, expires))
