"""Following events as somebody who is not the owner. `Driver.events` has what the owner sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson

from bullpen.access import actions as access
from tests.driver import Api, Driver, Json
from tests.waits import BOUND


class Seen:
    def __init__(self) -> None:
        self.events: list[Json] = []
        self._heard = asyncio.Event()

    async def listen(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            lines = [line for line in chunk.split(b"\n") if line.startswith(b"data: ")]
            self.events += [orjson.loads(line[6:]) for line in lines]
            self._heard.set()

    async def until(self, where: Callable[[Json], bool]) -> None:
        async with asyncio.timeout(BOUND):
            while not any(where(event) for event in self.events):
                self._heard.clear()
                await self._heard.wait()


@asynccontextmanager
async def followed(office: Driver, api: Api, space_id: str | None = None) -> AsyncIterator[Seen]:
    """What the holder of this token sees, until the end of the block."""
    caller = await office.office.store.read(lambda tx: access.principal_of(tx, api.token or ""))
    assert caller is not None
    _, chunks = await office.office.feed.follow(caller, space_id=space_id)
    seen = Seen()
    listening = asyncio.create_task(seen.listen(chunks))
    try:
        yield seen
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
