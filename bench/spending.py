"""What a look at the budgets costs before a model is asked, and what counting an answer costs: CPU, on SQLite.

In an office that has spent for a year: 100 agents, 50 spaces and 30 people, each on every day. The look must not grow
with any of it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import process_time

from bench.budgets import Figures
from bullpen.access.rules import SYSTEM
from bullpen.budgets import actions, rows
from bullpen.budgets.types import Spent, Subject
from bullpen.storage import Transaction, migrations
from bullpen.storage.sqlite import SqliteStore
from bullpen.wire.nouns import BudgetKind, BudgetPeriod

WHOSE = {"agent": 100, "space": 50, "person": 30}
SUBJECT = Subject("agent-1", "space-1", "person-1")


async def measure(*, quick: bool) -> Figures:
    times, days = (300, 60) if quick else (3_000, 365)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "bullpen.db")
        await store.open()
        try:
            await migrations.migrate(store, None)
            await store.transact(lambda tx: _fill(tx, days))
            figures = {"spending.unlimited": await _look(store, times), "spending.count": await _count(store, times)}
            await store.transact(_limit)
            return {**figures, "spending.check": await _look(store, times)}
        finally:
            await store.close()


async def _fill(tx: Transaction, days: int) -> None:
    today = tx.clock.midnight()
    row = dict.fromkeys(("steps", "runs", "input_tokens", "output_tokens", "cached_tokens", "written_tokens"), 9)
    made = [
        {"kind": kind, "id": f"{kind}-{n}", "day": tx.clock.at(today - day * 86_400_000)[:10], "model": "x:y", **row}
        for kind, count in WHOSE.items()
        for n in range(count)
        for day in range(days)
    ]
    await tx.many(rows._ADD, [{**each, "unpriced": 0, "nanodollars": 1000} for each in made])


async def _limit(tx: Transaction) -> None:
    """A budget of each kind, for a day and for a month: more than anybody has."""
    whose: dict[BudgetKind, str] = {"agent": "agent-1", "space": "space-1", "person": "person-1", "office": ""}
    periods: tuple[BudgetPeriod, ...] = ("day", "month")
    for period in periods:
        for kind, subject_id in whose.items():
            await actions.put(tx, SYSTEM, kind=kind, subject_id=subject_id, period=period, unit="USD", amount=100.0)


async def _look(store: SqliteStore, times: int) -> float:
    began = process_time()
    for _ in range(times):
        await store.read(lambda tx: rows.select_standings_of(tx, SUBJECT))
    return (process_time() - began) / times * 1e6


async def _count(store: SqliteStore, times: int) -> float:
    """Within a transaction that is there anyway."""
    spent = Spent("x:y", 100, 10, nanodollars=1000)

    async def body(tx: Transaction) -> float:
        began = process_time()
        for _ in range(times):
            await actions.spend(tx, SUBJECT, spent)
        return (process_time() - began) / times * 1e6

    return await store.transact(body)
