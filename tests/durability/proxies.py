"""A network between a server and PostgreSQL that can be cut, fall silent, and come back.

It runs in a thread with a loop of its own, so that tests may be plain functions or async ones. Silence is the worst
kind of outage: connections stay open, and whatever is sent disappears for as long as it lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.databases import Database

PIECE = 65_536


class Network:
    def __init__(self, socket_path: str) -> None:
        self._socket_path = socket_path
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._refuses = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.port: int = self._run(self._open())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> int:
        self._flows.set()
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.transport.abort()
            return
        await self._flows.wait()
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._socket_path)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._carry(reader, far_writer), self._carry(far_reader, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                await self._flows.wait()
                writer.write(piece)
                await writer.drain()
        self._writers.discard(writer)
        writer.transport.abort()

    # ── what a test does to it ──────────────────────────────────────────────────────────────────────────

    def cut(self) -> None:
        """Every connection breaks, and no new one is made: as when PostgreSQL is stopped."""

        async def work() -> None:
            self._refuses = True
            for writer in list(self._writers):
                writer.transport.abort()

        self._run(work())

    def mend(self) -> None:
        async def work() -> None:
            self._refuses = False
            self._flows.set()

        self._run(work())

    def swallow(self) -> None:
        """Nothing gets through in either direction, and nobody is told."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def close(self) -> None:
        async def work() -> None:
            self._server.close()
            for writer in list(self._writers):
                writer.transport.abort()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._run(work())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def network_to(database: Database) -> Iterator[tuple[Network, Callable[[], str]]]:
    """A network to this database, and the URL that leads through it."""
    parts = urlsplit(database.url)
    folder = parts.query.removeprefix("host=")
    network = Network(f"{folder}/.s.PGSQL.5432")
    try:
        yield network, lambda: f"postgresql://postgres@127.0.0.1:{network.port}{parts.path}"
    finally:
        network.close()
