"""Searching a million passages of a hundred agents by words and by meaning at once, and embedding in the background.

The vectors are synthetic: each agent knows a few hundred subjects, and what it knows of one lies close together.
Questions are turned into vectors by MiniLM, as in an office, and its child's CPU counts. An agent is asked when its
vectors are in memory (`p95`), and when they have to be read first (`cold`). `growth` is what a process takes more after
all agents were asked, with room for sixteen of them. The last part posts messages to a server that embeds 1,000
passages meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder, memory_of
from bench.memory import AGENTS, CHUNK, FEW, PASSAGE, PASSAGES, SCOPE, WORDS, Memory
from bench.search import Clock, opened
from bullpen.access import actions as access
from bullpen.access.types import Principal
from bullpen.llm.minilm import MODEL, MiniLm, find_weights
from bullpen.meaning.looking import Looking
from bullpen.memory import actions, rules
from bullpen.memory.search import Asked
from bullpen.memory.types import Origin
from bullpen.replacing import replace
from bullpen.storage import Store, Transaction
from bullpen.storage.migrations import migrate
from bullpen.storage.sqlite import SqliteStore
from tests.memory import minilm
from tests.postgres import started, why_absent

WIDE: Final = 384
SUBJECTS: Final = 300
VECTOR: Final = ["kind", "item_id", "scope", "model", "vector"]
ROOM: Final = 16 * (PASSAGES // AGENTS) * (WIDE * 4 + 200)  # for sixteen agents
MEGABYTE: Final = 1 << 20
EMBEDDED: Final = 1_000
POSTS_A_SECOND: Final = 40
SECONDS: Final = 15.0


async def measure(*, quick: bool) -> Figures:
    count = FEW if quick else PASSAGES
    weights = str(find_weights("") or minilm.find_weights())
    with folder() as data:
        figures = await _on_sqlite(data, count, weights)
    if why_absent() is None:
        figures |= await _on_postgres(count, weights)
    with folder() as data:
        figures |= await _busy(data, weights, 100 if quick else EMBEDDED, 2.0 if quick else SECONDS)
    return figures


# ── a million ───────────────────────────────────────────────────────────────────────────────────────────────────────


def vectors(count: int) -> Iterator[list[tuple[Any, ...]]]:
    """Rows for the passages of `Memory`, a page at a time."""
    chance = np.random.default_rng(6)
    subjects = chance.standard_normal((AGENTS, SUBJECTS, WIDE), dtype=np.float32)
    for start in range(0, count, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, count))
        about = subjects[numbers % AGENTS, chance.integers(0, SUBJECTS, len(numbers))]
        made = about + 0.7 * chance.standard_normal((len(numbers), WIDE), dtype=np.float32)
        packed = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f2")
        yield [
            ("passage", f"psg_{n:026}", rules.agent_scope(f"agent-{n % AGENTS}"), MODEL, packed[at].tobytes())
            for at, n in enumerate(numbers.tolist())
        ]


async def _measured(store: Store, memory: Memory, weights: str, name: str, *pids: int) -> Figures:
    embedder = MiniLm(weights)
    looking = Looking(store, embedder, ROOM)
    try:
        await embedder.embed(["warm"])
        clock = Clock(os.getpid(), *embedder.process_ids, *pids)
        before = memory_of(os.getpid())
        cold = [await _cost(store, looking, clock, asked) for asked in _one_for_each_agent(memory)]
        growth = memory_of(os.getpid()) - before
        costs = []
        for asked in memory.queries():
            await _find(store, looking, asked)
            looking.forget_questions()
            costs.append(await _cost(store, looking, clock, asked))
        costs.sort()
        return {
            f"meaning.{name}middle": costs[len(costs) // 2],
            f"meaning.{name}p95": costs[int(len(costs) * 0.95)],
            f"meaning.{name}worst": costs[-1],
            f"meaning.{name}cold": sorted(cold)[len(cold) // 2],
            f"meaning.{name}growth": growth,
        }
    finally:
        await embedder.aclose()


def _one_for_each_agent(memory: Memory) -> Iterator[Asked]:
    for number in range(AGENTS):
        yield Asked([rules.agent_scope(f"agent-{number}")], f"{memory.words[100]} {memory.words[number * 50 + 300]}")


async def _cost(store: Store, looking: Looking, clock: Clock, asked: Asked) -> float:
    before = clock.now()
    await _find(store, looking, asked)
    return clock.now() - before


async def _find(store: Store, looking: Looking, asked: Asked) -> None:
    looked = await looking.look("passage", asked.scopes, asked.query)
    await store.read(partial(actions.find, asked=replace(asked, looked=looked)))


async def _on_sqlite(data: Path, count: int, weights: str) -> Figures:
    memory = Memory(count)
    store = SqliteStore(data / "bullpen.db")
    await store.open()
    await migrate(store, None)
    await store.close()
    with contextlib.closing(sqlite3.connect(data / "bullpen.db")) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for (passages, kept), made in zip(memory.pages(), vectors(count), strict=True):
            _insert(connection, "passages", PASSAGE, passages)
            _insert(connection, "passage_words", WORDS, kept)
            _insert(connection, "vectors", VECTOR, made)
            connection.commit()
        _insert(connection, "passage_scopes", SCOPE, memory.scopes())
        connection.execute("INSERT INTO vectors_wanted (model, complete) VALUES (?, 1)", (MODEL,))
        connection.commit()
    await store.open()
    try:
        return await _measured(store, memory, weights, "")
    finally:
        await store.close()


def _insert(connection: sqlite3.Connection, table: str, columns: list[str], values: list[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)


async def _on_postgres(count: int, weights: str) -> Figures:
    memory = Memory(count)
    with started() as server:
        async with opened(server.url()) as store:
            async with store.pool.acquire() as connection:
                for (passages, kept), made in zip(memory.pages(), vectors(count), strict=True):
                    await connection.copy_records_to_table("passages", records=passages, columns=PASSAGE)
                    await connection.copy_records_to_table("passage_words", records=kept, columns=WORDS)
                    await connection.copy_records_to_table("vectors", records=made, columns=VECTOR)
                await connection.copy_records_to_table("passage_scopes", records=memory.scopes(), columns=SCOPE)
                await connection.execute("INSERT INTO vectors_wanted (model, complete) VALUES ($1, 1)", MODEL)
                await connection.execute("VACUUM ANALYZE", timeout=600)
                pid = await connection.fetchval("SELECT pg_backend_pid()")
            return await _measured(store, memory, weights, "postgres_", pid)


# ── in the background ───────────────────────────────────────────────────────────────────────────────────────────────


async def _busy(data: Path, weights: str, count: int, seconds: float) -> Figures:
    """How long posts take while a server embeds, and while it has nothing to embed; in turns, the middle of three."""
    calm, busy = [], []
    for number in range(3):
        token = await _prepare(data / str(number), count)
        with servers.bullpen(data / str(number), BULLPEN_EMBEDDINGS__PROVIDER="none") as server:
            calm.append(await _p99(server, token, seconds))
        chosen = {"BULLPEN_EMBEDDINGS__PROVIDER": "minilm", "BULLPEN_EMBEDDINGS__WEIGHTS": weights}
        with servers.bullpen(data / str(number), **chosen) as server:
            busy.append(await _p99(server, token, seconds))
    return {
        "meaning.calm_p99": sorted(calm)[1] * 1000,
        "meaning.busy_p99": sorted(busy)[1] * 1000,
        "meaning.busy_to_calm": sorted(busy)[1] / sorted(calm)[1],
    }


async def _prepare(data: Path, count: int) -> str:
    """A room, a token, and passages that have no vectors yet."""
    chance, words = random.Random(8), Memory(0).words
    async with rooms.opened(data, drive=False) as made:
        await made.make_empty("quiet", 1, wake="none")
        owner: Principal = await made.office.local_owner()

        async def body(tx: Transaction) -> str:
            for _ in range(count):
                wish = actions.Wish(" ".join(chance.choices(words, k=20)))
                await actions.store(tx, rules.Place(rules.agent_scope("ada")), "ada", wish, Origin())
            _, token = await access.create_token(tx, "bench", person_id=owner.id)
            return token

        return await made.office.store.transact(body)


async def _p99(server: servers.Server, token: str, seconds: float) -> float:
    waits = []
    async with servers.connected(server, token) as [connection]:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            await connection.post("/api/spaces/quiet-0/messages", b'{"text": "Is the kettle on?"}')
            waits.append(time.perf_counter() - began)
            await asyncio.sleep(1 / POSTS_A_SECOND)
    return sorted(waits)[int(len(waits) * 0.99)]
