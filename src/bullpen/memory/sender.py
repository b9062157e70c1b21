"""Brings what memory/copies.py wants to Supermemory: one task for each container, one copy after the other.

A failure ends the task; the rest waits for a later look. Killed between sending and settling, a copy is sent again
under the same id, which changes nothing there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from bullpen.engine.couriers import Couriers
from bullpen.errors import KeyMissing, SecretInvalid
from bullpen.memory import copies
from bullpen.memory import copy_rows as rows
from bullpen.memory.copies import Errand
from bullpen.memory.supermemory import Supermemory, SupermemoryFailed
from bullpen.storage import Store

AT_ONCE: Final = 4


class CopySender(Couriers):
    def __init__(self, store: Store, supermemory: Supermemory) -> None:
        super().__init__(store, self._find_due, self._send_all, at_once=AT_ONCE)
        self._store = store
        self._supermemory = supermemory

    def start(self) -> None:
        """From now on what is queued here is sent here. Others only queue."""
        super().start()
        self._store.listen_after(copies.DUE, lambda _: self.hurry())

    async def _find_due(self) -> AsyncIterator[str]:
        for container in await self._store.read(partial(rows.select_due, limit=AT_ONCE + len(self.working))):
            yield container

    async def _send_all(self, container: str) -> None:
        take = partial(copies.take, container=container, supermemory=self._supermemory)
        while self.is_open and (errand := await self._store.transact(take)) is not None:
            failure = await self._send(errand)
            await self._store.transact(partial(copies.settle, errand=errand, failure=failure))
            if failure is not None and not failure.is_final:
                return

    async def _send(self, errand: Errand) -> SupermemoryFailed | None:
        copy, document = errand.copy, errand.document
        try:
            if document is None:
                await self._supermemory.drop(errand.key, copy.passage_id)
            else:
                metadata = copies.sendable(document.metadata)
                await self._supermemory.keep(errand.key, copy.container, copy.passage_id, document.content, metadata)
        except SupermemoryFailed as failure:
            return failure
        except (KeyMissing, SecretInvalid) as error:
            return SupermemoryFailed(error.message)
        return None
