"""send_file: a file of the agent's folder, as an attachment of a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from bullpen import ids
from bullpen.errors import BadArguments, ToolFailed
from bullpen.files import actions as files
from bullpen.files import copying, rules, sources
from bullpen.files.paths import names_of
from bullpen.files.types import Kept
from bullpen.spaces import actions as spaces
from bullpen.toolbox.messaging.spaces import member_room, named_space
from bullpen.tools import ToolContext, tool
from bullpen.tools.cards import author
from bullpen.tools.outside import together
from bullpen.wire.nouns import Thumbnail
from bullpen.wire.requests import MAX_TEXT

SECONDS = 120  # the storage may be far away, and the file large


@dataclass(frozen=True, slots=True)
class Copied:
    id: str
    path: str
    kept: Kept
    thumbnail: Thumbnail | None


async def copy_out(context: ToolContext, path: str, caption: str | None) -> Copied:
    """Before the transaction: keep the bytes under an id that the call names, so that doing it again is harmless."""
    if caption is not None and (len(caption) > MAX_TEXT or "\x00" in caption):
        raise BadArguments(f"caption must have at most {MAX_TEXT} characters.")
    if context.space_id is None:
        raise ToolFailed("You are in no space now, so nobody would get the file. Call enter_space first.")
    means, id = context.means, ids.file_for(context.call_id)
    most = means.posting.files.file_bytes or rules.FOREVER
    kept = await copying.to_blob(means.folders, context.run.folder_id, path, means.blobs, id, most=most)
    type = rules.type_of(kept.head, kept.size)
    return Copied(id, path, kept, await means.thumbnails.make(id, type, kept.size))


@tool(
    effect="tx",
    act="spoke",
    changes=("space_id",),
    touches=named_space,
    grant="post",
    timeout_ms=SECONDS * 1000,
    prepare=copy_out,
)
async def send_file(
    context: ToolContext,
    path: Annotated[str, Field(description="Where the file is in your folder: /workspace/report.pdf")],
    caption: Annotated[str | None, Field(description="What to say with it. May be left out.")] = None,
) -> dict[str, Any]:
    """Send a file from your folder to the space you are in, with a caption if you like. People see it at once.

    Everyone there gets a copy as it is now: what you change in the file afterwards, they do not see.
    """
    copied: Copied = context.prepared
    room = await member_room(context, None)
    posting = context.means.posting
    came_from = await sources.find(context.tx, context.run.folder_id, copied.path, copied.kept.sha256)
    file = await files.add(
        context.tx,
        copied.id,
        names_of(copied.path)[-1],
        copied.kept,
        owner_kind="agent",
        owner_id=context.agent.id,
        space_id=room.id,
        thumbnail=copied.thumbnail,
        limits=posting.files,
        outside=together(context.run.outside, came_from),
    )
    draft = await spaces.post(
        context.tx,
        room,
        author(context.run),
        (caption or "").strip(),
        posting,
        id=ids.message_for(context.call_id),
        attachments=[file.id],
    )
    context.effects.message_id = draft.id
    return {"messageId": draft.id, "fileId": file.id, "status": "sent", "spaceId": room.id}
