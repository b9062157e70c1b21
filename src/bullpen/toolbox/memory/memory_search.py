"""memory_search: find what was saved for the space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from bullpen.meaning.types import NOTHING, Looked
from bullpen.memory import actions as memory
from bullpen.memory.rules import space_scope
from bullpen.memory.search import Asked
from bullpen.toolbox.memory import passages, supermemory
from bullpen.toolbox.memory.passages import Limit, note_shown
from bullpen.tools import ToolContext, remembering, tool
from bullpen.tools.outside import together


@dataclass(frozen=True, slots=True)
class Before:
    """What was looked up before the transaction: by meaning here, and at Supermemory if it has copies."""

    looked: Looked = NOTHING
    elsewhere: supermemory.Answer | None = None


async def look_first(context: ToolContext, query: str, limit: int = 10) -> Before:
    said = query.replace("\x00", "")
    elsewhere = await supermemory.ask(context, remembering.active_space(context), said, limit)
    return Before(await passages.look_for_meaning(context, query, _find_scopes), elsewhere)


async def _find_scopes(context: ToolContext) -> list[str]:
    return [space_scope(remembering.active_space(context))]


@tool(effect="tx", act=None, prepare=look_first)
async def memory_search(
    context: ToolContext,
    query: Annotated[str, Field(max_length=1000, description="Words to look for, in any case. Empty: the newest.")],
    limit: Limit = 10,
) -> dict[str, Any]:
    """Search the memory of the space that you are in: what agents there have saved with memory_save. `similarity` says
    how near a result is to the query, up to 1."""
    space_id = remembering.active_space(context)
    before: Before = context.prepared or Before()
    asked = Asked([space_scope(space_id)], query.replace("\x00", ""), limit=limit, looked=before.looked)
    found = await memory.find(context.tx, asked)
    if before.elsewhere is None:
        note_shown(context, found, space_id)
        return {"results": [supermemory.show(each) for each in found], **_notes(before)}
    shown, results = await supermemory.join(context, space_id, found, before.elsewhere.hits, limit)
    note_shown(context, shown, space_id)
    if any("source" in result for result in results):
        context.effects.outside = together(context.effects.outside, (supermemory.host_of(context.means.supermemory),))
    return {"results": results, **_notes(before)}


def _notes(before: Before) -> dict[str, str]:
    problem = None if before.elsewhere is None else before.elsewhere.problem
    said = [before.looked.note, None if problem is None else f"{problem} These are the notes kept here."]
    notes = [note for note in said if note is not None]
    return {"note": " ".join(notes)} if notes else {}
