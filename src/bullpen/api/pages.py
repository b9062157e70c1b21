"""Answers: one noun, or a page of them. Encoded here, once, and not checked again on the way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

import orjson
from fastapi import Query, Response

from bullpen.events.actions import encode
from bullpen.wire import Wire

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=200, description="How many, at most 200.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next` of the page before.")]

# Sorts after every id and every time, so "before this" is everything.
LAST = "\U0010ffff"


class Page(Wire, Generic[T]):
    items: list[T]
    next: str | None = None


def answer(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value, default=encode), status, media_type="application/json")


def page(items: Sequence[Any], limit: int, key: Callable[[Any], str], **more: Any) -> Response:
    """Newest first; `next` names the place of the last one when there may be more."""
    found: dict[str, Any] = {"items": list(items), **more}
    if len(items) == limit:
        found["next"] = key(items[-1])
    return answer(found)
