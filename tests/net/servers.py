"""Servers that behave as badly as a test wants, on this machine; and an Egress whose world consists of them.

A server is a function of what it was asked and of the connection. `World` gives each a public address and a name, by a
fake name server, and counts the sockets that are opened towards any address.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.net.types import Limits
from bullpen.testing.dns import FakeDns
from bullpen.testing.sockets import LocalSockets

PUBLIC = "93.184.215.14"
ELSEWHERE = "151.101.1.69"
SECONDS = 20.0  # no wait in these tests is as long, also on a busy machine


@dataclass
class Asked:
    line: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]


Behaviour = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """Reads requests and leaves the rest to `behave`. A connection ends when that closes it or the other side does."""

    behave: Behaviour
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    deaf: bool = False  # answers before it has heard anything

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        first = b""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                while not writer.is_closing():
                    asked = await self._listen(reader, first)
                    self.asked.append(asked)
                    first = await self._behave(asked, reader, writer)
                    await writer.drain()
        finally:
            self.hung_up.set()
            await _close(writer)

    async def _listen(self, reader: asyncio.StreamReader, first: bytes) -> Asked:
        return Asked("", {}, b"") if self.deaf else await _read_request(reader, first)

    async def _behave(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """Behave, until the other side hangs up. Answers with what came of the next request meanwhile."""
        behaving = asyncio.ensure_future(self.behave(asked, writer))
        watching = asyncio.ensure_future(reader.read(-1 if self.deaf else 1))
        try:
            await asyncio.wait({behaving, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and (self.deaf or not watching.result()):
                raise ConnectionResetError
            await behaving
            return watching.result() if watching.done() else b""
        finally:
            behaving.cancel()
            watching.cancel()
            await asyncio.gather(behaving, watching, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader, first: bytes) -> Asked:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *fields = head.rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
    body = b""
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    return Asked(line, headers, body)


async def _close(writer: asyncio.StreamWriter) -> None:
    """What was said is sent, if anybody takes it."""
    writer.close()
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(0.2):
            await writer.wait_closed()
            return
    writer.transport.abort()


def answer(body: bytes = b"ok", status: str = "200 OK", **headers: str) -> bytes:
    fields = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{fields}\r\n".encode() + body


def says(*answers: bytes) -> Behaviour:
    """These answers in turn, the last one for ever."""
    left = list(answers)

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return behave


def redirects(location: str, status: str = "302 Found") -> Behaviour:
    return says(answer(b"", status, Location=location))


def repeats(first: bytes, again: bytes) -> Behaviour:
    """Something without end."""

    async def behave(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()

    return behave


@dataclass
class World:
    egress: Egress
    dns: FakeDns
    sockets: LocalSockets
    _running: list[asyncio.Server] = field(default_factory=list)
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    async def server(
        self,
        behave: Behaviour,
        *,
        name: str = "api.example.com",
        address: str = PUBLIC,
        port: int = 80,
        tls: ssl.SSLContext | None = None,
        addresses: Sequence[str] | None = None,
        deaf: bool = False,
    ) -> Server:
        """A server that `name` leads to, at `address` and `port` as far as the client can see."""
        server = Server(behave, deaf=deaf)
        running = await asyncio.start_server(self._owned(server), "127.0.0.1", 0, ssl=tls)
        self._running.append(running)
        server.port = running.sockets[0].getsockname()[1]
        self.sockets.lead(address, port, to=server.port)
        self.dns.answer(name, addresses or [address])
        return server

    def _owned(self, server: Server) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(server.serve(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return accept

    async def stop(self) -> None:
        await self.egress.aclose()
        for running in self._running:
            running.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # sockets are closed one turn of the loop later


@asynccontextmanager
async def world(
    allowance: Allowance | None = None, *, tls: ssl.SSLContext | None = None, limits: Limits | None = None
) -> AsyncIterator[World]:
    dns, sockets = FakeDns(), LocalSockets()
    made = World(Egress(allowance, dns=dns, opener=sockets, tls=tls, limits=limits), dns, sockets)
    try:
        async with asyncio.timeout(4 * SECONDS):
            yield made
    finally:
        await made.stop()
