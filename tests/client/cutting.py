"""A network that cuts every connection, after 50 to 500 ms or some kilobytes, and takes new ones at once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.client.relaying import PIECE, Relay, listening

SECONDS = (0.05, 0.5)
BYTES = (10_000, 60_000)  # so that a fast machine has its connections cut as often


class Cut(Exception):
    pass


class Cutting(Relay):
    def __init__(self) -> None:
        super().__init__()
        self.cuts = 0

    async def bring(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """What the server says, up to a number of bytes."""
        left = random.randint(*BYTES)
        while piece := await reader.read(min(left, PIECE)):
            writer.write(piece)
            await writer.drain()
            left -= len(piece)
            if not left:
                raise Cut
        writer.close()
        await writer.wait_closed()

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(random.uniform(*SECONDS)):
                await super().pass_on(reader, writer)
        except (TimeoutError, Cut):
            self.cuts += 1


@asynccontextmanager
async def cutting(url: str) -> AsyncIterator[Cutting]:
    """In front of the server at `url`."""
    async with listening(Cutting()) as network:
        network.lead_to(url)
        yield network
