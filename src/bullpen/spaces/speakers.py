"""Whose secrets a run has to do with when it reads messages.

What an agent said may hold a secret of whoever it spoke for; what a person wrote, one of their own. The second is
masked in their words alone: a secret of theirs must not change what others wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from bullpen.observe.redact import REDACTOR, involve, owner
from bullpen.spaces import rows
from bullpen.storage import Transaction
from bullpen.wire import Message


def own_words(message: Message) -> str:
    if message.author_kind != "person":
        return message.text
    return REDACTOR.clean_own(message.text, owner("person", message.author_id))


async def concern_speakers(tx: Transaction, messages: Sequence[Message]) -> None:
    run_ids = sorted({message.run_id for message in messages if message.run_id is not None})
    involve(*(owner("space", message.space_id) for message in messages[:1]))
    if run_ids and REDACTOR.owns("person"):
        involve(*(owner("person", id) for id in await rows.select_people_spoken_for(tx, run_ids)))
