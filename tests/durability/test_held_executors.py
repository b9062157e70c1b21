"""What only one process may hold: the others wait, are told who has it, and take it when that one is dead."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bullpen.engine import holders
from bullpen.engine.holders import HeldBy
from bullpen.errors import ToolFailed
from bullpen.storage import Store
from bullpen.testing import snapshot
from bullpen.testing.forks import Child, Forks
from bullpen.tools import Tool, ToolContext, tool
from bullpen.tools.open_executors import OpenExecutors
from tests.databases import Database, drop, postgres_database, sql
from tests.driver import Driver, Offices
from tests.durability import holder_children
from tests.path.scripts import call, step
from tests.postgres import PostgresServer
from tests.sessions import FakeSession, History
from tests.waits import BOUND, until

NAME = "fake:session"
FOREVER = 3_600.0


@pytest.fixture
def postgres(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Database]:
    made = postgres_database(postgres_server, tmp_path / "data")
    yield made
    drop(postgres_server, made)


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Store]:
    store = database.store()
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def fetching(history: History, timeout_ms: int) -> Tool:
    @tool(executor=FakeSession(history, NAME, exclusive=True), timeout_ms=timeout_ms)
    async def fetch(context: ToolContext) -> dict[str, Any]:
        """Fetch something through the session."""
        return {"fetched": True}

    return fetch


async def set_to_work(offices: Offices, history: History, *, timeout_ms: int = 60_000) -> Driver:
    office = await offices.open(families={"fake": [fetching(history, timeout_ms)]})
    await office.agent("ada", steps=[step(call("fetch"))], tools=["fake"])
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "go")
    return office


async def result_of(office: Driver) -> Any:
    run = await office.run_finished("ada")
    (result,) = await office.results(run["id"])
    return result


def start_holding(forks: Forks, database: Database, lease_seconds: float) -> Child:
    child = forks.start("hold", url=database.url, data=str(database.data), lease_seconds=lease_seconds)
    assert child.next_report(BOUND) == {"open": True}
    return child


async def test_a_killed_holders_session_is_opened_by_the_next(database: Database, forks: Forks) -> None:
    """On SQLite at once, since only one process can have the file; on PostgreSQL when the lease has run out."""
    child = await asyncio.to_thread(start_holding, forks, database, 2.0)
    await asyncio.to_thread(child.kill)
    history = History()
    async with AsyncExitStack() as stack:
        office = await set_to_work(Offices(database, stack), history)
        assert await result_of(office) == {"fetched": True}
    assert history.done == ["open", "call", "close"]


async def test_a_call_for_a_living_holders_session_names_it(postgres: Database, forks: Forks) -> None:
    child = await asyncio.to_thread(start_holding, forks, postgres, FOREVER)
    history = History()
    try:
        async with AsyncExitStack() as stack:
            office = await set_to_work(Offices(postgres, stack), history, timeout_ms=50)
            told = f"{NAME} is in use by {holder_children.OWNER}, another process of this office. Try later."
            assert await result_of(office) == {"error": told}
            assert await office.office.executors.find_problems() == {NAME: told}
    finally:
        await asyncio.to_thread(child.kill)
    assert history.done == []


async def test_a_waiting_call_gets_the_session_once_released(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs, waits, acquire = History(), History(), asyncio.Event(), holders.acquire

    async def acquire_and_tell(*args: Any, **more: Any) -> Any:
        found = await acquire(*args, **more)
        if isinstance(found, HeldBy):
            waits.set()
        return found

    monkeypatch.setattr(holders, "acquire", acquire_and_tell)
    async with opened(postgres) as store:
        holder = OpenExecutors(store, "the other", FOREVER)
        await holder.open(FakeSession(theirs, NAME, exclusive=True), seconds=60)
        async with AsyncExitStack() as stack:
            office = await set_to_work(Offices(postgres, stack), ours)
            await waits.wait()
            await holder.close()
            assert await result_of(office) == {"fetched": True}
    assert (ours.done, theirs.done) == (["open", "call", "close"], ["open", "close"])


async def test_a_held_lease_is_renewed_beyond_its_time(postgres: Database) -> None:
    async with opened(postgres) as store:
        executors = OpenExecutors(store, "we", 0.3)
        await executors.open(FakeSession(History(), NAME, exclusive=True), seconds=60)
        first = await snapshot.ask(postgres.url, "SELECT until FROM holders")

        async def renewed() -> bool:
            return await snapshot.ask(postgres.url, "SELECT until FROM holders") != first

        await until(renewed)
        await executors.close()


async def test_a_lost_lease_closes_the_session_and_is_reported(postgres: Database) -> None:
    """As after a process that slept through its lease: somebody else has the session by now."""
    history = History()
    async with opened(postgres) as store:
        executors = OpenExecutors(store, "we", FOREVER)
        await executors.open(FakeSession(history, NAME, exclusive=True), seconds=60)
        sql(postgres.url, "UPDATE holders SET owner = 'the other', token = token + 1")
        await executors.renew()
        assert history.done == ["open", "close"]
        assert await executors.find_problems() == {NAME: "Its lease was lost."}
        with pytest.raises(ToolFailed, match="in use by the other"):
            await executors.open(FakeSession(history, NAME, exclusive=True), seconds=0)
        await executors.close()
        (row,) = await snapshot.ask(postgres.url, "SELECT owner FROM holders")
        assert row == ("the other",), "what is theirs is not released"


async def test_a_session_closes_when_an_outage_outlasts_its_lease(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could renew it, so it may be somebody else's."""
    history = History()
    async with opened(postgres) as store:
        executors = OpenExecutors(store, "we", FOREVER)
        await executors.open(FakeSession(history, NAME, exclusive=True), seconds=60)

        async def away(*args: Any, **more: Any) -> Any:
            raise store.connection_errors[0]("away")

        with monkeypatch.context() as patch:
            patch.setattr(holders, "renew", away)
            await executors.renew()
            assert history.done == ["open"], "until it runs out, it is ours"
            executors._slots[NAME].ours_until = 0.0
            await executors.renew()
        assert history.done == ["open", "close"]
        await executors.close()
