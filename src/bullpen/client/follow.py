"""Following events: one endless, gap-free sequence over connections that come and go.

The cursor of the last event handed out is the only memory. A lost connection is opened again from there, so stored
events are neither repeated nor skipped; live ones (typing, partial text) are seen by whoever is connected. When the
server no longer knows the cursor it says `reset`, which is handed out like any event: load again, then go on.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx

from bullpen.client.connection import PASSING, Connection, Unreachable, path, pause
from bullpen.wire import Message, Run
from bullpen.wire.errors import ApiError
from bullpen.wire.events import RESET, AnyEvent, parse_event

CURSOR_HEADER = "Last-Event-ID"
PLACE = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A fact. `payload` is what the server sent; `cursor` is its place among stored events, None for live ones."""

    type: str
    payload: Mapping[str, Any]
    cursor: str | None = None

    def __getitem__(self, name: str) -> Any:
        return self.payload[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.payload.get(name, default)

    @property
    def space_id(self) -> str | None:
        return self.payload.get("spaceId")

    @property
    def agent_id(self) -> str | None:
        return self.payload.get("agentId")

    @property
    def run_id(self) -> str | None:
        return self.payload.get("runId")

    @property
    def at(self) -> str | None:
        return self.payload.get("at")

    @property
    def typed(self) -> AnyEvent | None:
        """The event as its class in `bullpen.wire.events`. None: this client is older than the event."""
        return parse_event(self.payload)

    @property
    def message(self) -> Message | None:
        found = self.payload.get("message")
        return None if found is None else Message.model_validate(found)

    @property
    def run(self) -> Run | None:
        found = self.payload.get("run")
        return None if found is None else Run.model_validate(found)


class Parser:
    """Bytes of an event stream in, events out, however the network cuts them."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._cursor: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        # Only LF ends a line here. Text may hold U+2028 and other characters that str.splitlines() would cut at.
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [event for line in lines if (event := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._cursor = value.decode()
        return None

    def _dispatch(self) -> Event | None:
        data, cursor = b"\n".join(self._data), self._cursor
        self._data, self._cursor = [], None
        if not data:
            # An id alone is no event, but says where the stream stands.
            return None if cursor is None else Event(PLACE, {}, cursor)
        payload = json.loads(data)
        return Event(str(payload.get("type", "")), payload, cursor)


class Follow:
    """An async iterator of events.

    Iterate it, or enter it first (`async with bp.events() as events:`) to be connected before doing what you want
    to hear about. The first connection raises if it cannot be made; later ones are made again for as long as it takes.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        query: Mapping[str, Any],
        after: str | None = None,
        on_open: Callable[[], object] | None = None,
    ) -> None:
        self._connection = connection
        self._query = query
        self._on_open = on_open  # told of each connection: whoever keeps a list beside the stream loads it then
        self._cursor = after
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._parser = Parser()
        self._ready: deque[Event] = deque()
        self._failures = 0
        self._started = False

    @property
    def cursor(self) -> str | None:
        """Where this follower is: `bp.events(after=…)` goes on from here, in this process or another."""
        return self._cursor

    async def __aenter__(self) -> Follow:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        response, self._response, self._chunks = self._response, None, None
        if response is not None:
            await response.aclose()

    def __aiter__(self) -> Follow:
        return self

    async def __anext__(self) -> Event:
        if not self._started:
            await self._start()
        while True:
            while not self._ready:
                if self._chunks is None:
                    await self._open_again()
                await self._receive()
            event = self._ready.popleft()
            self._advance(event)
            if event.type != PLACE:
                return event

    def _advance(self, event: Event) -> None:
        if event.type == RESET:
            # The old place is gone; a further loss must not bring the same reset again.
            self._cursor = self._start_cursor()
        if event.cursor is not None:
            self._cursor = event.cursor

    async def _start(self) -> None:
        if self._started:
            return
        give_up = asyncio.get_running_loop().time() + self._connection.patience
        while True:
            try:
                await self._open()
                break
            except Unreachable:
                self._failures += 1
                wait = pause(self._failures)
                if asyncio.get_running_loop().time() + wait > give_up:
                    raise
            await asyncio.sleep(wait)
        self._started = True

    async def _open_again(self) -> None:
        while True:
            await asyncio.sleep(pause(self._failures))
            self._failures += 1
            try:
                return await self._open()
            except Unreachable:
                continue
            except ApiError as error:
                if error.status not in PASSING and error.status < 500:
                    raise

    async def _open(self) -> None:
        headers = {"Accept": "text/event-stream"}
        if self._cursor is not None:
            headers[CURSOR_HEADER] = self._cursor
        self._response = await self._connection.open_stream(path("events"), query=self._query, headers=headers)
        self._chunks = self._response.aiter_bytes()
        # A chunk cut off by the loss of the last connection comes again, whole.
        self._parser = Parser()
        if self._cursor is None:
            self._cursor = self._start_cursor()
        if self._on_open is not None:
            self._on_open()

    def _start_cursor(self) -> str | None:
        """Where a stream without a cursor began, so that even a loss before the first event loses none."""
        return None if self._response is None else self._response.headers.get(CURSOR_HEADER)

    async def _receive(self) -> None:
        assert self._chunks is not None
        try:
            chunk = await anext(self._chunks)
        except (StopAsyncIteration, httpx.TransportError, httpx.StreamError):
            await self.aclose()
            return
        self._failures = 0
        self._ready.extend(self._parser.feed(chunk))
