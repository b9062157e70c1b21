"""memory_search: find what was saved for the space."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import actions as memory
from bullpen.memory.rules import space_scope
from bullpen.memory.search import Asked
from bullpen.toolbox.memory import supermemory
from bullpen.toolbox.memory.passages import Limit, note_shown
from bullpen.tools import ToolContext, remembering, tool
from bullpen.tools.outside import together


async def ask_first(context: ToolContext, query: str, limit: int = 10) -> supermemory.Answer | None:
    """Before the transaction: ask Supermemory, if it has copies."""
    return await supermemory.ask(context, remembering.active_space(context), query.replace("\x00", ""), limit)


@tool(effect="tx", act=None, prepare=ask_first)
async def memory_search(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words to look for, in any case. Empty: the newest.")],
    limit: Limit = 10,
) -> dict[str, Any]:
    """Search the memory of the space that you are in: what agents there have saved with memory_save. `similarity` says
    how much of the query a result holds, from 0 to 1."""
    space_id = remembering.active_space(context)
    own = await memory.find(context.tx, Asked([space_scope(space_id)], query.replace("\x00", ""), limit=limit))
    elsewhere: supermemory.Answer | None = context.prepared
    if elsewhere is None:
        note_shown(context, own, space_id)
        return {"results": [supermemory.show(each) for each in own]}
    passages, results = await supermemory.join(context, space_id, own, elsewhere.hits, limit)
    note_shown(context, passages, space_id)
    if any("source" in result for result in results):
        context.effects.outside = together(context.effects.outside, (supermemory.host_of(context.means.supermemory),))
    problem = {} if elsewhere.problem is None else {"note": f"{elsewhere.problem} These are the notes kept here."}
    return {"results": results, **problem}
