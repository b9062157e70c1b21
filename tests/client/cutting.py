"""A network that cuts every connection after 50 to 500 ms, and takes new ones at once."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

SECONDS = (0.05, 0.5)
PIECE = 65_536


class Cutting:
    def __init__(self, host: str, port: int) -> None:
        self._far = (host, port)
        self._open: set[asyncio.Task[None]] = set()
        self.url = ""
        self.cuts = 0

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        writers = [writer]
        try:
            async with asyncio.timeout(random.uniform(*SECONDS)):
                far_reader, far_writer = await asyncio.open_connection(*self._far)
                writers.append(far_writer)
                await asyncio.gather(_carry(reader, far_writer), _carry(far_reader, writer))
        except TimeoutError:
            self.cuts += 1
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for each in writers:
                each.transport.abort()
            self._open.discard(task)

    async def close(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def cutting(url: str) -> AsyncIterator[Cutting]:
    """In front of the server at `url`."""
    far = urlsplit(url)
    network = Cutting(far.hostname or "127.0.0.1", far.port or 80)
    listener = await asyncio.start_server(network.join, "127.0.0.1", 0)
    network.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield network
    finally:
        listener.close()
        await network.close()
