"""What comes in: an update of a bridge becomes a message of its space, once, by the person who wrote it.

One transaction: that the update was taken, who speaks, and the message. So an update that comes again, also after a
kill, changes nothing. Who speaks is access/accounts.py's; from there on it is a message like any other.
"""

from __future__ import annotations

from functools import partial

from pydantic import ValidationError

from bullpen.access import accounts
from bullpen.access import rows as access_rows
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.bridges.types import Received, Update
from bullpen.errors import Invalid, RequestError
from bullpen.events.actions import in_turn
from bullpen.inbox.types import Cause
from bullpen.operations.say import say_in
from bullpen.outbox import rows
from bullpen.spaces import actions as spaces
from bullpen.spaces import chats
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Author, PostingRules, Room
from bullpen.storage import Store, Transaction
from bullpen.wire.requests import CreateMessage

UNREGISTERED = "No space is this chat. Register it first."


async def receive(store: Store, posting: PostingRules, bridge: str, update: Update) -> Received:
    """What became of it."""
    try:
        return await store.transact(partial(_receive, posting=posting, bridge=bridge, update=update))
    except RequestError as error:
        refused = Received("refused", reason=error.message)
    return await store.transact(partial(_refuse, bridge=bridge, update=update, refused=refused))


async def _refuse(tx: Transaction, bridge: str, update: Update, refused: Received) -> Received:
    """Nothing of it was kept. It must not come again."""
    return refused if await rows.insert_update(tx, bridge, update.id) else Received("duplicate")


async def _receive(tx: Transaction, posting: PostingRules, bridge: str, update: Update) -> Received:
    chat = f"{bridge}:{update.address}"
    room = await _room_of(tx, chat)
    known = await access_rows.select_by_account(tx, bridge, update.account)
    turns = [f"account {bridge}:{update.account}", *([] if known is None else [known.id])]
    if room is None:
        await chats.report(tx, access.SYSTEM, chat, update.chat_name)
        new = await rows.insert_update(tx, bridge, update.id)
        return Received("unregistered" if new else "duplicate", reason=UNREGISTERED)
    await in_turn(tx, room.id, *turns)
    if not await rows.insert_update(tx, bridge, update.id):
        return Received("duplicate")
    speaker = await accounts.find_speaker(tx, bridge, update.account, update.account_name)
    await spaces.ensure_member(tx, room.id, speaker.id)  # who is in the chat is in the room
    request = await _request(tx, chat, update)
    said = await say_in(tx, room, _author(speaker, chat), request.text, posting, reply_to=request.reply_to)
    await rows.insert_remote(tx, chat, update.remote_id, space_id=room.id, message_id=said.draft.id, incoming=True)
    return Received("posted", said.draft.id)


async def _room_of(tx: Transaction, chat: str) -> Room | None:
    space_id = await chats.select_space_id(tx, chat)
    return None if space_id is None else await space_rows.select_room(tx, space_id)


def _author(speaker: Principal, chat: str) -> Author:
    cause = Cause("person", speaker.id, access.written(speaker.grants))
    return Author(id=speaker.id, kind="person", name=speaker.name, cause=cause, via=chat)


async def _request(tx: Transaction, chat: str, update: Update) -> CreateMessage:
    reply_to = None if update.reply_to is None else await rows.select_message_id(tx, chat, update.reply_to)
    try:
        return CreateMessage(text=update.text, reply_to=reply_to)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise Invalid(f"This cannot be a message here: {problem}.") from None
