"""What the fakes of outside services share: a port on this machine, and requests that are read whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, target, _ = line.split(" ")
    return Request(method, target.partition("?")[0], headers, body)


def write_answer(writer: asyncio.StreamWriter, status: int, body: Any = None, **headers: str) -> None:
    """JSON, unless the body is bytes."""
    data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
    fields = {"Content-Type": "application/json", **{n.replace("_", "-"): v for n, v in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n{lines}\r\n".encode() + data)


@asynccontextmanager
async def listen(serve: Serve) -> AsyncIterator[int]:
    """Serve each connection with `serve`, at a port of our own. Leaving ends all of them."""
    tasks: set[asyncio.Task[None]] = set()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await task
        except asyncio.CancelledError:
            task.cancel()
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(join, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
