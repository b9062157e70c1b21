"""Secrets that other processes set and delete: masked here too, and no longer masked when they are gone.

Needed where processes share a database. Other processes say which variable has changed (events/signals.py); after a
lost connection all secrets are read again. A hint that is lost costs little: a process learns a secret at the latest
when it opens it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from typing import cast

from bullpen.ending import end
from bullpen.engine.worker import survive
from bullpen.errors import KeyMissing, SecretInvalid
from bullpen.events.signals import Changed, Signals
from bullpen.storage import Store
from bullpen.variables import actions, rows
from bullpen.variables.actions import Vault
from bullpen.variables.types import Scope, SourceKind


class SecretWatch:
    def __init__(self, store: Store, vault: Vault, signals: Signals) -> None:
        self._store = store
        self._vault = vault
        self._signals = signals
        self._heard: deque[Changed | None] = deque()
        self._changed: set[tuple[Scope, str]] = set()  # since all secrets were last read
        self._following: asyncio.Task[None] | None = None
        if store.shared:
            store.listen_after(actions.CHANGED, self._tell)
            signals.on_variable = self._hear

    def _tell(self, changed: tuple[Scope, str]) -> None:
        scope, name = changed
        self._changed.add(changed)
        self._signals.variable(Changed(scope.kind, scope.id, name))

    def _hear(self, changed: Changed | None) -> None:
        """Another process has changed this variable. None: any of them, while nobody listened."""
        self._heard.append(changed)
        if self._following is None or self._following.done():
            self._following = asyncio.get_running_loop().create_task(self._follow_all())

    async def stop(self) -> None:
        if self._following is not None:
            await end(self._following)

    async def _follow_all(self) -> None:
        while self._heard:
            changed = self._heard.popleft()
            await survive(self._store, self._look_at_all() if changed is None else self._look_at(changed))

    async def _look_at_all(self) -> None:
        before = self._vault.found | self._changed
        await self._vault.learn_all(self._store)
        self._changed -= before
        for scope, name in before - self._vault.found:
            await self._follow(scope, name)

    async def _look_at(self, changed: Changed) -> None:
        scope = Scope(cast("SourceKind", changed.scope_kind), changed.scope_id)
        self._changed.add((scope, changed.name))
        await self._follow(scope, changed.name)

    async def _follow(self, scope: Scope, name: str) -> None:
        stored = await self._store.read(lambda tx: rows.select_variable(tx, scope, name))
        if stored is not None and stored.key_id is not None:
            await self._vault.learn_stored(stored)  # the spellings of a long one take a while
        with suppress(SecretInvalid, KeyMissing):  # whoever needs it is told
            await self._store.transact(partial(actions.follow, vault=self._vault, scope=scope, name=name))
