"""A server that plays a script: one act per connection. For what a real server does only when things go wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"


@dataclass
class Request:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Script:
    url: str
    acts: list[bytes | None]
    requests: list[Request] = field(default_factory=list)
    playing: set[asyncio.Task[None]] = field(default_factory=set)

    async def play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.playing.add(task)
        try:
            await self._play(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()
            self.playing.discard(task)

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Request(head[0], headers, body))
        act = self.acts.pop(0) if self.acts else b""
        if act is not None:
            writer.write(act)
            await writer.drain()
            # A stream that has nothing more to say stays open, so that the follower waits.
            if not self.acts and act.startswith(STREAM):
                await reader.read()


@asynccontextmanager
async def scripted(*acts: bytes | None) -> AsyncIterator[Script]:
    """Each connection gets the next act: bytes to answer with, or None to hang up without a word."""
    script = Script("", list(acts))
    server = await asyncio.start_server(script.play, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()
        if script.playing:
            _, left_open = await asyncio.wait(script.playing, timeout=5)
            assert not left_open, "the client left a connection open"


def answer(status: int, body: Any, *headers: str) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def stream(*frames: bytes, headers: Sequence[str] = ()) -> bytes:
    return STREAM + "".join(f"{line}\r\n" for line in headers).encode() + b"\r\n" + b"".join(frames)


def frame(cursor: str | None, **payload: Any) -> bytes:
    data = json.dumps(payload, ensure_ascii=False).encode()
    return (b"" if cursor is None else b"id: " + cursor.encode() + b"\n") + b"data: " + data + b"\n\n"
