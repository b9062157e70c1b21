"""set_memories: know something by a key."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.mind import actions as mind
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import MOST_AT_ONCE, SetMemory


@tool(effect="tx")
async def set_memories(
    context: ToolContext,
    memories: Annotated[
        list[SetMemory],
        Field(min_length=1, max_length=MOST_AT_ONCE, description="A key that you have already gets the new value."),
    ],
) -> dict[str, Any]:
    """Keep facts under keys. You are shown them each time you wake."""
    made = await mind.set_memories(context.tx, await own.find_mind(context), memories)
    return {"keys": [memory.key for memory in made]}
