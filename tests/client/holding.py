"""A network that holds back the list of open calls: on its way to the server, and on its way back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

PIECE = 65_536
LIST = b"GET /api/pending"


class Holding:
    def __init__(self, host: str, port: int) -> None:
        self._far = (host, port)
        self._open: set[asyncio.Task[None]] = set()
        self.url = ""
        self.asked, self.may_ask = asyncio.Event(), asyncio.Event()
        self.answered, self.may_answer = asyncio.Event(), asyncio.Event()
        self.delivered = asyncio.Event()

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        far_reader, far_writer = await asyncio.open_connection(*self._far)
        listing = asyncio.Event()
        try:
            await asyncio.gather(self._ask(reader, far_writer, listing), self._answer(far_reader, writer, listing))
        finally:
            writer.transport.abort()
            far_writer.transport.abort()
            self._open.discard(task)

    async def _ask(self, reader: asyncio.StreamReader, far: asyncio.StreamWriter, listing: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                if piece.startswith(LIST):
                    self.asked.set()
                    await self.may_ask.wait()
                    listing.set()
                far.write(piece)
        far.close()

    async def _answer(self, far: asyncio.StreamReader, writer: asyncio.StreamWriter, listing: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := await far.read(PIECE):
                if listing.is_set():
                    self.answered.set()
                    await self.may_answer.wait()
                writer.write(piece)
                if listing.is_set():
                    listing.clear()
                    self.delivered.set()
        writer.close()

    async def close(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


@asynccontextmanager
async def holding(url: str) -> AsyncIterator[Holding]:
    """In front of the server at `url`."""
    far = urlsplit(url)
    network = Holding(far.hostname or "127.0.0.1", far.port or 80)
    listener = await asyncio.start_server(network.join, "127.0.0.1", 0)
    network.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield network
    finally:
        listener.close()
        await network.close()
