"""What every sweep asks about tasks, and what a list of one space asks, is answered by an index: however many there
are, it costs what is due, or what is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from bullpen.storage import Row, Statement, Store, Transaction
from bullpen.storage.statements import POSTGRES, SQLITE
from bullpen.tasks import rows
from tests.databases import Database

# With so few rows it would rather take them all and sort them.
SETTINGS = [Statement(text(f"SET LOCAL enable_{way} = off")) for way in ("seqscan", "bitmapscan", "sort")]
SLOW = ("SCAN tasks\n", "SCAN task_firings\n", "TEMP B-TREE", "Seq Scan", "Sort")
ASKED: dict[str, tuple[str, Callable[[Any], Awaitable[Any]]]] = {
    "what is due": ("tasks_due", lambda tx: rows.select_due(tx, 1, 50)),
    "when the next is due": ("tasks_due", rows.select_next),
    "which runs are over": ("task_firings_unended", lambda tx: rows.select_ended(tx, 50)),
    "the tasks of a space": (
        "tasks_space",
        lambda tx: rows.select_tasks(tx, space_ids=["studio"], statuses=("active", "paused"), limit=50),
    ),
}


class Explaining:
    """A transaction that says how it would answer."""

    def __init__(self, tx: Transaction, kind: str) -> None:
        self._tx = tx
        self._kind = kind
        self.plans: list[str] = []

    async def all(self, statement: Statement, **params: Any) -> list[Row]:
        dialect, word = (SQLITE, "EXPLAIN QUERY PLAN ") if self._kind == "sqlite" else (POSTGRES, "EXPLAIN ")
        compiled = statement.on(dialect)
        explained = Statement(text("SELECT 1"))
        explained._compiled[dialect.name] = replace(compiled, sql=word + compiled.sql)
        self.plans.append("\n".join(str(row[-1]) for row in await self._tx.all(explained, **params)))
        return []

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        await self.all(statement, **params)
        return None


@pytest.mark.parametrize("asked", ASKED)
async def test_each_task_query_uses_one_index_without_sorting(store: Store, database: Database, asked: str) -> None:
    index, ask = ASKED[asked]

    async def body(tx: Transaction) -> list[str]:
        if database.kind == "postgres":
            for setting in SETTINGS:
                await tx.all(setting)
        explaining = Explaining(tx, database.kind)
        await ask(explaining)
        return explaining.plans

    [plan] = await store.read(body)
    assert index in plan, plan
    assert not any(
        word in plan for word in ("SCAN tasks\n", "SCAN task_firings\n", "Seq Scan", "TEMP B-TREE", "Sort")
    ), plan
