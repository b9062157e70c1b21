"""The ways in which PostgreSQL goes away, and comes back: for tests and for `make chaos`.

It is stopped politely or at once, its backends are ended, or the network to it is cut or swallows everything. Those who
are to suffer connect through the network (`url`); whoever looks on afterwards does not (`RestartableServer.url`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

from tests.databases import sql
from tests.durability.proxies import Network
from tests.postgres import RestartableServer

Outage = Literal["fast", "immediate", "terminated", "cut", "half-open"]
OUTAGES: tuple[Outage, ...] = ("fast", "immediate", "terminated", "cut", "half-open")
END_BACKENDS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bullpen'"


class Outages:
    def __init__(self, server: RestartableServer, network: Network) -> None:
        self._server = server
        self._network = network
        self._begin: Mapping[Outage, Callable[[], None]] = {
            "fast": lambda: server.stop("fast"),
            "immediate": lambda: server.stop("immediate"),
            "terminated": lambda: sql(server.url(), END_BACKENDS),
            "cut": network.cut,
            "half-open": network.swallow,
        }

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self._network.port}/{database}"

    async def suffer_anything(self, chance: random.Random) -> None:
        """One of them, for as long as it takes to be noticed, to make drives give up, or to lose leases."""
        await self.suffer(chance.choice(OUTAGES), chance.choice([0.2, 1.5, 4.0, 6.0]))

    async def suffer(self, kind: Outage, seconds: float) -> None:
        """One outage, over when this returns."""
        async with self.during(kind):
            await asyncio.sleep(seconds)

    @asynccontextmanager
    async def during(self, kind: Outage) -> AsyncIterator[None]:
        await asyncio.to_thread(self._begin[kind])
        try:
            yield
        finally:
            await asyncio.to_thread(self._mend, kind)

    def _mend(self, kind: Outage) -> None:
        if kind in ("fast", "immediate"):
            self._server.start()
        if kind == "half-open":
            self._network.cut()  # nobody waits for a connection that said nothing for so long
        self._network.mend()


@contextmanager
def outages_of(server: RestartableServer) -> Iterator[Outages]:
    network = Network(f"{server.folder}/.s.PGSQL.5432")
    try:
        yield Outages(server, network)
    finally:
        network.close()
