"""What the messaging tools share: which space is meant, and in whose name an agent speaks."""

from __future__ import annotations

from bullpen import ids
from bullpen.access import rules as access
from bullpen.errors import ToolFailed
from bullpen.inbox.types import Cause
from bullpen.spaces import rows
from bullpen.spaces.types import Author, Room
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


def author(context: ToolContext) -> Author:
    """The agent, on behalf of whoever caused the run: rights only shrink along a chain of work."""
    run = context.run
    grants = access.written(access.parsed(run.grants) & access.AGENT)
    return Author(
        id=context.agent.id,
        kind="agent",
        name=context.agent.name,
        cause=Cause(run.cause_kind, run.cause_id, grants),
        run_id=run.id,
        depth=run.depth,
        chain_id=run.chain_id,
    )
