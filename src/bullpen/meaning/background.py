"""Gives vectors to what has none yet: in the background, a few at a time, by one process of all.

What is to be done stands in the database, so a process that dies loses nothing, and a change of the model is nothing
but more to do: at the start every text is looked at once for a vector of the model. Whoever holds the lease works; the
others look now and then whether it has become free.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Final

from bullpen.ending import end
from bullpen.engine import holders
from bullpen.engine.holders import HeldBy
from bullpen.engine.worker import survive
from bullpen.errors import ModelError, ModelRefused, ModelUnavailable
from bullpen.llm.embedding import Embedder, Vector
from bullpen.meaning import exact, rows
from bullpen.meaning.types import Waiting
from bullpen.observe import counts
from bullpen.storage import Store, Transaction

logger = logging.getLogger("bullpen.meaning")

LEASE: Final = "embedding"
LEASE_MS: Final = 30_000
WINDOW: Final = 500
FIRST_PAUSE: Final = 1.0
GATHER_SECONDS: Final = 0.05  # what is written in quick succession goes to the model together
LONGEST_PAUSE: Final = 300.0
# An item that a model refuses is tried again this much later, each time; see rows.MOST_FAILURES.
PUT_OFF_MS: Final = 600_000


class Background:
    def __init__(self, store: Store, embedder: Embedder, owner: str) -> None:
        self._store = store
        self._embedder = embedder
        self._owner = owner
        self._task: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        self._looked_for_missing = False
        self._pause = FIRST_PAUSE
        self._not_before = 0.0
        self.trouble = ""  # why nothing is embedded just now

    def start(self) -> None:
        self._task = asyncio.create_task(self._go())
        self.hurry()

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)
            await survive(self._store, self._let_go())

    def hurry(self) -> None:
        """Something may have been written, here or in another process."""
        self._asked.set()

    async def look(self) -> None:
        """Something may have waited for its time."""
        self.hurry()

    async def _go(self) -> None:
        while True:
            await self._asked.wait()
            await asyncio.sleep(max(GATHER_SECONDS, self._not_before - monotonic()))
            self._asked.clear()
            await survive(self._store, self._work())

    async def _work(self) -> None:
        if self._looked_for_missing and not await self._store.read(rows.is_waiting):
            return
        take = partial(holders.acquire, name=LEASE, owner=self._owner, millis=LEASE_MS)
        token = await self._store.transact(take)
        if isinstance(token, HeldBy):
            return
        renewed = monotonic()
        if not self._looked_for_missing:
            await self._look_for_missing()
        while waiting := await self._store.read(partial(rows.select_waiting, limit=self._embedder.at_once)):
            if monotonic() - renewed > LEASE_MS / 3000:
                renewing = partial(holders.renew, held={LEASE: token}, owner=self._owner, millis=LEASE_MS)
                if not await self._store.transact(renewing):
                    return
                renewed = monotonic()
            if not await self._embed(waiting):
                return
            await asyncio.sleep(0)

    async def _let_go(self) -> None:
        async def body(tx: Transaction) -> None:
            token = await holders.acquire(tx, LEASE, owner=self._owner, millis=LEASE_MS)
            if isinstance(token, int):
                await holders.release(tx, LEASE, token)

        await self._store.transact(body)

    async def _look_for_missing(self) -> None:
        """What was written while nobody wanted vectors, or has those of another model."""
        await self._store.transact(partial(rows.want, model=self._embedder.model))
        for kind in rows.KINDS:
            after: str | None = ""
            while after is not None:
                look = partial(rows.enqueue_missing, kind=kind, model=self._embedder.model, after=after, limit=WINDOW)
                after = await self._store.transact(look)
                await asyncio.sleep(0)
        await self._store.transact(partial(rows.set_complete, model=self._embedder.model))
        self._looked_for_missing = True

    async def _embed(self, waiting: Sequence[Waiting]) -> bool:
        """False: not now."""
        try:
            vectors = await self._embedder.embed([each.text for each in waiting])
        except ModelRefused as error:
            if error.problem is not None:
                self._rest(error)  # the key, or the model: no text's fault
                return False
            if len(waiting) > 1:
                return all([await self._embed([each]) for each in waiting])
            await self._refused(waiting[0], error)
            return True
        except ModelError as error:
            self._rest(error)
            return False
        await self._keep(waiting, vectors)
        self._pause, self.trouble = FIRST_PAUSE, ""
        return True

    async def _keep(self, waiting: Sequence[Waiting], vectors: Sequence[Vector]) -> None:
        packed = [exact.pack(vector) for vector in vectors]

        async def body(tx: Transaction) -> int:
            kept = [
                await rows.keep(tx, each, self._embedder.model, vector)
                for each, vector in zip(waiting, packed, strict=True)
            ]
            return sum(kept)

        kept = await self._store.transact(body)
        counts.EMBEDDED.add("text", "embedded", by=kept)

    async def _refused(self, waiting: Waiting, error: ModelError) -> None:
        counts.EMBEDDED.add("text", "failed")
        logger.warning("the %s %s gets no vector: %s", waiting.kind, waiting.id, error)
        next_at = self._store.clock.millis() + PUT_OFF_MS * (waiting.failures + 1)
        if waiting.failures + 1 >= rows.MOST_FAILURES:
            next_at = 1 << 62  # never: until it changes
        await self._store.transact(partial(rows.put_off, number=waiting.number, next_at=next_at))

    def _rest(self, error: ModelError) -> None:
        """The model is not there. It is asked again later, and later each time."""
        wanted = error.retry_after if isinstance(error, ModelUnavailable) else None
        seconds = min(max(self._pause, wanted or 0.0), LONGEST_PAUSE)
        if not self.trouble:
            logger.warning("embedding waits: %s", error)
        self.trouble = str(error)
        self._not_before = monotonic() + seconds
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self.hurry()
