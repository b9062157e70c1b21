"""Search over messages: only in the spaces that the caller may read, and newest first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Store
from bullpen.api.pages import Cursor, Limit, Page, answer
from bullpen.errors import Invalid
from bullpen.spaces import actions as spaces
from bullpen.spaces import finding, rows
from bullpen.storage import Transaction, words
from bullpen.wire import Message
from bullpen.wire.nouns import FoundMessage, MessageType

router = APIRouter(route_class=CappedRoute, tags=["messages"])

When = Annotated[str | None, Query(max_length=40, description="A time (RFC 3339), or a date in UTC.")]


@router.get("/search", response_model=Page[FoundMessage])
async def search(
    caller: Caller,
    store: Store,
    q: Annotated[str, Query(max_length=1000, description="Words, in any order; a phrase in quotes.")],
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
    author_id: Annotated[str | None, Query(alias="authorId", max_length=200)] = None,
    type: MessageType | None = None,
    before: When = None,
    after: When = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Messages that hold all these words, newest first. A page may be short while `next` says that there is more."""
    phrases = words.parse(q)
    times = {"since": _time(after, "after", ""), "until": _time(before, "before", finding.LAST_TIME)}

    async def body(tx: Transaction) -> dict[str, Any]:
        asked = finding.Search(
            phrases,
            await _places(tx, caller, space_id),
            author_id=author_id,
            type=type,
            cursor=cursor,
            limit=limit,
            **times,
        )
        found = await finding.search(tx, asked)
        items = [_shown(message, phrases) for message in await rows.select_these(tx, found.ids)]
        return {"items": items, **({"next": found.next} if found.next is not None else {})}

    return answer(await store.read(body))


async def _places(tx: Transaction, caller: Principal, space_id: str | None) -> list[str]:
    """Where to look. A space that the caller may not know of is refused as everywhere else."""
    if space_id is not None:
        return [(await spaces.readable_room(tx, caller, space_id)).id]
    return sorted(await spaces.readable(tx, caller, None))


def _shown(message: Message, phrases: list[words.Phrase]) -> FoundMessage:
    part, highlights = finding.snippet(finding.words_of(message), phrases)
    return FoundMessage(**message.model_dump(), snippet=part, highlights=highlights)


def _time(said: str | None, name: str, otherwise: str) -> str:
    """As it is stored. A time must say its zone; a date alone begins at midnight UTC."""
    if said is None:
        return otherwise
    try:
        time = datetime.fromisoformat(said)
        if time.tzinfo is None and len(said) > len("2026-01-31"):
            raise ValueError
        there = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{said!r} is no time. Write it like 2026-01-31T09:00:00Z, or a date like 2026-01-31.",
            fields={name: "is no time with a zone, and no date"},
        ) from None
    return there.isoformat(timespec="microseconds").replace("+00:00", "Z")
