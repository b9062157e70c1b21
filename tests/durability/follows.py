"""A follower of an office that may die: it writes down what it was told, and comes back with the last cursor it has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bullpen import app
from bullpen.events import rows
from bullpen.testing.histories import Pair, pair
from tests.waits import BOUND


def places(folder: Path, name: str = "followed") -> tuple[Pair, ...]:
    return tuple(pair(line) for line in (folder / name).read_text().splitlines())


@asynccontextmanager
async def followed(opened: app.Office, folder: Path) -> AsyncIterator[None]:
    """As the owner, from where an earlier life has left off. At the end, everything that was committed is told."""
    seen, began = folder / "followed", folder / "began"
    known = [*began.read_text().splitlines(), *seen.read_text().splitlines()] if seen.exists() else []
    follower, chunks = await opened.feed.follow(await opened.local_owner(), after=known[-1] if known else None)
    if not known:
        began.write_text(follower.began + "\n")
        seen.touch()

    heard = asyncio.Event()

    async def listen() -> None:
        async for chunk in chunks:
            ids = [line[4:].decode() for line in chunk.split(b"\n") if line.startswith(b"id: ")]
            with seen.open("a") as file:
                file.write("".join(f"{id}\n" for id in ids))
            heard.set()

    listening = asyncio.create_task(listen())
    yield
    newest = await opened.store.read(rows.select_newest)
    async with asyncio.timeout(BOUND):
        while (places(folder, "began") + places(folder))[-1] < (newest.xid, newest.id):
            heard.clear()
            await heard.wait()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
