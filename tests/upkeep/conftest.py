"""Fixtures of this folder. `lived` is an open office with a past; `home` is its database, unopened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.databases import KINDS, drop, postgres_database, sqlite_database
from tests.postgres import PostgresServer
from tests.upkeep.homes import Home, move_in
from tests.upkeep.offices import Lived


@pytest.fixture(scope="session")
def first_sqlite_home(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    return move_in(sqlite_database(tmp_path_factory.mktemp("home") / "data", sqlite_template))


@pytest.fixture(scope="session")
def first_postgres_home(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Home:
    return move_in(postgres_database(postgres_server, tmp_path_factory.mktemp("home") / "data"))


@pytest.fixture
def sqlite_home(first_sqlite_home: Home, tmp_path: Path) -> Home:
    return first_sqlite_home.copy_to(tmp_path / "data", None)


@pytest.fixture
def postgres_home(first_postgres_home: Home, postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Home]:
    home = first_postgres_home.copy_to(tmp_path / "data", postgres_server)
    yield home
    drop(postgres_server, home.database)


@pytest.fixture(params=KINDS)
def home(request: pytest.FixtureRequest) -> Home:
    found: Home = request.getfixturevalue(f"{request.param}_home")
    return found


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    """What is opened in here is closed when the test ends."""
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def lived(home: Home, stack: AsyncExitStack) -> Lived:
    return await home.enter(stack)
