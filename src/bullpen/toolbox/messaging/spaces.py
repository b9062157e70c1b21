"""What the messaging tools share: which space is meant."""

from __future__ import annotations

from bullpen import ids
from bullpen.errors import ToolFailed
from bullpen.spaces import rows
from bullpen.spaces.types import Room
from bullpen.tools import ToolContext


async def member_room(context: ToolContext, space_id: str | None) -> Room:
    """The space that is named, else the active one; the agent must be a member of it."""
    wanted = space_id or context.space_id
    if wanted is None:
        raise ToolFailed(f"You are in no space now. Say which with spaceId. {await spaces_list(context)}")
    room = await rows.select_room(context.tx, ids.canonical_space(wanted))
    if room is None or not await rows.is_member(context.tx, room.id, context.agent.id):
        raise ToolFailed(f"You are not a member of a space {wanted!r}. {await spaces_list(context)}")
    return room


async def spaces_list(context: ToolContext) -> str:
    mine = await rows.select_spaces_of(context.tx, context.agent.id)
    if not mine:
        return "You are a member of no space."
    return "Your spaces: " + ", ".join(f"{id} ({kind})" for id, kind, _ in mine) + "."
