"""react_to_message: an emoji instead of words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.errors import BadArguments, ToolFailed
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.toolbox.messaging.spaces import reaches, space_of_message
from bullpen.tools import ToolContext, tool


@tool(effect="tx", act="reacted", changes=("message_id",), touches=space_of_message, grant="post")
async def react_to_message(
    context: ToolContext,
    message_id: Annotated[str, Field(description="The id of the message.")],
    emoji: Annotated[str, Field(description="One emoji.")],
) -> dict[str, Any]:
    """Add an emoji reaction to a message in one of your spaces. Often this says enough."""
    if not 1 <= len(emoji) <= 64 or "\x00" in emoji:
        raise BadArguments("emoji must have 1 to 64 characters.")
    message = await rows.select_message(context.tx, message_id)
    room = None if message is None else await rows.select_room(context.tx, message.space_id)
    if message is None or room is None or not await reaches(context, room.id, room.kind):
        raise ToolFailed(f"There is no message {message_id!r} in your spaces.")
    context.check_judged(room.id)
    spaces.refuse_archived(room)
    await spaces.react(context.tx, message, context.agent.id, emoji, run_id=context.run.id)
    return {"success": True}
