"""Searching a million passages of a hundred agents, and storing one more.

Passages are written straight into the tables, with words as common as words are, and an agent's stand among those of
all others. Queries are what models ask: one word, common or rare; a few words that stand together or do not; a whole
question; a part of a word; a word of two letters. CPU counts wherever it is spent. `Memory` makes the rows; other parts
may use it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.budgets import Figures
from bench.measure import folder
from bench.search import VOCABULARY, Clock, opened, vocabulary
from bullpen.memory import actions, rules, search
from bullpen.memory.types import Origin
from bullpen.storage import Store, fragments
from bullpen.storage.migrations import migrate
from bullpen.storage.sqlite import SqliteStore
from tests.postgres import started, why_absent

PASSAGES, FEW = 1_000_000, 20_000
AGENTS = 100
CHUNK = 20_000
STORED = 200
# By name, so that a new column with a default changes nothing here.
PASSAGE = [*("id", "scope", "agent_id", "content", "folded", "tags", "metadata", "hash", "created_at", "learned_in")]
WORDS = ["passage_id", "words"]
SCOPE = ["scope", "count"]


async def measure(*, quick: bool) -> Figures:
    count = FEW if quick else PASSAGES
    with folder() as data:
        figures = await _on_sqlite(data, count)
    if why_absent() is None:
        figures |= await _on_postgres(count)
    return figures


class Memory:
    """Rows of an office whose agents have stored much."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = vocabulary()

    def pages(self) -> Iterator[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
        """Passages, and what they are looked up by."""
        chance = random.Random(3)
        weights = list(itertools.accumulate(1 / (n + 1) for n in range(VOCABULARY)))
        made = (self._passage(n, chance, weights) for n in range(self.count))
        while page := list(itertools.islice(made, CHUNK)):
            yield [passage for passage, _ in page], [kept for _, kept in page]

    def _passage(self, number: int, chance: random.Random, weights: list[float]) -> tuple[Any, Any]:
        content = " ".join(chance.choices(self.words, cum_weights=weights, k=chance.randint(8, 30)))
        agent_id = f"agent-{number % AGENTS}"
        scope, id = rules.agent_scope(agent_id), f"psg_{number:026}"
        at = f"2026-01-{1 + number * 28 // self.count:02}T00:00:00.{number % 1_000_000:06}Z"
        folded = fragments.folded(content, [])
        passage = (id, scope, agent_id, content, folded, "[]", "{}", f"{number}", at, "general")
        return passage, (id, fragments.indexed(scope, folded))

    def scopes(self) -> list[tuple[Any, ...]]:
        return [(rules.agent_scope(f"agent-{n}"), self.count // AGENTS) for n in range(AGENTS)]

    def queries(self) -> Iterator[search.Asked]:
        for number, text in enumerate(self._texts()):
            yield search.Asked([rules.agent_scope(f"agent-{number * 7 % AGENTS}")], text)

    def _texts(self) -> list[str]:
        w, chance = self.words, random.Random(4)
        alone = [w[rank] for rank in (0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 50_000)]
        parts = [w[rank][1:] for rank in (60, 200, 600, 2_000, 20_000)]
        few = [
            " ".join(w[min(VOCABULARY - 1, int(chance.paretovariate(0.3)))] for _ in range(n)) for n in (2, 2, 3, 3, 4)
        ]
        questions = [
            " ".join(w[min(VOCABULARY - 1, int(chance.paretovariate(0.2)))] for _ in range(n)) for n in range(5, 25)
        ]
        short = [w[0][:2], w[5][:2], f"{w[0][:2]} {w[100]}", "%"]
        return [*alone, *parts, *few, *questions, *short, "", "never-said-by-anybody"]


async def _measured(store: Store, memory: Memory, clock: Clock, name: str = "") -> Figures:
    costs = []
    for asked in memory.queries():
        await store.read(lambda tx, a=asked: actions.find(tx, a))  # type: ignore[misc]
        before = clock.now()
        for _ in range(3):
            await store.read(lambda tx, a=asked: actions.find(tx, a))  # type: ignore[misc]
        costs.append((clock.now() - before) / 3)
    costs.sort()
    return {
        f"memory.{name}middle": costs[len(costs) // 2],
        f"memory.{name}p95": costs[int(len(costs) * 0.95)],
        f"memory.{name}worst": costs[-1],
        f"memory.{name}store": await _storing(store, memory, clock),
    }


async def _storing(store: Store, memory: Memory, clock: Clock) -> float:
    """One passage after the other, as runs do: each in a transaction of its own, less what an empty one costs."""
    chance = random.Random(5)
    place, origin = rules.Place(rules.agent_scope("agent-1"), None, "general"), Origin(run_id="run_1")
    wishes = [actions.Wish(" ".join(chance.choices(memory.words, k=20))) for _ in range(STORED)]
    before = clock.now()
    for wish in wishes:
        await store.transact(lambda tx, w=wish: actions.store(tx, place, "agent-1", w, origin))  # type: ignore[misc]
    return (clock.now() - before) / STORED


async def _on_sqlite(data: Path, count: int) -> Figures:
    memory = Memory(count)
    store = SqliteStore(data / "bullpen.db")
    await store.open()
    await migrate(store, None)
    await store.close()
    with contextlib.closing(sqlite3.connect(data / "bullpen.db")) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for passages, kept in memory.pages():
            _insert(connection, "passages", PASSAGE, passages)
            _insert(connection, "passage_words", WORDS, kept)
            connection.commit()
        _insert(connection, "passage_scopes", SCOPE, memory.scopes())
        connection.commit()
    await store.open()
    try:
        return await _measured(store, memory, Clock(os.getpid()))
    finally:
        await store.close()


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], values: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)


async def _on_postgres(count: int) -> Figures:
    memory = Memory(count)
    with started() as server:
        async with opened(server.url()) as store:
            async with store.pool.acquire() as connection:
                # Filled one by one, the index would take an hour.
                index = await connection.fetchval("SELECT pg_get_indexdef('passage_words_lookup'::regclass)")
                await connection.execute("DROP INDEX passage_words_lookup")
                for passages, kept in memory.pages():
                    await connection.copy_records_to_table("passages", records=passages, columns=PASSAGE, timeout=600)
                    await connection.copy_records_to_table("passage_words", records=kept, columns=WORDS, timeout=600)
                await connection.execute("SET statement_timeout = 0")
                await connection.execute(index, timeout=3600)
                await connection.execute("RESET statement_timeout")
                await connection.copy_records_to_table("passage_scopes", records=memory.scopes(), columns=SCOPE)
                await connection.execute("VACUUM ANALYZE", timeout=600)
                pid = await connection.fetchval("SELECT pg_backend_pid()")
            return await _measured(store, memory, Clock(os.getpid(), pid), "postgres_")
