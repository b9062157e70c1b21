"""Fresh, migrated databases for tests: a copy of a template made once, so that each costs milliseconds."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from bullpen.storage.migrations import migrate
from bullpen.storage.sqlite import SqliteStore
from bullpen.storage.store import Store
from tests.postgres import PostgresServer

T = TypeVar("T")
Kind = Literal["sqlite", "postgres"]
KINDS: Sequence[Kind] = ("sqlite", "postgres")
TEMPLATE = "bullpen_template"

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Database:
    kind: Kind
    url: str
    data: Path  # the data folder that goes with it; for SQLite it holds the file

    @property
    def path(self) -> Path:
        """The file, on SQLite."""
        return Path(self.url.removeprefix("sqlite:///"))

    def store(self, *, watch_turns: bool = True, pool_size: int = 10) -> Store:
        """A store on it, not yet opened."""
        if self.kind == "sqlite":
            return SqliteStore(self.path, watch_turns=watch_turns)
        from bullpen.storage.postgres import PostgresStore

        # Longer than anything waits for on a machine that does eight other things; outages have bounds of their own.
        return PostgresStore(self.url, pool_size=pool_size, answer_seconds=45.0)


def aside(work: Callable[[], Awaitable[T]]) -> T:
    """Run something async from a plain function, whatever loop this thread has."""

    async def call() -> T:
        return await work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call()).result()


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_sqlite_template(folder: Path) -> Path:
    path = folder / "bullpen.db"

    async def make() -> None:
        store = SqliteStore(path)
        await store.open()
        await migrate(store, folder / "backups")
        await store.close()

    aside(make)
    return path


def sqlite_database(data: Path, template: Path | None) -> Database:
    data.mkdir(parents=True)
    if template is not None:
        shutil.copy(template, data / "bullpen.db")
    return Database("sqlite", f"sqlite:///{data / 'bullpen.db'}", data)


# ── PostgreSQL ──────────────────────────────────────────────────────────────────────────────────────────────────────


def sql(url: str, *statements: str) -> None:
    """Run statements on PostgreSQL, from a plain function."""
    import asyncpg

    async def run() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    aside(run)


def make_postgres_template(server: PostgresServer, backups: Path) -> None:
    from bullpen.storage.postgres import PostgresStore

    async def make() -> None:
        store = PostgresStore(server.url(TEMPLATE))
        await store.open()
        await migrate(store, backups)
        await store.close()

    sql(server.url(), f"CREATE DATABASE {TEMPLATE}")
    aside(make)


def postgres_database(server: PostgresServer, data: Path, *, template: str = TEMPLATE) -> Database:
    data.mkdir(parents=True)
    name = f"test_{os.getpid()}_{next(_numbers)}"
    sql(server.url(), f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    return Database("postgres", server.url(name), data)


def drop(server: PostgresServer, database: Database) -> None:
    sql(server.url(), f"DROP DATABASE {urlsplit(database.url).path[1:]} WITH (FORCE)")
