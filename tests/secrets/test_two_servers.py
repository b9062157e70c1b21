"""Two servers on one database: what one of them sets the other masks, and what it deletes the other forgets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from bullpen.client import Bullpen
from bullpen.wire.errors import NotFound
from tests.databases import drop, postgres_database, sql
from tests.postgres import PostgresServer
from tests.servers import Server, Servers
from tests.waits import until

# Only the connections that listen: they ask for nothing but whether they live.
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND (query LIKE 'LISTEN %' OR query = 'SELECT 1')
"""


@pytest.fixture(scope="module")
def pair(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    folder = tmp_path_factory.mktemp("pair")
    database = postgres_database(postgres_server, folder / "data")
    servers = Servers(database)
    try:
        yield [servers.serve(BULLPEN_KEY_FILE=str(folder / "keys.json")) for _ in range(2)]
    finally:
        servers.close()
        drop(postgres_server, database)


@pytest.fixture
async def both(pair: list[Server]) -> AsyncIterator[tuple[Bullpen, Bullpen]]:
    one, two = pair
    async with one.client() as first, two.client() as second:
        yield first, second


async def masks(bp: Bullpen, value: str) -> bool:
    """Would stand in the sentence which says that there is no such run."""
    with pytest.raises(NotFound) as missing:
        await bp.runs.get(value)
    return value not in str(missing.value)


async def shows(bp: Bullpen, value: str) -> bool:
    return not await masks(bp, value)


@pytest.mark.proves("F1", "F12")
async def test_what_one_server_sets_and_deletes_the_other_follows(both: tuple[Bullpen, Bullpen]) -> None:
    one, two = both
    assert await shows(two, "f1rst-value-of-one")
    await one.variables.set("SHARED", "f1rst-value-of-one", type="secret")
    await until(lambda: masks(two, "f1rst-value-of-one"))
    await one.variables.set("SHARED", "s3cond-value-of-one", type="secret")
    await until(lambda: masks(two, "s3cond-value-of-one"))
    await until(lambda: shows(two, "f1rst-value-of-one"))
    await two.variables.delete("SHARED")
    await until(lambda: shows(one, "s3cond-value-of-one"))
    assert await shows(two, "s3cond-value-of-one")


async def test_secrets_of_an_erased_space_are_forgotten_by_both(both: tuple[Bullpen, Bullpen]) -> None:
    one, two = both
    await one.spaces.create(id="hall", kind="channel")
    await one.variables.set("KEY", "a-v4lue-of-the-hall", kind="space", id="hall", type="secret")
    await until(lambda: masks(two, "a-v4lue-of-the-hall"))
    await one.erase("space", "hall")
    await until(lambda: shows(two, "a-v4lue-of-the-hall"))


async def test_what_was_missed_is_looked_up_after_a_cut(pair: list[Server], both: tuple[Bullpen, Bullpen]) -> None:
    one, two = both
    await one.variables.set("OLD", "an-0ld-value-of-one", type="secret")
    await until(lambda: masks(two, "an-0ld-value-of-one"))
    sql(pair[0].database_url, CUT)
    await one.variables.delete("OLD")
    await one.variables.set("NEW", "a-n3w-value-of-one", type="secret")
    await until(lambda: masks(two, "a-n3w-value-of-one"))
    await until(lambda: shows(two, "an-0ld-value-of-one"))
