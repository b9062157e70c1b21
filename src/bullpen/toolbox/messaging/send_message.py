"""send_message: the only way an agent speaks."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen import ids
from bullpen.errors import BadArguments
from bullpen.spaces import actions as spaces
from bullpen.toolbox.messaging.spaces import member_room, named_space, space_to_speak_in
from bullpen.tools import ToolContext, tool
from bullpen.tools.cards import author
from bullpen.tools.schema import Speaks
from bullpen.wire.requests import MAX_TEXT


@tool(
    effect="tx",
    act="spoke",
    aliases={"spaceId": ["channelId"], "text": ["content"]},
    changes=("space_id",),
    touches=named_space,
    grant="post",
    words=Speaks("text", "spaceId", MAX_TEXT, space_to_speak_in),
)
async def send_message(
    context: ToolContext,
    text: Annotated[str, Field(description="What to say. Everyone in the space sees it at once.")],
    space_id: Annotated[
        str | None, Field(description="The id of a space you are a member of. Left out: the space you are in.")
    ] = None,
    reply_to: Annotated[str | None, Field(description="The id of the message this answers.")] = None,
) -> dict[str, Any]:
    """Send a message to the space you are in, or to another one you are a member of. People see it at once.

    You may call this several times, or not at all.
    """
    if not text.strip() or len(text) > MAX_TEXT or "\x00" in text:
        raise BadArguments(f"text must have 1 to {MAX_TEXT} characters and say something.")
    room = await member_room(context, space_id)
    draft = await spaces.post(
        context.tx,
        room,
        author(context.run),
        text,
        context.means.posting,
        id=ids.message_for(context.call_id),
        reply_to=reply_to,
    )
    context.effects.message_id = draft.id
    return {"messageId": draft.id, "status": "sent", "spaceId": room.id}
