"""An address that stays the same while the server behind it stops and another one starts, on another port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar
from urllib.parse import urlsplit

PIECE = 65_536


class Relay:
    """It leads nowhere until `lead_to` says where."""

    def __init__(self) -> None:
        self._far: tuple[str, int] | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.url = ""

    def lead_to(self, url: str) -> None:
        """From now on connections go to the server at `url`."""
        far = urlsplit(url)
        self._far = (far.hostname or "127.0.0.1", far.port or 80)

    async def join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self.pass_on(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # one of the two has hung up, or this test is over
        finally:
            writer.transport.abort()
            self._open.discard(task)

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._far is None:
            return
        far_reader, far_writer = await asyncio.open_connection(*self._far)
        asking = asyncio.create_task(_ask(reader, far_writer))
        try:
            await self.bring(far_reader, writer)
        finally:
            far_writer.transport.abort()  # first, because the wait below may be cancelled
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def bring(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Everything that the server says."""
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def close(self) -> None:
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _ask(reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
    """Everything that the client says. When it hangs up, so do we."""
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE):
            far.write(piece)
            await far.drain()
    far.close()


R = TypeVar("R", bound=Relay)


@asynccontextmanager
async def listening(relay: R) -> AsyncIterator[R]:
    """The relay, with an address."""
    listener = await asyncio.start_server(relay.join, "127.0.0.1", 0)
    relay.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        listener.close()
        await relay.close()
