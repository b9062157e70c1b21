"""search_memory: find one's own passages by keyword."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.meaning.types import NOTHING, Looked
from bullpen.memory import actions as memory
from bullpen.memory.search import Asked
from bullpen.toolbox.memory import passages
from bullpen.toolbox.memory.passages import Limit, Tag, note_shown
from bullpen.tools import ToolContext, remembering, tool
from bullpen.tools.outward import MEMORY


async def look_for_meaning(context: ToolContext, query: str, tags: list[Tag] | None = None, limit: int = 20) -> Looked:
    return await passages.look_for_meaning(context, query, remembering.find_scopes)


@tool(effect="tx", act=None, prepare=look_for_meaning)
async def search_memory(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words to look for, in any case. Empty: the newest.")],
    tags: Annotated[list[Tag] | None, Field(max_length=50, description="Only passages with all of these.")] = None,
    limit: Limit = 20,
) -> dict[str, Any]:
    """Search what you have stored with store_memory. Passages that hold every word of the query come first."""
    scopes = await remembering.find_scopes(context)
    looked: Looked = context.prepared or NOTHING
    asked = Asked(scopes, query.replace("\x00", ""), tags or [], limit, looked=looked)
    found = await memory.find(context.tx, asked)
    note_shown(context, found, MEMORY)
    shown = {"id", "content", "tags", "created_at"}
    listed = [memory.on_the_wire(each.stored).model_dump(include=shown, by_alias=True) for each in found]
    return {"passages": listed, **({} if looked.note is None else {"note": looked.note})}
