"""delete_memories: forget what stands under a key."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.mind import actions as mind
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import MOST_AT_ONCE, Key


@tool(effect="tx")
async def delete_memories(
    context: ToolContext,
    keys: Annotated[list[Key], Field(min_length=1, max_length=MOST_AT_ONCE, description="Their keys.")],
) -> dict[str, Any]:
    """Forget what you keep under these keys."""
    return own.told_of(*await mind.delete_memories(context.tx, await own.find_mind(context), keys))
