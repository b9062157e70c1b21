"""memory_save: keep something for all agents of the space."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from bullpen.memory import copies
from bullpen.memory.copies import Attempt
from bullpen.toolbox.memory import supermemory
from bullpen.toolbox.memory.passages import Expires, Supersedes, answer, keep
from bullpen.tools import ToolContext, remembering, tool

Key = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Value = Annotated[str, StringConstraints(max_length=1000)]


async def send_first(
    context: ToolContext,
    content: str,
    metadata: dict[str, str] | None = None,
    supersedes: str | None = None,
    expires: str | None = None,
) -> Attempt | None:
    """Before the transaction: give Supermemory its copy, if it is to have one."""
    place = await context.look(remembering.find_store)
    return await supermemory.send_first(context, place, content.replace("\x00", ""), metadata or {})


@tool(effect="tx", grant="post", prepare=send_first)
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
    attempt: Attempt | None = context.prepared
    id = None if attempt is None else attempt.passage_id
    came = await keep(context, place, None, content, [], dict(metadata or {}), supersedes, expires, id)
    result = answer(came)
    if attempt is not None:
        await copies.note_attempt(context.tx, came.stored.id, attempt)
        if attempt.failure is not None:
            result["error"] = f"{attempt.failure.message} {_kept(attempt)}"
    return result


def _kept(attempt: Attempt) -> str:
    is_final = attempt.failure is not None and attempt.failure.is_final
    return "The note is kept here." if is_final else "The note is kept here, and is sent again by itself."
