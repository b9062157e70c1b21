"""Accepting a message over HTTP, durable: what the server spends on it, beside a bare FastAPI insert.

Real servers on real sockets. They take turns, a batch each, so that whatever else the machine does happens to both. In
the second variant each message wakes an agent that slept; the run itself is left out, by a server that drives nothing.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import orjson

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder, middle_ratio
from bench.servers import Connection, Server

BATCH = 96
CROWD = 16
SETTLE_SECONDS = 0.02
# Threads are woken, and nobody drives them; nor does the sweep come by.
NOBODY_DRIVES = {"BULLPEN_ENGINE__CONCURRENT_RUNS": "0", "BULLPEN_ENGINE__LEASE_SECONDS": "3600"}

BODY = orjson.dumps({"text": "The meeting about the new warehouse was moved to Thursday, please tell the others."})


async def measure(*, quick: bool) -> Figures:
    rounds = 3 if quick else 12
    with folder() as data:
        token = await _prepare(data, rounds + 1)
        with servers.bullpen(data / "office", **NOBODY_DRIVES) as ours, servers.bare(data / "bare.db") as theirs:
            async with servers.connected(ours, token, CROWD) as to_us, servers.connected(theirs, "", CROWD) as to_them:
                cpu = await _rounds(Side(ours, to_us), Side(theirs, to_them), rounds)
    return {
        "post.quiet": median(cpu["quiet"]),
        "post.waking": median(cpu["waking"]),
        "post.bare": median(cpu["bare"]),
        "post.quiet_to_bare": middle_ratio(cpu["quiet"], cpu["bare"]),
        "post.waking_to_bare": middle_ratio(cpu["waking"], cpu["bare"]),
        "post.crowd_to_bare": middle_ratio(cpu["crowd"], cpu["bare crowd"]),
    }


async def _prepare(data: Path, rounds: int) -> str:
    """A quiet room, and a room with a sleeping agent for every message that is to wake one."""
    async with rooms.opened(data / "office", drive=False) as made:
        await made.make_empty("quiet", 1, wake="none")
        await made.make_empty("waking", rounds * BATCH, wake="all")
        return await made.token()


class Side:
    """A server and our connections to it."""

    def __init__(self, server: Server, connections: Sequence[Connection]) -> None:
        self._server = server
        self._connections = connections

    async def cost(self, paths: Sequence[str], clients: int = 1) -> float:
        """CPU milliseconds per request of a batch, sent by so many clients at once."""
        before = self._server.cpu()
        left = iter(paths)
        await asyncio.gather(*(self._send(connection, left) for connection in self._connections[:clients]))
        await asyncio.sleep(SETTLE_SECONDS)  # what follows the answer belongs to it
        return (self._server.cpu() - before) / len(paths) * 1000

    async def _send(self, connection: Connection, paths: Iterator[str]) -> None:
        for path in paths:
            await connection.post(path, BODY)


async def _rounds(ours: Side, theirs: Side, count: int) -> dict[str, list[float]]:
    cpu: dict[str, list[float]] = defaultdict(list)
    quiet, bare = ["/api/spaces/quiet-0/messages"] * BATCH, ["/spaces/quiet-0/messages"] * BATCH
    for number in range(count + 1):
        found = {
            "quiet": await ours.cost(quiet),
            "bare": await theirs.cost(bare),
            "waking": await ours.cost([f"/api/spaces/waking-{number * BATCH + n}/messages" for n in range(BATCH)]),
            "crowd": await ours.cost(quiet, CROWD),
            "bare crowd": await theirs.cost(bare, CROWD),
        }
        if number > 0:  # the first is for warming up
            for name, value in found.items():
                cpu[name].append(value)
    return cpu
