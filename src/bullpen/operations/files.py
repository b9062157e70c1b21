"""Keep an uploaded file: may the caller put it there, how much fits, and its row in the space or with its owner.

The bytes come before the row, and the doors stream them, each in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.files import actions, rows, rules
from bullpen.files.types import Counter, Kept
from bullpen.settings import FileSettings
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire.nouns import File, Thumbnail


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an upload goes, and how many bytes fit there."""

    space_id: str | None  # None: it is its owner's, until a message of theirs shows it
    counter: Counter
    left: int
    client_file_id: str | None = None


async def find_destination(
    tx: Transaction, caller: Principal, space_id: str | None, client_file_id: str | None, limits: FileSettings
) -> Destination:
    """Before a byte is read: may the caller put a file there, and how large may it be?"""
    if space_id is None:
        access.authorize(caller, "upload_file")
    else:
        space_id = (await spaces.writable_room(tx, caller, space_id)).id
    counter = rules.counter_of(space_id, caller.kind, caller.id)
    used = await rows.select_usage(tx, counter)
    left = rules.room_left(counter, used, limits)
    if client_file_id is not None and (known := await rows.select_by_client_id(tx, caller.id, client_file_id)):
        left = max(left, known.size)  # it is counted already, and may be what has filled the room
    return Destination(space_id, counter, left, client_file_id)


async def add(
    tx: Transaction,
    caller: Principal,
    id: str,
    name: str,
    kept: Kept,
    destination: Destination,
    *,
    thumbnail: Thumbnail | None,
    limits: FileSettings,
) -> File:
    """The row of a file whose bytes are kept. A repeated `client_file_id` gives the file that is there."""
    if destination.space_id is not None:  # it may be another space by now, or none
        await spaces.writable_room(tx, caller, destination.space_id)
    return await actions.add(
        tx,
        id,
        name,
        kept,
        owner_kind=caller.kind,
        owner_id=caller.id,
        space_id=destination.space_id,
        thumbnail=thumbnail,
        limits=limits,
        client_file_id=destination.client_file_id,
    )
