"""memory_search: find what was saved for the space."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.meaning.types import NOTHING, Looked
from bullpen.memory import actions as memory
from bullpen.memory.rules import space_scope
from bullpen.memory.search import Asked
from bullpen.toolbox.memory import passages
from bullpen.toolbox.memory.passages import Limit, note_shown
from bullpen.tools import ToolContext, remembering, tool


async def look_for_meaning(context: ToolContext, query: str, limit: int = 10) -> Looked:
    return await passages.look_for_meaning(context, query, _find_scopes)


async def _find_scopes(context: ToolContext) -> list[str]:
    return [space_scope(remembering.active_space(context))]


@tool(effect="tx", act=None, prepare=look_for_meaning)
async def memory_search(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words to look for, in any case. Empty: the newest.")],
    limit: Limit = 10,
) -> dict[str, Any]:
    """Search the memory of the space that you are in: what agents there have saved with memory_save. `similarity` says
    how near a result is to the query, up to 1."""
    space_id = remembering.active_space(context)
    looked: Looked = context.prepared or NOTHING
    asked = Asked([space_scope(space_id)], query.replace("\x00", ""), limit=limit, looked=looked)
    found = await memory.find(context.tx, asked)
    note_shown(context, found, space_id)
    shown = [_shown(each) for each in found]
    return {"results": shown, **({} if looked.note is None else {"note": looked.note})}


def _shown(found: memory.Found) -> dict[str, Any]:
    stored = found.stored
    said: dict[str, Any] = {"id": stored.id, "content": stored.content, "metadata": stored.metadata}
    near = found.score if found.similarity is None else round(found.similarity, 3)
    similarity = {} if near is None else {"similarity": near}
    return {**said, "createdAt": stored.created_at, **similarity}
