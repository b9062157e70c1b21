"""The event stream: SSE over a bounded buffer.

Headers go out after the follower is registered, so whatever commits after them is delivered. A client that does not
read is dropped: writing to it is cancelled, and it comes back with its cursor.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.types import Receive, Scope, Send

from bullpen.api.door import Caller, Office, Store
from bullpen.events.feed import Feed, Follower
from bullpen.spaces import actions as spaces

router = APIRouter(tags=["events"])

SCHEMA = {"$ref": "#/components/schemas/AnyEvent"}  # added to the description in server.py
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"connection", b"close"),  # a client sees at once that a stream has ended
]


class EventStream(Response):
    def __init__(
        self, feed: Feed, follower: Follower, chunks: AsyncIterator[bytes], on_end: Callable[[], None]
    ) -> None:
        self._on_end = on_end
        self._feed = feed
        self._follower = follower
        self._chunks = chunks
        self.background = None
        self.status_code = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.ensure_future(self._write(send))
        leaving = asyncio.ensure_future(_gone(receive))
        self._follower.on_drop = writing.cancel
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._on_end()
            writing.cancel()
            leaving.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)
            self._feed.leave(self._follower)
            await self._chunks.aclose()  # type: ignore[attr-defined]

    async def _write(self, send: Send) -> None:
        headers = [*HEADERS, (b"last-event-id", self._follower.began.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._feed.arrive(self._follower)
        async for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@router.get("/events", response_class=Response, responses={200: {"content": {"text/event-stream": {"schema": SCHEMA}}}})
async def follow_events(
    request: Request,
    caller: Caller,
    office: Office,
    store: Store,
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
    run_id: Annotated[str | None, Query(alias="runId", max_length=200)] = None,
    after: Annotated[str | None, Query(max_length=200)] = None,
    last_event_id: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """What happens, as it happens. `Last-Event-ID` (or `after`) goes on from there; without, the stream starts now."""
    if space_id is not None:
        space_id = (await store.read(partial(spaces.readable_room, principal=caller, id=space_id))).id
    streams = office.limits.streams
    streams.enter(caller.id)
    with ExitStack() as entered:
        entered.callback(streams.leave, caller.id)
        follower, chunks = await office.feed.follow(
            caller, space_id=space_id, run_id=run_id, after=last_event_id or after
        )
        return EventStream(office.feed, follower, chunks, entered.pop_all().close)
