"""read_messages: everything that was said, further back than the transcript shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from bullpen import ids
from bullpen.meaning.types import NOTHING, Looked
from bullpen.spaces import rows
from bullpen.spaces.speakers import concern_speakers, names_in, read_words
from bullpen.storage import Transaction
from bullpen.toolbox.messaging.spaces import member_room, named_space
from bullpen.tools import ToolContext, tool
from bullpen.tools.outside import of_messages
from bullpen.wire import Message
from bullpen.wire.nouns import Reaction

RELATED = 5
FLOOR = 0.3  # how near a message must be that holds none of the words


async def look_for_meaning(
    context: ToolContext, space_id: str | None = None, offset: int = 0, limit: int = 20, query: str | None = None
) -> Looked:
    """Before the transaction: messages that mean something like the query."""
    wanted, looking = space_id or context.space_id, context.means.meaning
    if looking is None or wanted is None or offset or query is None or not query.strip():
        return NOTHING
    return await looking.look("message", [ids.canonical_space(wanted)], query, RELATED)


@tool(
    effect="tx",
    act=None,
    aliases={"spaceId": ["channelId"]},
    touches=named_space,
    grant="read_space",
    prepare=look_for_meaning,
)
async def read_messages(
    context: ToolContext,
    space_id: Annotated[str | None, Field(description="Left out: the space you are in.")] = None,
    offset: Annotated[int, Field(ge=0, le=10**9, description="How many of the newest messages to pass over.")] = 0,
    limit: Annotated[int, Field(ge=1, le=100, description="How many to read.")] = 20,
    query: Annotated[
        str | None, Field(max_length=1000, description="Only messages that contain this text, in any case.")
    ] = None,
) -> dict[str, Any]:
    """Read messages of a space you are a member of, oldest first. The newest ones, or further back with an offset.

    With a query, searches the whole history of the space.
    """
    room = await member_room(context, space_id)
    if query is not None and query.strip():
        found = await rows.search_messages(context.tx, room.id, query.strip(), offset=offset, limit=limit)
    else:
        # Numbers have no gaps, so an offset is a subtraction however long the history is.
        before = room.last_seq - offset + 1
        found = await rows.select_messages(context.tx, room.id, before=before, limit=limit) if before > 1 else []
    looked: Looked = context.prepared or NOTHING
    related = await _related(context.tx, room.id, looked, found)
    context.effects.outside = of_messages([*found, *related])
    await concern_speakers(context.tx, [*found, *related])
    names = await names_in(context.tx, [*found, *related])
    shown = {"spaceId": room.id, "total": room.last_seq, "messages": [_shown(m, names) for m in found]}
    if related:
        shown["related"] = [_shown(m, names) for m in related]
    if looked.note is not None:
        shown["note"] = looked.note
    return shown


async def _related(tx: Transaction, space_id: str, looked: Looked, found: Sequence[Message]) -> list[Message]:
    """Those that hold none of the words, the nearest first. Looked at again: whether they are there, and here."""
    near = [each.id for each in looked.near if each.similarity >= FLOOR and looked.understood]
    known = {message.id for message in found}
    return [
        message
        for message in await rows.select_these(tx, near)
        if message.space_id == space_id and message.deleted_at is None and message.id not in known
    ]


def _shown(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": message.id,
        "seq": message.seq,
        "from": names.get(message.author_id, message.author_id),
        "text": read_words(message, names),
        "at": message.created_at,
    }
    if message.type == "tool":
        shown["type"] = "card"
    if message.deleted_at is not None:
        shown["deleted"] = True
    if message.attachments:
        shown["attachments"] = list_files(message)
    if message.reactions:
        shown["reactions"] = [{"emoji": _emoji(r), "count": len(r.member_ids)} for r in message.reactions]
    return shown


def list_files(message: Message) -> list[dict[str, Any]]:
    """What a message shows: by its id a tool reads it."""
    return [{"id": file.id, "name": file.name, "type": file.type, "size": file.size} for file in message.attachments]


def _emoji(reaction: Reaction) -> str:
    """As it is, unless it says something in words that only agents wrote: they carry no sources."""
    says = any(sign.isalpha() for sign in reaction.emoji)
    return reaction.emoji if not says or any(id.startswith("psn_") for id in reaction.member_ids) else "(words)"
