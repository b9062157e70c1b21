"""A hundred thousand tasks: what a look at them costs when nothing is due, how late a thousand are that are due at
once, what listing those of one space costs, and what a server costs that only waits for them.

On PostgreSQL the CPU is that of this process: what the database itself spends is its own.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from statistics import quantiles
from time import process_time

from bench import rooms
from bench.budgets import Figures
from bench.idle import at_rest
from bench.measure import folder
from bullpen import ids
from bullpen.access import rules as access
from bullpen.inbox.types import Cause
from bullpen.mind import firing as plan_firing
from bullpen.storage import Transaction
from bullpen.tasks import firing, rows
from bullpen.tasks.types import Schedule, Task
from tests.postgres import started, why_absent

TASKS = 100_000
DUE = 1000
DAY = 86_400_000


async def measure(*, quick: bool) -> Figures:
    tasks, due, looks = (TASKS // 20, DUE // 10, 200) if quick else (TASKS, DUE, 2000)
    with folder() as data:
        figures, token = await _asked(data / "office", tasks, looks)
        figures["tasks.idle_cpu"] = await at_rest(data / "office", token, 3.0 if quick else 10.0)
        figures["tasks.lag_p99"] = await _lag(data / "due", due)
        if why_absent() is None:
            figures |= await _on_postgres(data, tasks, due, looks)
    return figures


async def _on_postgres(data: Path, tasks: int, due: int, looks: int) -> Figures:
    loop = asyncio.get_running_loop()
    server = started()
    running = await loop.run_in_executor(None, server.__enter__)
    try:
        late = await _lag(data / "postgres-due", due, running.url())
        figures, _ = await _asked(data / "postgres", tasks, looks, running.url())
    finally:
        await loop.run_in_executor(None, server.__exit__, None, None, None)
    figures["tasks.lag_p99"] = late
    return {name.replace("tasks.", "tasks.postgres_"): figure for name, figure in figures.items()}


async def _asked(data: Path, tasks: int, looks: int, database_url: str = "") -> tuple[Figures, str]:
    async with rooms.opened(data, database_url, drive=False) as made:
        spaces = await _furnish(made, tasks)
        figures = {"tasks.look": await _look(made, looks), "tasks.list": await _list(made, spaces[0], looks)}
        return figures, await made.token()


def _task(space_id: str, agent_id: str, next_at: int, now: str) -> Task:
    """Its first second in an interval of a day."""
    everything = access.written(access.GRANTS)
    return Task(
        id=ids.task(),
        space_id=space_id,
        agent_id=agent_id,
        prompt="look",
        schedule=Schedule("interval", "1d", "UTC", next_at - DAY),
        context_mode="group",
        missed="once",
        precheck=None,
        status="active",
        reason=None,
        next_at=next_at,
        last_run=None,
        failures=0,
        cause=Cause("system", "system", everything),
        member=False,
        created_by="system",
        depth=0,
        chain_id=None,
        made_at=next_at - DAY,
        outside=(),
        created_at=now,
        updated_at=now,
    )


async def _keep(tx: Transaction, made: list[Task]) -> None:
    for task in made:
        await rows.insert_task(tx, task)


async def _furnish(made: rooms.Rooms, count: int) -> list[str]:
    """Tasks of a thousand spaces, due at some time tomorrow."""
    names = await made.make_empty("tower", max(1, count // 100), wake="none")
    clock = made.office.store.clock
    tomorrow, now = clock.millis() + DAY, clock.now()
    for begin in range(0, count, 1000):
        some = [
            _task(names[n % len(names)], f"agent-{names[n % len(names)]}", tomorrow + n * 500, now)
            for n in range(begin, min(begin + 1000, count))
        ]
        await made.office.store.transact(partial(_keep, made=some))
    return names


async def _look(made: rooms.Rooms, times: int) -> float:
    """What every sweep asks, in microseconds of CPU."""
    store = made.office.store
    await firing.fire_due(store, 3)
    began = process_time()
    for _ in range(times):
        await firing.count_ended(store, 5, plan_firing.count_ended)
        await firing.fire_due(store, 3)
        await plan_firing.fire_due(store, 3)
    return (process_time() - began) / times * 1e6


async def _list(made: rooms.Rooms, space_id: str, times: int) -> float:
    async def body(tx: Transaction) -> None:
        await rows.select_tasks(tx, space_ids=[space_id], statuses=("active", "paused"), limit=50)

    await made.office.store.read(body)
    began = process_time()
    for _ in range(times):
        await made.office.store.read(body)
    return (process_time() - began) / times * 1e6


async def _lag(data: Path, count: int, database_url: str = "") -> float:
    """All due in the same moment, in an office that is awake: how late the latest of a hundred is fired, in ms."""
    async with rooms.opened(data, database_url, drive=True) as made:
        names = await made.make_empty("due", count, wake="none")
        clock = made.office.store.clock
        due = clock.millis() + 3000
        some = [_task(name, f"agent-{name}", due, clock.now()) for name in names]
        await made.office.store.transact(partial(_keep, made=some))
        made.office.engine.sweep_at(due)
        lags: list[float] = []
        while len(lags) < count:
            await asyncio.sleep(0.2)
            found = await made.office.store.read(lambda tx: rows.select_these(tx, [task.id for task in some]))
            lags = [rows.millis_of(task.last_run) - due for task in found if task.last_run is not None]
    return quantiles(lags, n=100)[98]
