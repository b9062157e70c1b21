"""Fixtures for every test.

`store` is an open, migrated store on a fresh database; `database` the same, unopened. Both come once for SQLite and
once for PostgreSQL, so a test that asks for one of them runs on both, unless it is marked `one_database`.
`empty_database` is one without any tables.

`office` is a running office in this process, `server` one in a process of its own. Both import all of Bullpen, which
takes two seconds, so they do it when the first test asks.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bullpen.storage.store import Store
from tests.databases import (
    KINDS,
    Database,
    drop,
    make_postgres_template,
    make_sqlite_template,
    postgres_database,
    sqlite_database,
)
from tests.postgres import PostgresServer, started, why_absent

if TYPE_CHECKING:
    from tests.driver import Driver, Offices
    from tests.servers import Server, Servers

pytest.register_assert_rewrite("tests.driver")
pytest_plugins = [
    "tests.proofs",
    "tests.disks",
    "tests.passwords",
    "tests.effort",
    "tests.costs",
    "tests.hangs",
]

# A shell that starts us in the background has us ignore Ctrl-C, and programs that tests start inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CLOSE_SECONDS = 20  # a store that cannot be closed has lost its turn: say so instead of hanging


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """One server per test process, with a migrated template database. Started when the first test asks for it."""
    if reason := why_absent():
        if os.environ.get("CI"):
            pytest.fail(f"CI tests both databases, but {reason}.")
        pytest.skip(reason)
    with started() as server:
        make_postgres_template(server, tmp_path_factory.mktemp("backups"))
        yield server


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sqlite_template(tmp_path_factory.mktemp("template"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out PostgreSQL for tests that are marked `one_database` (tests/README.md says which those are)."""
    from tests.effort import EVERY_DATABASE  # here, because a plugin must not be imported before it is registered

    dropped = [item for item in items if _is_needless(item)]
    if dropped and not EVERY_DATABASE:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not _is_needless(item)]


def _is_needless(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return (
        callspec is not None
        and "postgres" in callspec.params.values()
        and bool(item.get_closest_marker("one_database"))
    )


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A fresh, migrated database that nobody has opened."""
    if request.param == "sqlite":
        yield sqlite_database(tmp_path / "data", request.getfixturevalue("sqlite_template"))
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    made = postgres_database(server, tmp_path / "data")
    yield made
    drop(server, made)


@pytest.fixture(params=KINDS)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without tables."""
    if request.param == "sqlite":
        yield sqlite_database(tmp_path / "data", None)
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    made = postgres_database(server, tmp_path / "data", template="template1")
    yield made
    drop(server, made)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder for commands and servers, not made yet."""
    return tmp_path / "data"


@pytest.fixture
def database_url(database: Database) -> str:
    return database.url


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    """An open store on a fresh, migrated database. On SQLite a body that waits while it has the turn fails."""
    made = database.store()
    await made.open()
    yield made
    await asyncio.wait_for(made.close(), CLOSE_SECONDS)


@pytest.fixture(autouse=True)
def _routes_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    if "bullpen.app" in sys.modules:
        from tests.driver import share_routes

        share_routes(monkeypatch)


@pytest.fixture
async def offices(database: Database) -> AsyncIterator[Offices]:
    from tests.driver import Offices

    async with AsyncExitStack() as stack:
        yield Offices(database, stack)


@pytest.fixture
async def office(offices: Offices) -> Driver:
    return await offices.open()


@pytest.fixture
def servers(database: Database) -> Iterator[Servers]:
    from tests.servers import Servers

    started = Servers(database)
    yield started
    started.close()


@pytest.fixture
def server(servers: Servers) -> Server:
    return servers.serve()
