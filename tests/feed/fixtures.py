"""`world`: an office with people, agents and spaces in it, on each database. See worlds.py. For tests/api, too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.databases import KINDS, Database, Kind, drop, postgres_database, sqlite_database
from tests.driver import Offices
from tests.feed.worlds import Made, World, enter, make
from tests.postgres import PostgresServer

Original = tuple[Database, Made]


@pytest.fixture(scope="session")
def originals(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Original]:
    """The database with the world in it, made when the first test asks."""
    found: dict[Kind, Original] = {}

    def original(kind: Kind) -> Original:
        if kind not in found:
            data = tmp_path_factory.mktemp("world") / "data"
            if kind == "sqlite":
                database = sqlite_database(data, request.getfixturevalue("sqlite_template"))
            else:
                database = postgres_database(request.getfixturevalue("postgres_server"), data)
            found[kind] = database, make(database)
        return found[kind]

    return original


@pytest.fixture(params=KINDS)
def copied(request: pytest.FixtureRequest, tmp_path: Path, originals: Callable[[Kind], Original]) -> Iterator[Original]:
    """A copy of it, which nobody has opened."""
    if request.param == "sqlite":
        original, made = originals("sqlite")
        yield sqlite_database(tmp_path / "data", original.path), made
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    original, made = originals("postgres")
    database = postgres_database(server, tmp_path / "data", template=urlsplit(original.url).path[1:])
    yield database, made
    drop(server, database)


@pytest.fixture
async def world(copied: Original) -> AsyncIterator[World]:
    database, made = copied
    async with AsyncExitStack() as stack:
        yield await enter(Offices(database, stack), made)
