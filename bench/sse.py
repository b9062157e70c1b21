"""Delivering events: two hundred people follow one room, and each message reaches all of them.

A message at a time: the next is posted when everybody has the last, so that no two travel together. What posting costs
by itself, measured with nobody there, is taken off; the rest is divided by the deliveries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import cast

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder
from bench.post import BODY, SETTLE_SECONDS
from bench.servers import Connection, Server, request

FOLLOWERS = 200
POST = "/api/spaces/hall-0/messages"
FOLLOW = "/api/events?spaceId={}"
WAIT_SECONDS = 30


async def measure(*, quick: bool) -> Figures:
    batches, size = (3, 10) if quick else (9, 30)
    with folder() as data:
        token = await _prepare(data)
        with servers.bullpen(data) as server:
            async with servers.connected(server, token) as (connection,):
                alone = [await _cost(server, connection, size) for _ in range(batches)]
                crowd = await gather(server, token, "hall-0", FOLLOWERS)
                await _cost(server, connection, size, crowd)
                followed = [await _cost(server, connection, size, crowd) for _ in range(batches)]
                crowd.leave()
                await asyncio.sleep(1)
                alone += [await _cost(server, connection, size) for _ in range(batches)]
    return {"sse.delivery": (median(followed) - median(alone)) / FOLLOWERS * 1e6}


async def _prepare(data: Path) -> str:
    async with rooms.opened(data, drive=False) as made:
        await made.make_empty("hall", 1, wake="none")
        return await made.token()


async def _cost(server: Server, connection: Connection, size: int, crowd: Crowd | None = None) -> float:
    """CPU seconds per message, until everybody has it."""
    before = server.cpu()
    for _ in range(size):
        await connection.post(POST, BODY)
        if crowd is not None:
            await crowd.everybody()
    await asyncio.sleep(SETTLE_SECONDS)
    return (server.cpu() - before) / size


# ── followers ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Follower(asyncio.Protocol):
    """Counts events, and does nothing else: it shares the machine with the server."""

    MARK = b"\ndata: "

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are none by inheritance
        self.transport.write(request("GET", FOLLOW.format(self._crowd.space_id), self._crowd.token))

    def data_received(self, data: bytes) -> None:
        seen = self._rest + data
        if b": welcome" in seen:
            self._crowd.arrived()
        for _ in range(seen.count(self.MARK)):
            self._crowd.heard()
        self._rest = seen[-len(self.MARK) + 1 :]


class Crowd:
    """All followers, and how many of them have what was said last."""

    def __init__(self, token: str, space_id: str, size: int) -> None:
        self.token = token
        self.space_id = space_id
        self.members: Sequence[Follower] = ()
        self._size = size
        self._present = 0
        self._heard = 0
        self._all = asyncio.Event()

    def arrived(self) -> None:
        self._present += 1
        if self._present == self._size:
            self._all.set()

    def heard(self) -> None:
        self._heard += 1
        if self._heard == self._size:
            self._all.set()

    async def everybody(self) -> None:
        """Wait until all have come, or all have heard the last message; then begin to count anew."""
        async with asyncio.timeout(WAIT_SECONDS):
            await self._all.wait()
        self._all.clear()
        self._heard = 0

    def leave(self) -> None:
        for member in self.members:
            member.transport.close()


async def gather(server: Server, token: str, space_id: str, size: int) -> Crowd:
    crowd = Crowd(token, space_id, size)
    loop = asyncio.get_running_loop()
    found = [await loop.create_connection(lambda: Follower(crowd), "127.0.0.1", server.port) for _ in range(size)]
    crowd.members = [member for _, member in found]
    await crowd.everybody()
    return crowd
