"""Forget what is old: events, journals, sessions that have ended. The audit log and what was said in spaces stay.

A round looks through the office once an hour, in small transactions between which everybody else has their turn. One
process at a time does it. A follower whose cursor is older than what is kept is told to load again; a run whose
journal is gone keeps its row, its outcome and its cost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields

from bullpen import ids
from bullpen.access import rows as access_rows
from bullpen.ending import end
from bullpen.engine.worker import survive
from bullpen.events import rows as event_rows
from bullpen.hooks import rows as hooks
from bullpen.memory import rows as memory
from bullpen.outbox import rows as outbox
from bullpen.runs import rows as run_rows
from bullpen.settings import RetentionSettings
from bullpen.storage import Store, Transaction
from bullpen.tasks import actions as task_actions
from bullpen.tasks import rows as tasks
from bullpen.upkeep import journals, rows
from bullpen.webhooks import rows as webhooks

ROUND_SECONDS = 3600.0
DAY = 86_400_000
EVENTS = 1000  # rows of one transaction
RUNS = 50
KEYS_DAYS = 3  # within which the same key wakes nobody twice
PROMPTS = 2000  # runs of one look at which prompts are still in use


@dataclass(slots=True)
class Forgotten:
    events: int = 0
    journals: int = 0
    prompts: int = 0
    sessions: int = 0
    deliveries: int = 0
    firings: int = 0
    tasks: int = 0
    passages: int = 0

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


async def forget(store: Store, settings: RetentionSettings) -> Forgotten:
    """One round. Safe at any time, and safe to stop anywhere: the next one goes on."""
    done = Forgotten()
    done.passages = await _until_none(store, _forget_passages)
    if settings.events_days:
        done.events = await _until_none(store, lambda tx: _forget_events(tx, settings.events_days))
    if settings.journals_days:
        done.journals = await _until_none(store, lambda tx: _forget_journals(tx, settings.journals_days))
        if done.journals:
            done.prompts = await _forget_prompts(store)
        done.firings = await _until_none(store, lambda tx: _forget_firings(tx, settings.journals_days))
        done.tasks = await _forget_tasks(store, settings.journals_days)
        done.deliveries = await _until_none(store, lambda tx: _forget_deliveries(tx, settings.journals_days))
    if settings.sessions_days:
        done.sessions = await _until_none(store, lambda tx: _forget_sessions(tx, settings.sessions_days))
    return done


async def _until_none(store: Store, batch: Callable[[Transaction], Awaitable[int]]) -> int:
    total = 0
    while count := await store.transact(batch):
        total += count
        await asyncio.sleep(0)
    return total


async def _forget_events(tx: Transaction, days: int) -> int:
    if not await rows.try_turn(tx):
        return 0
    before = tx.clock.at(tx.clock.millis() - days * DAY)
    oldest = await event_rows.select_oldest(tx, EVENTS)
    # Their times rise almost, not quite: stop at the first that must stay, so that what is forgotten has no holes.
    count = next((n for n, (_, at) in enumerate(oldest) if at >= before), len(oldest))
    if count:
        last, _ = oldest[count - 1]
        await event_rows.forget_up_to(tx, last)
    return count


async def _forget_journals(tx: Transaction, days: int) -> int:
    if not await rows.try_turn(tx):
        return 0
    return await journals.forget_old(tx, ids.runs_since(tx.clock.millis() - days * DAY), RUNS)


async def _forget_prompts(store: Store) -> int:
    """Prompts that no run shows any more. Looks page by page, then once more at what has begun meanwhile."""
    unused = await store.read(run_rows.select_prompts)
    after = ""
    while unused and (page := await store.read(lambda tx, a=after: run_rows.select_prompts_in_use(tx, a, PROMPTS))):  # type: ignore[misc]
        unused -= {hash for _, hash in page}
        after, _ = page[-1]
    if not unused:
        return 0
    return await store.transact(lambda tx: run_rows.delete_unused_prompts(tx, sorted(unused), after))


async def _forget_sessions(tx: Transaction, days: int) -> int:
    if not await rows.try_turn(tx):
        return 0
    return await access_rows.delete_ended(tx, tx.clock.millis() - days * DAY, EVENTS)


async def _forget_firings(tx: Transaction, days: int) -> int:
    """When tasks were due; the tasks themselves stay, unless they are over."""
    if not await rows.try_turn(tx):
        return 0
    return await tasks.delete_old_firings(tx, tx.clock.at(tx.clock.millis() - days * DAY), EVENTS)


async def _forget_tasks(store: Store, days: int) -> int:
    """Those that are over, as those for a single time are."""
    total = 0
    while True:
        before = store.clock.at(store.clock.millis() - days * DAY)
        over = await store.read(lambda tx, b=before: tasks.select_over(tx, b, RUNS))  # type: ignore[misc]
        if not over:
            return total
        total += await store.transact(lambda tx, o=over, b=before: task_actions.forget_over(tx, o, b))  # type: ignore[misc]
        await asyncio.sleep(0)


async def _forget_passages(tx: Transaction) -> int:
    """Those that were to be forgotten by now. Nobody finds them any more, so nobody waits for this."""
    if not await rows.try_turn(tx):
        return 0
    return await memory.delete_expired(tx, EVENTS)


async def _forget_deliveries(tx: Transaction, days: int) -> int:
    """What webhooks were told, what was sent elsewhere; and, sooner, under which keys hooks were rung."""
    if not await rows.try_turn(tx):
        return 0
    before = tx.clock.at(tx.clock.millis() - days * DAY)
    await hooks.delete_old_uses(tx, tx.clock.at(tx.clock.millis() - KEYS_DAYS * DAY))
    updates = await outbox.delete_updates(tx, before, EVENTS)
    return updates + await outbox.delete_old(tx, before, EVENTS) + await webhooks.delete_old(tx, before, EVENTS)


class Rounds:
    """The server's own timer: whatever goes wrong in a round, there is a next one."""

    def __init__(self, store: Store, work: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._go())

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def _go(self) -> None:
        while True:
            await survive(self._store, self._work())
            # Processes that were started together must not come back together.
            await asyncio.sleep(ROUND_SECONDS * random.uniform(0.9, 1.1))
