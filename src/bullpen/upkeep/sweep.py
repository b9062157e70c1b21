"""Remove bytes that nobody needs: of files that were dropped, of files that no message shows, and of no file at all.

A row is dropped in one transaction with what made it useless; the bytes go after it, at once if all is well, with the
next round if the process died. Bytes without a row are what a killed upload left behind. They must have lain still for
an hour, since the row of an upload comes after its bytes. If most of what is kept has no row, this is the wrong
database rather than a lot of rubbish, so nothing is removed and the log says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from bullpen.errors import BullpenError
from bullpen.files import actions, checking, rows
from bullpen.files.thumbnails import SUFFIX
from bullpen.files.types import Blobs
from bullpen.settings import FileSettings
from bullpen.storage import Store, Transaction
from bullpen.upkeep import rows as upkeep_rows

logger = logging.getLogger("bullpen.files")

HOUR_SECONDS = 3600.0
HOUR = 3_600_000
BATCH = 200


@dataclass(slots=True)
class Swept:
    unattached: int = 0  # files that no message showed in time
    dropped: int = 0  # whose row was gone
    orphans: int = 0  # that never had one
    partials: int = 0

    def __bool__(self) -> bool:
        return bool(self.unattached or self.dropped or self.orphans or self.partials)


class Sweeper:
    def __init__(self, store: Store, blobs: Blobs, settings: FileSettings) -> None:
        self._store = store
        self._blobs = blobs
        self._settings = settings
        self._expected: tuple[type[Exception], ...] = (BullpenError, *store.connection_errors)
        self._hurrying: set[asyncio.Task[None]] = set()

    def hurry(self, ids: Sequence[str]) -> None:
        """After the commit that dropped these: remove their bytes soon."""
        task = asyncio.get_running_loop().create_task(self._remove(ids))
        self._hurrying.add(task)
        task.add_done_callback(self._hurrying.discard)

    async def stop(self) -> None:
        """Let what has begun end; what fails is done by the next round."""
        await asyncio.gather(*self._hurrying, return_exceptions=True)

    async def _remove(self, ids: Sequence[str]) -> None:
        try:
            await self._finish(ids)
        except self._expected as error:
            logger.warning("the bytes of %d files could not be removed yet: %s", len(ids), error)

    async def _finish(self, ids: Sequence[str]) -> None:
        await self.forget_bytes(ids)
        await self._store.transact(lambda tx: rows.delete_dropped(tx, ids))

    async def forget_bytes(self, ids: Sequence[str]) -> None:
        for id in ids:
            await self._blobs.drop(id + SUFFIX)
            await self._blobs.drop(id)

    async def clear_dropped(self) -> int:
        """The bytes of all files whose rows are gone."""
        count = 0
        while ids := await self._store.read(lambda tx: rows.select_dropped(tx, BATCH)):
            await self._finish(ids)
            count += len(ids)
        return count

    async def round(self, *, idle: float = HOUR_SECONDS) -> Swept:
        """Everything there is to sweep. Safe at any time, and safe to stop anywhere."""
        swept = Swept(unattached=await self._drop_unattached())
        swept.dropped = await self.clear_dropped()
        swept.orphans = await self._remove_orphans(idle)
        swept.partials = await self._blobs.tidy(idle=idle)
        return swept

    async def _drop_unattached(self) -> int:
        if not self._settings.unattached_hours:
            return 0
        total = 0
        while count := await self._store.transact(self._drop_some):
            total += count
            await asyncio.sleep(0)
        return total

    async def _drop_some(self, tx: Transaction) -> int:
        if not await upkeep_rows.try_turn(tx):
            return 0
        before = tx.clock.at(tx.clock.millis() - self._settings.unattached_hours * HOUR)
        return await actions.drop_unattached(tx, await rows.select_unattached(tx, before, BATCH))

    async def _remove_orphans(self, idle: float) -> int:
        found = await checking.orphans(self._store, self._blobs, idle=idle)
        if found.doubtful:
            logger.error(
                "%d files have bytes but no row in the database, and only %d have both: is this the right database? "
                "Nothing was removed.",
                len(found.ids),
                found.known,
            )
            return 0
        await self.forget_bytes(found.ids)
        return len(found.ids)
