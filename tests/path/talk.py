"""A lot said at once, for tests that need a history."""

from __future__ import annotations

from collections.abc import Iterable

from bullpen.operations.say import author_of
from bullpen.spaces import actions as spaces
from bullpen.spaces.types import PostingRules
from bullpen.storage import Transaction
from tests.driver import Driver


async def talk(office: Driver, space: str, texts: Iterable[str]) -> None:
    """The owner says all this, in one transaction."""
    owner = await office.office.local_owner()
    said = list(texts)

    async def body(tx: Transaction) -> None:
        room = await spaces.writable_room(tx, owner, space)
        for text in said:
            await spaces.post(tx, room, author_of(owner), text, PostingRules())

    await office.office.store.transact(body)
