"""How a database would answer a query, and how much of itself it looks at to do so."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from sqlalchemy import text

from bullpen.storage import Row, Statement, Store, Transaction
from bullpen.storage.statements import POSTGRES, SQLITE
from tests.databases import Database

Ask = Callable[[Any], Awaitable[Any]]

# With so few rows it would rather take them all and sort them.
SETTINGS = [Statement(text(f"SET LOCAL enable_{way} = off")) for way in ("seqscan", "bitmapscan", "sort")]
SLOW = ("SCAN tasks\n", "SCAN task_firings\n", "SCAN runs", "Seq Scan", "TEMP B-TREE", "Sort")


class Explaining:
    """A transaction that says how it would answer."""

    value, values = Transaction.value, Transaction.values

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


async def explain(store: Store, database: Database, ask: Ask) -> str:
    """The plan of the one query that this asks."""

    async def body(tx: Transaction) -> list[str]:
        if database.kind == "postgres":
            for setting in SETTINGS:
                await tx.all(setting)
        explaining = Explaining(tx, database.kind)
        await ask(explaining)
        return explaining.plans

    [plan] = await store.read(body)
    return plan


class Counting:
    """A transaction on SQLite that counts what its queries cost, in steps of SQLite's own machine."""

    values = Transaction.values

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.steps = 0

    def _count(self) -> int:
        self.steps += 1
        return 0

    async def all(self, statement: Statement, **params: Any) -> list[Row]:
        compiled = statement.on(SQLITE)
        self._connection.set_progress_handler(self._count, 1)
        return self._connection.execute(compiled.sql, compiled.values(params)).fetchall()


async def count_steps(database: Database, ask: Ask) -> int:
    with closing(sqlite3.connect(database.path)) as connection:
        counting = Counting(connection)
        await ask(counting)
        return counting.steps
