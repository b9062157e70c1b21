"""The executors that this process holds open: opened by their first call, closed when the office closes.

One that only one process may hold is opened under a lease (engine/holders.py), which is renewed until it is closed. A
call that finds it in another process waits for it, outside any transaction and as long as its tool may take, since the
holder may be about to end or dead already; then it fails with the holder's name, and nothing has begun. An executor
that is not well after a failed call is closed, and the next call opens it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

from bullpen.ending import end
from bullpen.engine import holders
from bullpen.engine.holders import HeldBy
from bullpen.errors import BullpenError, ToolFailed, Unavailable
from bullpen.observe.redact import REDACTOR
from bullpen.storage import Store
from bullpen.tools.types import Executor, Tool, ToolContext

logger = logging.getLogger("bullpen.tools")

LOOK_SECONDS = 1.0  # so often a call looks whether another process has let go
CLOSE_SECONDS = 2.0  # the whole server has ten to end
HEALTH_SECONDS = 2.0


@dataclass(slots=True)
class _Slot:
    """What is known of one name. Whoever opens or closes it has the lock."""

    name: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    executor: Executor | None = None  # if it is open
    token: int | None = None  # of its lease, if only one process may hold it
    ours_until: float = 0.0  # by our own clock: it may be another's after that
    problem: str | None = None  # why it could not be opened, or was closed

    @property
    def is_usable(self) -> bool:
        return self.executor is not None and (self.token is None or monotonic() < self.ours_until)


class OpenExecutors:
    def __init__(self, store: Store, owner: str, lease_seconds: float) -> None:
        self._store = store
        self._owner = owner
        self._seconds = lease_seconds
        self._slots: dict[str, _Slot] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self, wanted: Executor, seconds: float) -> Executor:
        """The one of this name that is open; `wanted` itself is opened if none is. Takes about `seconds` at most."""
        slot = self._slots.setdefault(wanted.name, _Slot(wanted.name))
        async with slot.lock:
            if slot.executor is not None and slot.is_usable:
                return slot.executor
            await self._let_go(slot)
            if self._closed:
                raise ToolFailed(f"{wanted.name} was not opened: the server stops.")
            try:
                if wanted.exclusive:
                    await self._acquire(slot, seconds)
                async with asyncio.timeout(seconds):
                    await wanted.open()
            except BaseException as error:
                slot.problem = _describe(error)
                await self._release(slot)
                raise
            slot.executor, slot.problem = wanted, None
            return wanted

    async def call(self, executor: Executor, tool: Tool, context: ToolContext, args: Mapping[str, Any]) -> Any:
        """Carry out a call with one that `open` gave. If it fails and the executor is not well, that is closed."""
        try:
            return await executor.call(tool, context, args)
        except BaseException:
            await self._look_after(executor)
            raise

    async def find_problems(self) -> dict[str, str]:
        """What is not well, by name: those that are open are asked."""
        asked = [slot.executor for slot in self._slots.values() if slot.executor is not None]
        found = dict(zip((each.name for each in asked), await asyncio.gather(*map(_ask_health, asked)), strict=True))
        known = {slot.name: slot.problem for slot in self._slots.values() if slot.executor is None}
        return {name: problem for name, problem in sorted((known | found).items()) if problem is not None}

    async def close(self) -> None:
        """Close all of them, and open none any more. Their calls are over."""
        self._closed = True
        if self._renewing is not None:
            await end(self._renewing)
        await asyncio.gather(*map(self._close_slot, self._slots.values()))

    async def _close_slot(self, slot: _Slot) -> None:
        async with slot.lock:
            await self._let_go(slot)

    async def _look_after(self, executor: Executor) -> None:
        slot = self._slots[executor.name]
        if slot.executor is executor and (problem := await _ask_health(executor)) is not None:
            async with slot.lock:
                if slot.executor is executor:
                    slot.problem = problem
                    await self._let_go(slot)

    async def _let_go(self, slot: _Slot) -> None:
        executor, slot.executor = slot.executor, None
        if executor is not None:
            closing = asyncio.wait_for(executor.close(), CLOSE_SECONDS)
            (failure,) = await asyncio.gather(closing, return_exceptions=True)
            if failure is not None:
                logger.warning("%s was not closed properly: %s", slot.name, _describe(failure))
        await self._release(slot)

    # ── the lease ────────────────────────────────────────────────────────────────────────────────

    @property
    def _millis(self) -> int:
        return int(self._seconds * 1000)

    async def _acquire(self, slot: _Slot, seconds: float) -> None:
        give_up = monotonic() + seconds
        take = partial(holders.acquire, name=slot.name, owner=self._owner, millis=self._millis)
        while True:
            now = monotonic()
            found = await self._store.transact(take)
            if not isinstance(found, HeldBy):
                break
            if now >= give_up:
                raise ToolFailed(f"{slot.name} is in use by {found.owner}, another process of this office. Try later.")
            await asyncio.sleep(min(give_up - now, LOOK_SECONDS, found.millis / 1000 + 0.01))
        slot.token, slot.ours_until = found, now + self._seconds
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_forever())

    async def _release(self, slot: _Slot) -> None:
        token, slot.token = slot.token, None
        if token is not None:
            with suppress(Unavailable, *self._store.connection_errors):  # then it runs out
                await self._store.transact(partial(holders.release, name=slot.name, token=token))

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self._seconds / 3)
            (failure,) = await asyncio.gather(self.renew(), return_exceptions=True)
            if failure is not None:  # it is tried again, and what was not renewed in time is not used
                logger.warning("leases of executors were not renewed: %s", _describe(failure))

    async def renew(self) -> None:
        """Keep what is ours. What is another's by now, or may be, is closed."""
        held = {slot.name: slot.token for slot in self._slots.values() if slot.token is not None}
        now, kept = monotonic(), None
        renewing = partial(holders.renew, held=held, owner=self._owner, millis=self._millis)
        with suppress(Unavailable, *self._store.connection_errors):  # until it runs out, it is ours
            kept = await self._store.transact(renewing)
        for name, token in held.items():
            slot = self._slots[name]
            if slot.token != token:
                continue  # it was let go meanwhile
            if kept is not None and name in kept:
                slot.ours_until = now + self._seconds
            elif kept is not None or monotonic() >= slot.ours_until:
                await self._lose(slot)

    async def _lose(self, slot: _Slot) -> None:
        slot.ours_until, slot.problem = 0.0, "Its lease was lost."
        logger.warning("%s is closed: its lease was lost", slot.name)
        if not slot.lock.locked():  # else it is being opened, and not used once it is
            await self._close_slot(slot)


async def _ask_health(executor: Executor) -> str | None:
    asked = asyncio.wait_for(executor.health(), HEALTH_SECONDS)
    (found,) = await asyncio.gather(asked, return_exceptions=True)
    return _describe(found) if isinstance(found, BaseException) else found


def _describe(error: BaseException) -> str:
    told = error.message if isinstance(error, BullpenError) else f"{type(error).__name__}: {error}"
    return REDACTOR.clean_line(told)
