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
    if room is not None and await reaches(context, room.id):
        return room
    if context.run.stays_in is not None:
        raise ToolFailed(
            f"You work for the group {context.run.stays_in!r} now, and {wanted!r} is none of its business."
        )
    raise ToolFailed(f"You are not a member of a space {wanted!r}. {await spaces_list(context)}")


async def reaches(context: ToolContext, space_id: str) -> bool:
    """Is the agent a member of it, and may its run act there?"""
    if context.run.stays_in not in (None, space_id):
        return False
    return await rows.is_member(context.tx, space_id, context.agent.id)


async def spaces_list(context: ToolContext) -> str:
    mine = await rows.select_spaces_of(context.tx, context.agent.id)
    mine = [space for space in mine if context.run.stays_in in (None, space[0])]
    if not mine:
        return "You are a member of no space."
    return "Your spaces: " + ", ".join(f"{id} ({kind})" for id, kind, _ in mine) + "."
