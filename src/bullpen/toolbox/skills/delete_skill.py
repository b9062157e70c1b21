"""delete_skill: a workflow is gone, and so is its command."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.errors import ToolFailed
from bullpen.skills import actions as skills
from bullpen.skills import rows
from bullpen.skills.types import Writer
from bullpen.toolbox.tasks.own import own_room
from bullpen.tools import ToolContext, tool


@tool(effect="tx", grant="post", wary=True, keeps=("name",))
async def delete_skill(
    context: ToolContext, name: Annotated[str, Field(max_length=200, description="The name of the skill.")]
) -> dict[str, Any]:
    """Delete a skill of this space. People cannot start it any more."""
    room = await own_room(context)
    await skills.turn(context.tx, room.id)
    skill = await rows.select_skill(context.tx, room.id, name)
    if skill is None:
        raise ToolFailed(f"There is no skill {name!r} here. list_skills shows those there are.")
    await skills.delete(context.tx, Writer(context.agent.id, "agent", context.agent.name, context.run.grants), skill)
    return {"name": name, "status": "deleted"}
