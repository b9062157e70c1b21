"""enter_space: be somewhere, so that what you say and show appears there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from bullpen.spaces import rows
from bullpen.spaces.speakers import concern_speakers, names_in, read_words
from bullpen.tasks import times
from bullpen.threads import actions as threads
from bullpen.toolbox.messaging.read_messages import list_files
from bullpen.toolbox.messaging.spaces import member_room, named_space
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import of_messages
from bullpen.wire import Message

HISTORY = 20


@tool(effect="tx", act=None, aliases={"spaceId": ["channelId"]}, touches=named_space, grant="read_space")
async def enter_space(
    context: ToolContext,
    space_id: Annotated[str, Field(description="The id of a space you are a member of.")],
) -> dict[str, Any]:
    """Enter a space: it becomes the space you are in, and you get its latest messages."""
    room = await member_room(context, space_id)
    threads.enter(context.tx, context.run.thread_id, room.id)
    context.effects.moved, context.effects.space_id = True, room.id
    latest = await rows.select_messages(context.tx, room.id, limit=HISTORY)
    context.effects.outside = of_messages(latest)
    await concern_speakers(context.tx, latest)
    names = await names_in(context.tx, latest)
    said = [_shown(message, names) for message in latest]
    zone = await rows.select_timezone(context.tx, room.id) or context.means.tasks.timezone
    local = times.local(context.tx.clock.millis(), zone)
    clock = {"timezone": zone, "localTime": local}
    return {"spaceId": room.id, "name": room.name, "kind": room.kind, **clock, "messages": said}


def _shown(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": message.id, "from": names.get(message.author_id, message.author_id)}
    shown["text"] = read_words(message, names)
    if message.attachments:
        shown["attachments"] = list_files(message)
    return {**shown, "type": "card"} if message.type == "tool" else shown
