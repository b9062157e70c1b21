"""What the messaging tools share: which space is meant, and whether the run may act there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen import ids
from bullpen.access import rules as access
from bullpen.errors import ToolFailed
from bullpen.inbox import rows as inbox_rows
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.spaces.types import Room
from bullpen.tools import ToolContext


async def named_space(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    """Which space a call touches that may name one: that one, else the active one."""
    wanted = args.get("space_id") or context.space_id
    return [] if wanted is None else [ids.canonical_space(wanted)]


async def space_of_message(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    message = await rows.select_message(context.tx, args["message_id"])
    return [] if message is None else [message.space_id]


async def member_room(context: ToolContext, space_id: str | None) -> Room:
    """The space that is named, else the active one; the run must reach it."""
    wanted = space_id or context.space_id
    if wanted is None:
        raise ToolFailed(f"You are in no space now. Say which with spaceId. {await spaces_list(context)}")
    room = await rows.select_room(context.tx, ids.canonical_space(wanted))
    if room is not None and await reaches(context, room.id, room.kind):
        context.check_judged(room.id)
        return room
    if context.run.stays_in is not None:
        raise ToolFailed(f"You are running in the group {context.run.stays_in!r} and cannot use {wanted!r} from here.")
    # The same for a space that is not there: nobody learns from it which groups there are.
    raise ToolFailed(
        f"You are not a member of a space {wanted!r}, or those you work for now are not. {await spaces_list(context)}"
    )


async def space_to_speak_in(context: ToolContext, named: str | None) -> str | None:
    """Where the words of a call would be posted now. None: nowhere. Not named, it is the active space, but only for an
    agent that could not name another one later."""
    if not named and context.run.stays_in is None and await rows.is_in_several(context.tx, context.agent.id):
        return None
    try:
        room = await member_room(context, named)
    except ToolFailed:
        return None
    return room.id if await spaces.may_agents_speak(context.tx, room.id, context.means.posting) else None


async def reaches(context: ToolContext, space_id: str, kind: str) -> bool:
    """May the run act in this space? Its agent must be a member, and nobody gets into a group by way of an agent.

    A run in a group stays there. Any other reaches a group that it was not woken in only for members of that group, or
    for somebody who manages groups from the main group.
    """
    run = context.run
    if run.stays_in not in (None, space_id):
        return False
    if not await rows.is_member(context.tx, space_id, run.agent.id):
        return False
    if kind != "group" or (run.home is not None and run.home.id == space_id) or manages_groups(context):
        return True
    return await inbox_rows.are_members(context.tx, space_id, run.id, run.cause.id)


def manages_groups(context: ToolContext) -> bool:
    """Does the run work in the main group, for somebody who may register groups? No other holds that right."""
    return "register_group" in access.parsed(context.run.grants)


async def spaces_list(context: ToolContext) -> str:
    mine = [
        (id, kind)
        for id, kind, _ in await rows.select_spaces_of(context.tx, context.agent.id)
        if await reaches(context, id, kind)
    ]
    if not mine:
        return "You are a member of no space."
    return "Your spaces: " + ", ".join(f"{id} ({kind})" for id, kind in mine) + "."
