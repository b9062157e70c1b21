"""Whose secrets a run has to do with when it reads messages.

What an agent said may hold a secret of whoever it spoke for; what a person wrote, one of their own. The second is
masked in their words alone: a secret of theirs must not change what others wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bullpen.agents import rows as agent_rows
from bullpen.observe.redact import REDACTOR, involve, owner
from bullpen.spaces import rows
from bullpen.storage import Transaction
from bullpen.wire import Message, cards


def own_words(message: Message) -> str:
    if message.author_kind != "person":
        return message.text
    return REDACTOR.clean_own(message.text, owner("person", message.author_id))


def own_answer(card: Mapping[str, Any]) -> Mapping[str, Any]:
    """A card, with the secrets of the person who answered it masked in their answer."""
    if "result" not in card or "answeredBy" not in card:
        return card
    return {**card, "result": REDACTOR.clean_own(card["result"], owner("person", card["answeredBy"]))}


async def names_in(tx: Transaction, messages: Sequence[Message]) -> dict[str, str]:
    """Of all who say something in these, by id; also of those who answered a card."""
    named = {message.author_id for message in messages}
    return await agent_rows.select_names(tx, sorted(named.union(*(people_of(each.metadata) for each in messages))))


def read_words(message: Message, names: Mapping[str, str]) -> str:
    """What a message says, for an agent that reads it. A card says which call it is and what came of it."""
    if message.type != "tool" or message.deleted_at is not None:
        return own_words(message)
    card = own_answer(cards.keep(message.metadata))
    return cards.read(card, message.status, lambda id: names.get(id, id))


def people_of(card: Mapping[str, Any]) -> list[str]:
    """Whose names a card says."""
    return [card[name] for name in ("answeredBy", "approvedBy") if name in card]


async def concern_speakers(tx: Transaction, messages: Sequence[Message]) -> None:
    run_ids = sorted({message.run_id for message in messages if message.run_id is not None})
    involve(*(owner("space", message.space_id) for message in messages[:1]))
    if run_ids and REDACTOR.owns("person"):
        involve(*(owner("person", id) for id in await rows.select_people_spoken_for(tx, run_ids)))
