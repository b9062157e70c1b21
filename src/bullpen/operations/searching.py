"""Finding messages for a caller: by their words, by what they mean, or by both.

What means the same is looked for before the rows are read, since a model has to be asked; then everything that was
found is looked at again as the caller may see it now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from bullpen.access.types import Principal
from bullpen.errors import Invalid
from bullpen.meaning import rules
from bullpen.meaning.looking import Looking
from bullpen.meaning.types import Looked
from bullpen.spaces import actions as spaces
from bullpen.spaces import finding, rows
from bullpen.spaces.finding import Search
from bullpen.storage import Transaction, words
from bullpen.storage.store import Transacts
from bullpen.wire import Message
from bullpen.wire.nouns import FoundMessage, SearchMode

# Messages that hold all words, of which the ranking is made together with those that mean the same.
WORDED: Final = 100
NO_MODEL: Final = "No model for search by meaning is set up here, so only words were searched."


@dataclass(slots=True)
class Page:
    items: list[FoundMessage] = field(default_factory=list)
    next: str | None = None
    note: str | None = None
    behind: bool = False


async def find_messages(
    store: Transacts,
    looking: Looking | None,
    caller: Principal,
    question: str,
    asked: Search,
    *,
    space_id: str | None,
    mode: SearchMode,
) -> Page:
    """`asked` says everything but the places: those are the spaces that the caller may read, or the one."""
    if mode != "keyword" and asked.cursor is not None:
        raise Invalid("A search by meaning has one page. Leave out the cursor, or search by keyword.")
    if mode == "meaning" and looking is None:
        raise Invalid(f"{NO_MODEL} Leave out the mode, or set BULLPEN_EMBEDDINGS__PROVIDER.")
    find_places = partial(_places, caller=caller, space_id=space_id)
    if mode == "keyword" or looking is None:

        async def body(tx: Transaction) -> Page:
            return await _find_words(tx, replace(asked, spaces=await find_places(tx)))

        page = await store.read(body)
        page.note = NO_MODEL if mode != "keyword" else None
        return page

    looked = await looking.look("message", await store.read(find_places), question)

    async def fused(tx: Transaction) -> Page:
        return await _find_fused(tx, replace(asked, spaces=await find_places(tx)), looked, mode)

    return await store.read(fused)


async def _places(tx: Transaction, caller: Principal, space_id: str | None) -> list[str]:
    """Where to look. A space that the caller may not know of is refused as everywhere else."""
    if space_id is not None:
        return [(await spaces.readable_room(tx, caller, space_id)).id]
    return sorted(await spaces.readable(tx, caller, None))


async def _find_words(tx: Transaction, asked: Search) -> Page:
    found = await finding.search(tx, asked)
    items = [_shown(message, asked.phrases, None) for message in await rows.select_these(tx, found.ids)]
    return Page(items, found.next)


async def _find_fused(tx: Transaction, asked: Search, looked: Looked, mode: SearchMode) -> Page:
    worded = [] if mode == "meaning" else (await finding.search(tx, replace(asked, limit=WORDED))).ids
    near = await rows.select_these(tx, [each.id for each in looked.near])
    fitting = {message.id for message in near if _fits(message, asked)}
    ranked = rules.fuse(
        [rules.Worded(id) for id in worded],
        [each for each in looked.near if each.id in fitting],
        understood=looked.understood,
        limit=asked.limit,
    )
    messages = await rows.select_these(tx, [each.id for each in ranked])
    similar = {each.id: each.similarity for each in ranked}
    items = [_shown(message, asked.phrases, similar[message.id]) for message in messages]
    return Page(items, None, looked.note, looked.behind)


def _fits(message: Message, asked: Search) -> bool:
    """The same that a search by words asks of a message, but for the words."""
    return (
        message.space_id in asked.spaces
        and message.deleted_at is None
        and asked.author_id in (None, message.author_id)
        and asked.type in (None, message.type)
        and asked.since < message.created_at < asked.until
    )


def _shown(message: Message, phrases: Sequence[words.Phrase], similarity: float | None) -> FoundMessage:
    part, highlights = finding.snippet(finding.words_of(message), phrases)
    similar = None if similarity is None else round(similarity, 3)
    return FoundMessage(**message.model_dump(), snippet=part, highlights=highlights, similarity=similar)
