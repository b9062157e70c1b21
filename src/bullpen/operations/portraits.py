"""The picture of a person or an agent: a file that somebody uploaded, shown small beside their name.

A portrait counts as one more message that shows the file, so the file stays as long as it is needed.
"""

from __future__ import annotations

from typing import Final

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.errors import Invalid, NotFound
from bullpen.files import actions as files
from bullpen.files import rows
from bullpen.files.rows import Owned
from bullpen.storage import Transaction
from bullpen.wire import Agent
from bullpen.wire.nouns import Person

FILE: Final = "fil_"  # an agent's avatar may also be a word or an emoji


async def change(tx: Transaction, caller: Principal, person: Person, file_id: str | None) -> None:
    """One's own picture. Null takes it away; whoever manages people may do that, too."""
    own = access.allows(caller, "change_person", Thing("person", person.id, holder=person.id))
    if not own and file_id is None:
        access.authorize(caller, "manage_people")
    else:
        access.authorize(caller, "change_person", Thing("person", person.id, holder=person.id))
    await _put(tx, caller, person.id, file_id)


async def change_for_agent(tx: Transaction, caller: Principal, agent: Agent) -> None:
    """The definition names a file, or a word, which needs no file. The caller may manage agents."""
    named = agent.avatar if agent.avatar is not None and agent.avatar.startswith(FILE) else None
    if named != await rows.select_portrait(tx, agent.id):
        await _put(tx, caller, agent.id, named)


async def _put(tx: Transaction, caller: Principal, holder_id: str, file_id: str | None) -> None:
    if file_id is None:
        await files.remove_portrait(tx, holder_id)
        return
    file = await rows.select_file(tx, file_id)
    if file is None or file.owner_id != caller.id:
        message = f"There is no file {file_id!r} of yours. Upload a picture first: POST /api/files."
        raise Invalid(message, fields={"avatar": f"unknown: {file_id}"})
    if file.thumbnail is None:
        raise Invalid("This file cannot be shown as a picture.", fields={"avatar": "is not a picture"})
    await files.put_portrait(tx, holder_id, file_id)


async def find(tx: Transaction, caller: Principal, holder_id: str) -> Owned:
    """The file of somebody's picture. Everybody who sees names sees pictures."""
    access.authorize(caller, "list_people")
    file_id = await rows.select_portrait(tx, holder_id)
    file = None if file_id is None else await rows.select_file(tx, file_id)
    if file is None:
        raise NotFound(f"There is no picture of {holder_id!r}.")
    return file
