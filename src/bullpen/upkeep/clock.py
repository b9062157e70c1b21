"""After the clock was ahead and was put back: what waits for a time that the wrong clock set is looked at again.

Tasks get the next time that their schedule says; whoever waits for a turn, a provider, an answer or a receiver waits no
longer than from now on. Noticed with every sweep, by the latest time this process has
seen; at the start and once an hour also by the newest event, which another process may have written. Dates of what has
happened stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bullpen.access import rules as access
from bullpen.audit.actions import note
from bullpen.clock import AHEAD_MS
from bullpen.events import rows as events
from bullpen.inbox import rows as inbox
from bullpen.mind import firing as plan_firing
from bullpen.mind import rows as plans
from bullpen.outbox import rows as outbox
from bullpen.runs import rows as runs
from bullpen.storage import Store, Transaction
from bullpen.tasks import firing
from bullpen.tasks import rows as tasks
from bullpen.tools import rows as calls
from bullpen.webhooks import actions as webhook_actions
from bullpen.webhooks import rows as webhooks

logger = logging.getLogger("bullpen.clock")


@dataclass(frozen=True, slots=True)
class Moved:
    tasks: int
    waits: int

    def __bool__(self) -> bool:
        return bool(self.tasks or self.waits)


class ClockWatch:
    def __init__(self, store: Store, group_wait_ms: int) -> None:
        self._store = store
        self._group_wait_ms = group_wait_ms
        self._latest: int | None = None  # None: what earlier processes wrote has not been looked at

    async def look(self) -> bool:
        """True: the clock was put back, and things may be due now that were not before."""
        if self._latest is None:
            return await self.look_at_events()
        now = self._store.clock.millis()
        ahead, self._latest = self._latest - now, now
        if ahead <= AHEAD_MS:
            return False
        await self._tell(ahead, await bring_forward(self._store, self._group_wait_ms))
        return True

    async def look_at_events(self) -> bool:
        """The same, by what others have written. The newest event may stay the newest for long: told of only once."""
        newest = await self._store.read(events.select_newest_at)
        now = self._latest = self._store.clock.millis()
        ahead = 0 if newest is None else self._store.clock.read(newest) - now
        if ahead <= AHEAD_MS or not (moved := await bring_forward(self._store, self._group_wait_ms)):
            return False
        await self._tell(ahead, moved)
        return True

    async def _tell(self, ahead: int, moved: Moved) -> None:
        seconds = round(ahead / 1000, 1)
        logger.warning("the clock was put back by %s s; %d tasks have an earlier time now", seconds, moved.tasks)
        await self._store.transact(partial(_note, seconds=seconds, moved=moved))


async def _note(tx: Transaction, seconds: float, moved: Moved) -> None:
    note(tx, access.SYSTEM, "clock.put_back", "office", "office", seconds=seconds, tasks=moved.tasks)


async def bring_forward(store: Store, group_wait_ms: int) -> Moved:
    """One transaction for each kind."""
    waits = 0
    for kind in (
        partial(inbox.bring_forward, wait=group_wait_ms),
        runs.bring_forward,
        calls.bring_forward,
        partial(webhooks.bring_forward, lease_ms=webhook_actions.LEASE_MS),
        outbox.bring_forward,
    ):
        waits += await store.transact(kind)
    moved = await _bring_all_forward(store, tasks.select_ahead, firing.bring_forward)
    moved += await _bring_all_forward(store, plans.select_ahead, plan_firing.bring_forward)
    return Moved(moved, waits)


async def _bring_all_forward(
    store: Store, select_ahead: Callable[..., Awaitable[list[str]]], bring_forward: Callable[..., Awaitable[int]]
) -> int:
    moved, after = 0, ""
    now = store.clock.millis()
    while found := await store.read(partial(select_ahead, now=now, after=after, limit=firing.BATCH)):
        moved += await store.transact(partial(bring_forward, ids=found))
        after = found[-1]
    return moved
