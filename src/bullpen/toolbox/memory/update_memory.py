"""update_memory: change one of one's own blocks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.memory import rows
from bullpen.tools import ToolContext, tool

# Labels that say nothing themselves; any other one is shown as words of whoever chose it.
PLAIN = frozenset(
    ["facts", "human", "notes", "people", "persona", "preferences", "projects", "self", "tasks", "team", "user", "work"]
)


@tool(effect="tx")
async def update_memory(
    context: ToolContext,
    label: Annotated[str, Field(min_length=1, max_length=200, description="Which block; a new label makes a new one.")],
    content: Annotated[str, Field(max_length=20_000, description="What the block says from now on.")],
) -> dict[str, Any]:
    """Rewrite one of your own memory blocks: who you are, how you feel, what you think of others."""
    said, group_id = content.replace("\x00", ""), context.run.stays_in
    outside = context.sources_of(said, "" if label in PLAIN else label)
    if group_id is None:
        await rows.upsert_block(context.tx, context.agent.id, label, said, outside)
    else:  # who it is elsewhere is not for this group to say
        await rows.upsert_group_block(context.tx, context.agent.id, group_id, label, said, outside)
    return {"success": True}
