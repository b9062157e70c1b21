"""Search over messages: only in the spaces that the caller may read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Cursor, Limit, Page, answer
from bullpen.errors import Invalid
from bullpen.operations.searching import find_messages
from bullpen.spaces import finding
from bullpen.storage import words
from bullpen.wire.nouns import FoundMessage, MessageType, SearchMode

router = APIRouter(route_class=CappedRoute, tags=["messages"])

When = Annotated[str | None, Query(max_length=40, description="A time (RFC 3339), or a date in UTC.")]


class FoundPage(Page[FoundMessage]):
    behind: bool | None = None
    note: str | None = None


@router.get("/search", response_model=FoundPage)
async def search(
    caller: Caller,
    served: Office,
    store: Store,
    q: Annotated[str, Query(max_length=1000, description="Words, in any order; a phrase in quotes.")],
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
    author_id: Annotated[str | None, Query(alias="authorId", max_length=200)] = None,
    type: MessageType | None = None,
    before: When = None,
    after: When = None,
    mode: SearchMode = "keyword",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Messages that hold all these words, newest first. A page may be short while `next` says that there is more.

    With `mode=fused` those that mean something alike as well, the best first, on one page; with `mode=meaning` those
    alone. `note` says what was not searched, and `behind` that some messages have not been read for their meaning yet.
    """
    asked = finding.Search(
        words.parse(q),
        (),
        author_id=author_id,
        type=type,
        since=_time(after, "after", ""),
        until=_time(before, "before", finding.LAST_TIME),
        cursor=cursor,
        limit=limit,
    )
    found = await find_messages(store, served.meaning, caller, q, asked, space_id=space_id, mode=mode)
    more: dict[str, Any] = {} if found.next is None else {"next": found.next}
    if mode != "keyword":
        more |= {"behind": found.behind, **({} if found.note is None else {"note": found.note})}
    return answer({"items": found.items, **more})


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
