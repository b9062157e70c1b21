"""Watching models work: how soon the first words reach a follower, and what two hundred runs that wait hold in memory.

A server as people run it, a provider in another process, and a follower in this one. All three share the machine's
clock, so the provider writes the time into what it says.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder
from bench.post import BODY
from bench.servers import Connection, Server, request

WAITING = 200
WAIT_SECONDS = 60
CLOCK = re.compile(rb'"type":"message_streaming".*?"text":"at (\d+)')
KEY = "open-sesame-of-the-bench-42"


async def measure(*, quick: bool) -> Figures:
    count = 20 if quick else WAITING
    with servers.of_models() as provider, folder() as data:
        token = await _prepare(data, "clock", 1)
        await _prepare(data, "late-1000", count)
        environment = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{provider.port}",
            "ANTHROPIC_API_KEY": KEY,
            "BULLPEN_ENGINE__CONCURRENT_RUNS": str(2 * WAITING),
        }
        with servers.bullpen(data, **environment) as server:
            async with servers.connected(server, token) as (connection,):
                first = await _first_words(server, connection, token, 5 if quick else 40)
                before, peak = await _many(server, connection, token, count)
    return {
        "streaming.first": first,
        "streaming.waiting": peak,
        "streaming.waiting_run": (peak - before) / count * 1000,
    }


async def _prepare(data: Path, name: str, count: int) -> str:
    async with rooms.opened(data, drive=False, model=f"anthropic:{name}") as made:
        await made.make(name, count, history=0)
        return await made.token()


@asynccontextmanager
async def _followed(server: Server, token: str, space_id: str = "") -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request("GET", f"/api/events?spaceId={space_id}" if space_id else "/api/events", token))
    try:
        while b": welcome" not in await reader.readline():
            pass
        yield reader
    finally:
        writer.close()


async def _first_words(server: Server, connection: Connection, token: str, count: int) -> float:
    """Milliseconds from the provider's socket to a follower's."""
    took = []
    async with _followed(server, token, "clock-0") as events, asyncio.timeout(WAIT_SECONDS):
        for _ in range(count):
            await connection.post("/api/spaces/clock-0/messages", BODY)
            while (found := CLOCK.search(await events.readline())) is None:
                pass
            took.append((time.monotonic_ns() - int(found[1])) / 1e6)
            await _finished(events, 1)
    return median(took)


async def _many(server: Server, connection: Connection, token: str, count: int) -> tuple[float, float]:
    """Megabytes before, and at most while all of them wait for their model."""
    before = server.memory()
    server.forget_peak()
    async with _followed(server, token) as events, asyncio.timeout(WAIT_SECONDS):
        for n in range(count):
            await connection.post(f"/api/spaces/late-1000-{n}/messages", BODY)
        await _finished(events, count)
    return before, server.peak()


async def _finished(events: asyncio.StreamReader, count: int) -> None:
    while count:
        count -= b'"type":"run_finished"' in await events.readline()
