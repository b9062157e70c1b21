"""update_memory: change one of one's own blocks, or one that is shared."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import blocks
from bullpen.memory.types import Writer
from bullpen.tools import ToolContext, tool
from bullpen.tools.remembering import find_block_places

# Labels that say nothing themselves; any other one is shown as words of whoever chose it.
PLAIN = frozenset(
    ["facts", "human", "notes", "people", "persona", "preferences", "projects", "self", "tasks", "team", "user", "work"]
)


@tool(effect="tx")
async def update_memory(
    context: ToolContext,
    label: Annotated[str, Field(min_length=1, max_length=200, description="Which block; a new label makes a new one.")],
    content: Annotated[str, Field(max_length=20_000, description="What the block says from now on.")],
    reason: Annotated[str | None, Field(max_length=300, description="Why, in a few words.")] = None,
) -> dict[str, Any]:
    """Rewrite one of your own memory blocks: who you are, how you feel, what you think of others."""
    said, why = content.replace("\x00", ""), (reason or "").replace("\x00", "")
    outside = context.sources_of(said, "" if label in PLAIN else label)
    kept_for, shown_in = await find_block_places(context)
    key = await blocks.find_for_run(context.tx, context.agent.id, label, kept_for=kept_for, shown_in=shown_in)
    writer = Writer("agent", context.agent.id, run_id=context.run.id, reason=why or None)
    await blocks.write(context.tx, key, said, writer, outside=outside)
    return {"success": True}
