"""memory_search: find what was saved for the space."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import actions as memory
from bullpen.memory.rules import space_scope
from bullpen.memory.search import Asked
from bullpen.toolbox.memory.passages import Limit, note_shown
from bullpen.tools import ToolContext, remembering, tool


@tool(effect="tx", act=None)
async def memory_search(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words to look for, in any case. Empty: the newest.")],
    limit: Limit = 10,
) -> dict[str, Any]:
    """Search the memory of the space that you are in: what agents there have saved with memory_save. `similarity` says
    how much of the query a result holds, from 0 to 1."""
    space_id = remembering.active_space(context)
    found = await memory.find(context.tx, Asked([space_scope(space_id)], query.replace("\x00", ""), limit=limit))
    note_shown(context, found, space_id)
    return {"results": [_shown(each) for each in found]}


def _shown(found: memory.Found) -> dict[str, Any]:
    stored = found.stored
    said: dict[str, Any] = {"id": stored.id, "content": stored.content, "metadata": stored.metadata}
    similarity = {} if found.score is None else {"similarity": found.score}
    return {**said, "createdAt": stored.created_at, **similarity}
