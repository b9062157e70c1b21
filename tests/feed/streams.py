"""Following an office in this process, through the API's own door.

httpx gives an answer only once it has ended, and a stream never ends; so this speaks ASGI itself. It shows what a
client would see byte for byte: headers, comments, ids. `stall` and `resume` are a socket that is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import orjson

from tests.driver import Api, Json
from tests.events import check_events
from tests.waits import BOUND


@dataclass(frozen=True, slots=True)
class Frame:
    """One block of the stream. A comment has neither id nor data."""

    id: str | None
    data: Json | None
    comment: str | None = None


def parse(block: bytes) -> Frame:
    id: str | None = None
    data: Json | None = None
    for line in block.decode().split("\n"):
        name, _, value = line.partition(": ")
        if line.startswith(":"):
            return Frame(None, None, line.removeprefix(":").strip())
        match name:
            case "id":
                id = value
            case "data":
                data = orjson.loads(value)
            case _:
                raise AssertionError(f"what is this line: {line!r}")
    return Frame(id, data)


class Stream:
    """One follower. `frames` grows as the server sends."""

    def __init__(self, caller: Api, last_id: str | None, params: dict[str, str]) -> None:
        self._opened = caller.office
        self._scope = _scope(caller, last_id, params)
        self._rest = b""
        self._heard = asyncio.Event()
        self._leave = asyncio.Event()
        self._reading = asyncio.Event()
        self._reading.set()
        self._asked = False
        self._task: asyncio.Task[None] | None = None
        self.headers: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self.status = 0
        self.frames: list[Frame] = []
        self.body = b""
        self.ended = False

    async def open(self) -> None:
        """Returns when the response's headers are there; nothing else is waited for."""
        self._task = asyncio.create_task(self._run())
        waiting: set[asyncio.Future[Any]] = {self._task, self.headers}
        await asyncio.wait(waiting, timeout=BOUND, return_when=asyncio.FIRST_COMPLETED)
        assert self.headers.done(), self._task

    async def close(self) -> None:
        self._leave.set()
        self._reading.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def stall(self) -> None:
        """From now on the client reads nothing, and what is sent to it waits."""
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    # ── what the application sees ───────────────────────────────────────────────────────────────────────

    async def _run(self) -> None:
        try:
            await self._opened.api(self._scope, self._receive, self._send)
        finally:
            self.ended = True
            self._heard.set()

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._leave.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self._reading.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers.set_result({name.decode(): value.decode() for name, value in message["headers"]})
            return
        self.body += message["body"]
        *blocks, self._rest = (self._rest + message["body"]).split(b"\n\n")
        if self.status == 200:
            self.frames += [parse(block) for block in blocks]
        self._heard.set()

    # ── what was seen ───────────────────────────────────────────────────────────────────────────────────

    @property
    def told(self) -> list[Frame]:
        """Frames that say something."""
        return [frame for frame in self.frames if frame.data is not None]

    @property
    def events(self) -> list[Json]:
        return [frame.data for frame in self.frames if frame.data is not None]

    @property
    def stored(self) -> list[Json]:
        return [frame.data for frame in self.frames if frame.data is not None and frame.id is not None]

    @property
    def ids(self) -> list[str]:
        return [frame.id for frame in self.frames if frame.id is not None]

    def types(self) -> list[str]:
        return [event["type"] for event in self.stored]

    def texts(self) -> list[str]:
        return [event["message"]["text"] for event in self.stored if event["type"] == "message_created"]

    async def until(self, where: Callable[[Json], bool], *, seconds: float = BOUND) -> Frame:
        """The first frame whose event is like this, waited for with a bound."""

        def found() -> Frame | None:
            return next((frame for frame in self.told if frame.data is not None and where(frame.data)), None)

        await self._wait(lambda: found() is not None, seconds)
        frame = found()
        assert frame is not None
        return frame

    async def until_text(self, text: str, *, seconds: float = BOUND) -> Frame:
        return await self.until(lambda e: "message" in e and e["message"]["text"] == text, seconds=seconds)

    async def until_type(self, type: str, *, seconds: float = BOUND) -> Frame:
        return await self.until(lambda e: bool(e["type"] == type), seconds=seconds)

    async def until_ended(self) -> None:
        await self._wait(lambda: self.ended, BOUND)

    async def until_comments(self, count: int, *, seconds: float = BOUND) -> None:
        await self._wait(lambda: sum(frame.comment is not None for frame in self.frames) >= count, seconds)

    async def _wait(self, done: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            raise AssertionError(f"not within {seconds} s; seen: {[e['type'] for e in self.events]}") from None


def _scope(caller: Api, last_id: str | None, params: dict[str, str]) -> dict[str, Any]:
    headers = [(b"host", b"office")]
    if caller.token is not None:
        headers.append((b"authorization", f"Bearer {caller.token}".encode()))
    if caller.http.cookies:
        headers.append((b"cookie", "; ".join(f"{k}={v}" for k, v in caller.http.cookies.items()).encode()))
    if last_id is not None:
        headers.append((b"last-event-id", last_id.encode("latin-1")))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/api/events",
        "raw_path": b"/api/events",
        "root_path": "",
        "query_string": urlencode(params).encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("office", 80),
    }


@asynccontextmanager
async def following(
    office: Api,
    caller: Api | None = None,
    *,
    last_id: str | None = None,
    after: str | None = None,
    space_id: str | None = None,
    run_id: str | None = None,
) -> AsyncIterator[Stream]:
    """The stream as this caller (the owner, if nobody is named) sees it, from its headers on."""
    asked = {"after": after, "spaceId": space_id, "runId": run_id}
    params = {name: value for name, value in asked.items() if value is not None}
    stream = Stream(caller or office, last_id, params)
    await stream.open()
    try:
        yield stream
    finally:
        await stream.close()
    check_events(stream.events)


def rising(ids: list[str]) -> bool:
    """Do these cursors strictly rise?"""
    places = list(_places(ids))
    return all(a < b for a, b in pairwise(places))


def _places(ids: list[str]) -> Iterator[tuple[int, int]]:
    for id in ids:
        _, xid, number = id.split(".")
        yield int(xid), int(number)
