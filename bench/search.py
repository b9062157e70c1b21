"""Searching a million messages, and listing two hundred spaces full of unread ones.

Messages are written straight into the tables, with words as common as words are (the n-th is n times rarer than the
first). Queries are of all sorts: common, rare, phrases that nobody said, beginnings; by somebody who may read all, a
part or one small space. CPU counts wherever it is spent: in this process and in PostgreSQL's.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from bench.budgets import Figures
from bench.measure import cpu_of, folder
from bullpen.spaces import finding, rows
from bullpen.storage import Store, Transaction, words
from bullpen.storage.migrations import migrate
from bullpen.storage.postgres import PostgresStore
from bullpen.storage.sqlite import SqliteStore
from tests.postgres import started, why_absent

MESSAGES, FEW = 1_000_000, 20_000
SPACES = 200
PEOPLE = 50
READER = "psn_reader"
VOCABULARY = 60_000
CHUNK = 20_000
# By name, so that a new column with a default changes nothing here.
MESSAGE = [
    *("id", "space_id", "seq", "author_id", "author_kind", "type", "text", "folded", "status", "reply_to", "metadata"),
    *("client_message_id", "run_id", "chain_id", "depth", "created_at", "edited_at", "deleted_at", "wake"),
]
WORDS = ["message_id", "space_id", "created_at", "words"]
SPACE = [
    *("id", "kind", "name", "private", "main", "wake_people", "wake_agents", "trigger", "options", "last_seq"),
    *("created_by", "created_at", "agents_free_at"),
]
MEMBER = ["space_id", "member_id", "kind", "position", "read_seq", "joined_at"]


async def measure(*, quick: bool) -> Figures:
    count = FEW if quick else MESSAGES
    with folder() as data:
        figures = await _on_sqlite(data, count)
    if why_absent() is None:
        figures |= await _on_postgres(count)
    return figures


# ── what is searched ────────────────────────────────────────────────────────────────────────────────────────────────


def vocabulary() -> list[str]:
    chance = random.Random(1)
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        syllables = 1 + min(3, int(chance.expovariate(0.9)) + (len(found) > 50))
        word = "".join(chance.choice("bcdfghklmnprstvw") + chance.choice("aeiou") for _ in range(syllables))
        found[word + (chance.choice("nrst") if len(found) > 200 else "")] = None
    return list(found)


class Office:
    """Rows of an office with a long history."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.words = vocabulary()
        self.seqs = [0] * SPACES

    def pages(self) -> Iterator[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
        """Messages, and their words."""
        chance = random.Random(2)
        weights = list(itertools.accumulate(1 / (n + 1) for n in range(VOCABULARY)))
        made = (self._message(n, chance, weights) for n in range(self.count))
        while page := list(itertools.islice(made, CHUNK)):
            yield [message for message, _ in page], [kept for _, kept in page]

    def _message(self, number: int, chance: random.Random, weights: list[float]) -> tuple[Any, Any]:
        text = " ".join(chance.choices(self.words, cum_weights=weights, k=chance.randint(5, 25)))
        space = min(int(chance.paretovariate(0.7)) - 1, SPACES - 1) if number % 2 else chance.randrange(SPACES)
        self.seqs[space] += 1
        space_id, author = f"space-{space}", f"psn_{chance.randrange(PEOPLE)}"
        id = f"msg_{number:026}"
        at = f"2026-01-{1 + number * 28 // self.count:02}T00:00:00.{number % 1_000_000:06}Z"
        if number % 20 == 0:
            text += " @everyone"
        kept = words.indexed(text, space_id=space_id, author_id=author, type="text")
        seq = self.seqs[space]
        head = (id, space_id, seq, author, "person", "text", text, None, "complete", None, "{}", None, None, id, 0)
        return (*head, at, None, None, "mention"), (id, space_id, at, kept)

    def spaces(self) -> list[tuple[Any, ...]]:
        return [
            (f"space-{n}", "channel", f"Space {n}", 0, 0, "mention", "mention", None, "{}", seq, "x", f"2026-{n:04}", 0)
            for n, seq in enumerate(self.seqs)
        ]

    @staticmethod
    def members() -> list[tuple[Any, ...]]:
        return [(f"space-{n}", READER, "person", 1, 0, "2026") for n in range(SPACES)]

    def queries(self) -> Iterator[finding.Search]:
        """Every sort of query, for every sort of reader."""
        everywhere = [f"space-{n}" for n in range(SPACES)]
        readers: list[dict[str, Any]] = [
            {"spaces": everywhere},
            {"spaces": everywhere, "author_id": "psn_7"},
            {"spaces": everywhere[50:150]},
            {"spaces": everywhere[20:30]},
            {"spaces": everywhere[:1]},
            {"spaces": everywhere[-1:]},
            {"spaces": everywhere, "until": "2026-01-10T00:00:00.000000Z"},
        ]
        for text, reader in itertools.product(self._texts(), readers):
            yield finding.Search(words.parse(text), **reader)

    def _texts(self) -> list[str]:
        w = self.words
        alone = [f"{w[rank]} " + '""' for rank in (0, 1, 10, 100, 1_000, 10_000, 50_000)]  # not a beginning
        together = [f'{w[0]} "{w[1]}"', f'{w[0]} "{w[20_000]}"', f'"{w[0]} {w[1]}"', f'"{w[900]} {w[901]}"']
        begun = [w[0], w[30][:2], w[30][:3], w[500][:4], w[30_000][:5]]
        return [*alone, *together, *begun, "never-said-by-anybody"]


# ── measuring ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Clock:
    """CPU milliseconds of several processes."""

    def __init__(self, *pids: int) -> None:
        self.pids = pids

    def now(self) -> float:
        return sum(cpu_of(pid) for pid in self.pids) * 1000


async def _searches(store: Store, office: Office, clock: Clock) -> list[float]:
    costs = []
    for asked in office.queries():
        await store.read(lambda tx, a=asked: finding.search(tx, a))  # type: ignore[misc]
        before = clock.now()
        for _ in range(3):
            await store.read(lambda tx, a=asked: finding.search(tx, a))  # type: ignore[misc]
        costs.append((clock.now() - before) / 3)
    return sorted(costs)


async def _listing(store: Store, clock: Clock) -> float:
    async def body(tx: Transaction) -> int:
        found = await rows.select_spaces(tx, READER, is_owner=False, is_person=True, kind="", before="~", limit=SPACES)
        return sum(space.unread for space in found)

    assert await store.read(body) > 0
    before = clock.now()
    for _ in range(5):
        await store.read(body)
    return (clock.now() - before) / 5


def _figures(costs: list[float], listing: float, name: str = "") -> Figures:
    return {
        f"search.{name}middle": costs[len(costs) // 2],
        f"search.{name}p95": costs[int(len(costs) * 0.95)],
        f"search.{name}worst": costs[-1],
        f"search.{name}unread": listing,
    }


async def _on_sqlite(data: Path, count: int) -> Figures:
    office = Office(count)
    store = SqliteStore(data / "bullpen.db")
    await store.open()
    await migrate(store, None)
    await store.close()
    with contextlib.closing(sqlite3.connect(data / "bullpen.db")) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for messages, kept in office.pages():
            _insert(connection, "messages", MESSAGE, messages)
            _insert(connection, "message_words", WORDS, kept)
            connection.commit()
        _insert(connection, "spaces", SPACE, office.spaces())
        _insert(connection, "members", MEMBER, office.members())
        connection.commit()
    await store.open()
    clock = Clock(os.getpid())
    try:
        return _figures(await _searches(store, office, clock), await _listing(store, clock))
    finally:
        await store.close()


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], values: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)


async def _on_postgres(count: int) -> Figures:
    office = Office(count)
    with started() as server:
        async with opened(server.url()) as store:
            async with store.pool.acquire() as connection:
                for messages, kept in office.pages():
                    await connection.copy_records_to_table("messages", records=messages, columns=MESSAGE)
                    await connection.copy_records_to_table("message_words", records=kept, columns=WORDS)
                await connection.copy_records_to_table("spaces", records=office.spaces(), columns=SPACE)
                await connection.copy_records_to_table("members", records=office.members(), columns=MEMBER)
                await connection.execute("VACUUM ANALYZE", timeout=600)
                pid = await connection.fetchval("SELECT pg_backend_pid()")
            clock = Clock(os.getpid(), pid)
            return _figures(await _searches(store, office, clock), await _listing(store, clock), "postgres_")


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, pool_size=1)  # so that one process does all of it
    await store.open()
    await migrate(store, None)
    try:
        yield store
    finally:
        await store.close()
