"""What the memory of a space has to do with Supermemory, if a key is set: sending before it is kept, asking, joining.

Our own passages are the truth (decision 0044). What is asked and sent here is bounded in time by memory/supermemory.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from bullpen import ids
from bullpen.errors import KeyMissing, SecretInvalid, ToolFailed
from bullpen.memory import actions as memory
from bullpen.memory import copies
from bullpen.memory.copies import Attempt
from bullpen.memory.rules import Place, space_scope
from bullpen.memory.supermemory import Hit, Supermemory, SupermemoryFailed, container_of
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.tools import ToolContext
from bullpen.variables.types import Value

NO_KEY: Final = "Supermemory needs a key. Ask the owner of this office to set SUPERMEMORY_API_KEY."
# Reciprocal rank fusion: what stands high in either list comes first.
_RANK: Final = 60


@dataclass(frozen=True, slots=True)
class Account:
    key: Value
    container: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What Supermemory found, or why it did not answer."""

    hits: Sequence[Hit]
    problem: str | None = None


async def find_account(context: ToolContext, space_id: str) -> Account | None:
    """None: what is saved in this office is kept here alone."""

    async def look(reading: ToolContext) -> Account | None:
        key = await copies.find_key(reading.tx, context.means.supermemory)
        return None if key is None else Account(key, container_of(await _name_container(reading.tx, space_id)))

    found = await context.look(look)
    if found is None and context.means.supermemory.engine == "supermemory":
        raise ToolFailed(NO_KEY)
    return found


async def _name_container(tx: Transaction, space_id: str) -> str:
    """By its folder; by both names if the folder is called as another space is."""
    folder = await space_rows.select_folder(tx, space_id)
    if folder is None or folder == space_id:
        return space_id
    return folder if await space_rows.select_room(tx, folder) is None else f"{folder}.{space_id}"


async def send_first(context: ToolContext, place: Place, content: str, metadata: Mapping[str, str]) -> Attempt | None:
    """Send what is about to be kept, under the id that it will have. None: it is not to be sent, or was before."""
    assert place.space_id is not None
    account = await find_account(context, place.space_id)
    if account is None:
        return None
    same = await context.look(lambda reading: memory.find_same(reading.tx, place, content))
    if same is not None:
        return None
    id = ids.passage_for(context.call_id)
    failure = await _send(context.means.supermemory, account, id, content, metadata)
    return Attempt(id, account.container, failure)


async def _send(
    supermemory: Supermemory, account: Account, id: str, content: str, metadata: Mapping[str, str]
) -> SupermemoryFailed | None:
    try:
        await supermemory.keep(account.key, account.container, id, content, metadata)
    except SupermemoryFailed as failure:
        return failure
    except (KeyMissing, SecretInvalid) as error:
        return SupermemoryFailed(error.message)
    return None


async def ask(context: ToolContext, space_id: str, query: str, limit: int) -> Answer | None:
    """None: Supermemory is not used, or there is nothing to look for."""
    account = await find_account(context, space_id)
    if account is None or not query.strip():
        return None
    try:
        return Answer(await context.means.supermemory.find(account.key, account.container, query, limit))
    except SupermemoryFailed as failure:
        return Answer((), failure.message)
    except (KeyMissing, SecretInvalid) as error:
        return Answer((), error.message)


def host_of(supermemory: Supermemory) -> str:
    """The source of what only Supermemory knows."""
    return urlsplit(supermemory.url).hostname or "supermemory"


async def join(
    context: ToolContext, space_id: str, own: Sequence[memory.Found], hits: Sequence[Hit], limit: int
) -> tuple[list[memory.Found], list[dict[str, Any]]]:
    """Our own passages among both lists, and all results as the model reads them, the best first."""
    place = Place(space_scope(space_id), space_id, space_id)
    ranks: dict[str, float] = {}
    shown: dict[str, dict[str, Any]] = {}
    passages = {each.stored.id: each for each in own}
    for rank, each in enumerate(own):
        ranks[each.stored.id] = 1 / (_RANK + rank)
        shown[each.stored.id] = show(each)
    for rank, hit in enumerate(hits):
        same = await memory.find_same(context.tx, place, hit.content)
        if same is not None and not memory.is_in_force(context.tx.clock, same):
            continue  # it is about to be dropped there, too
        id = f"supermemory {rank}" if same is None else same.id
        if same is not None and id not in passages:
            passages[id] = memory.Found(same, hit.similarity)
            shown[id] = show(passages[id])
        elif same is None:
            shown[id] = {"content": hit.content, "metadata": dict(hit.metadata), "source": "supermemory"}
        shown[id]["similarity"] = max(hit.similarity, shown[id].get("similarity", 0.0))
        ranks[id] = ranks.get(id, 0.0) + 1 / (_RANK + rank)
    best = sorted(ranks, key=lambda id: -ranks[id])[:limit]
    return [passages[id] for id in best if id in passages], [shown[id] for id in best]


def show(found: memory.Found) -> dict[str, Any]:
    stored = found.stored
    said: dict[str, Any] = {"id": stored.id, "content": stored.content, "metadata": stored.metadata}
    near = found.score if found.similarity is None else round(found.similarity, 3)
    similarity = {} if near is None else {"similarity": near}
    return {**said, "createdAt": stored.created_at, **similarity}
