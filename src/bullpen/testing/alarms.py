"""A storm of alarms: many tasks are due every second, workers fire them, and are killed all the time.

Afterwards every second of every task must have been fired once. Run as a module this is the fork server of the workers;
`storm` is the other side. The suite lets it rage for some hundred firings, `make chaos` for ten thousand.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from bullpen import app, ids
from bullpen.access import rules as access
from bullpen.agents import actions as agents
from bullpen.cli.loop import run_on_fast_loop
from bullpen.inbox.types import Cause
from bullpen.settings import Settings, TaskSettings
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Store, Transaction, migrations
from bullpen.tasks import actions, firing, rows
from bullpen.tasks.actions import Maker, Rules, Wish
from bullpen.testing import schedules, snapshot
from bullpen.testing.forks import Child, Forks, Report, serve
from bullpen.wire.requests import CreateAgent, CreateSpace

MODULE = "bullpen.testing.alarms"
LOOK_SECONDS = 0.02
FIRE_SECONDS = 60.0  # until somebody fires, on a machine that may be busy
CHAIN_LIMIT = 3
RULES = Rules(TaskSettings(min_interval_seconds=1, per_space=0), "UTC")


@dataclass(frozen=True, slots=True)
class Storm:
    firings: int
    kills: int
    lag_ms_p50: float
    lag_ms_p99: float  # of those that were fired while nobody was missing
    faults: list[str]


def settings_of(url: str, data: Path) -> Settings:
    return Settings(data=data, database_url=url)


# ── a worker ────────────────────────────────────────────────────────────────────────────────────────────────────────


def fire(report: Report, *, url: str, data: str) -> None:
    """Fire what is due, until somebody kills us."""
    run_on_fast_loop(_fire(report, app.open_store(settings_of(url, Path(data)))))


async def _fire(report: Report, store: Store) -> None:
    await store.open()
    report({"ready": True})
    while True:
        await firing.fire_due(store, CHAIN_LIMIT)
        await asyncio.sleep(LOOK_SECONDS)


# ── the storm ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def prepare(url: str, data: Path, tasks: int) -> None:
    """An agent in a space, with so many tasks that are due every second."""
    store = app.open_store(settings_of(url, data))
    await store.open()
    try:
        await migrations.migrate(store, None)
        await store.transact(_furnish)
        for _ in range(0, tasks, 100):
            await store.transact(lambda tx: _make(tx, min(100, tasks)))
    finally:
        await store.close()


async def _furnish(tx: Transaction) -> None:
    await agents.create(tx, CreateAgent(id="clock", name="Clock", model="script:silent"))
    await spaces.create(tx, CreateSpace(id="tower", members=["clock"]), access.SYSTEM)


async def _make(tx: Transaction, count: int) -> None:
    room = await space_rows.select_room(tx, "tower")
    assert room is not None
    maker = Maker("system", Cause("system", "system", access.written(access.GRANTS)))
    for _ in range(count):
        await actions.make(tx, room, "clock", Wish("ring", "interval", "1s", missed="all"), maker, RULES, id=ids.task())


async def storm(
    forks: Forks,
    url: str,
    data: Path,
    *,
    tasks: int,
    firings: int,
    kills: int,
    workers: int,
    gap: float,
    seed: int = 0,
) -> Storm:
    """Kill a worker every `gap` seconds or so, until there were so many firings and kills; then say what is wrong.

    Something is fired between two kills: a busy machine may take longer to start a worker than we take to kill it.
    """
    dice = random.Random(seed)
    await prepare(url, data, tasks)
    alive = [await _start(forks, url, data) for _ in range(workers)]
    done, count = 0, 0
    while done < kills or count < firings:
        count = await _more_than(url, count)
        await asyncio.sleep(dice.expovariate(1 / gap))
        number = dice.randrange(workers)
        await asyncio.to_thread(alive[number].kill)
        forks.forget(alive[number])
        done += 1
        alive[number] = await _start(forks, url, data)
    for child in alive:
        await asyncio.to_thread(child.kill)
    seen = await snapshot.read(url)
    faults = list(schedules.firing_faults(seen, at_rest=False))
    items = [item["id"] for item in seen["inbox_items"] if item["kind"] == "task"]
    fired = [row for row in seen["task_firings"] if row["status"] == "fired"]
    if sorted(items) != sorted(row["item_id"] for row in fired):
        faults.append(f"{len(fired)} firings have woken somebody {len(items)} times")
    lags = [rows.millis_of(row["fired_at"]) - row["nominal_at"] for row in fired]
    return Storm(len(fired), done, *_middle(lags), faults)


async def _start(forks: Forks, url: str, data: Path) -> Child:
    child = await asyncio.to_thread(lambda: forks.start("fire", url=url, data=str(data)))
    await asyncio.to_thread(child.next_report, 30)
    return child


async def _more_than(url: str, before: int) -> int:
    """How often tasks have fired, as soon as that is more often than before."""
    async with asyncio.timeout(FIRE_SECONDS):
        while True:
            if (count := await _count(url)) > before:
                return count
            await asyncio.sleep(LOOK_SECONDS)


async def _count(url: str) -> int:
    [(count,)] = await snapshot.ask(url, "SELECT count(*) FROM task_firings")
    return int(count)


def _middle(lags: Sequence[int]) -> tuple[float, float]:
    found = quantiles(lags, n=100) if len(lags) > 1 else [0.0] * 99
    return found[49], found[98]


if __name__ == "__main__":
    serve({"fire": fire})
