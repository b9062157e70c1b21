"""Executors that hold something for long: opened by their first call, closed with the office, held by one process."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from bullpen.errors import Broken, ToolFailed
from bullpen.tools import Tool, ToolContext, tool
from bullpen.tools.types import Effect, Executor
from tests.databases import Database
from tests.driver import Api, Driver, Offices
from tests.path.scripts import call, step
from tests.sessions import FakeSession, History, SessionOfEachSpace


def fetching(executor: Executor, *, effect: Effect = "once", timeout_ms: int = 30_000) -> Tool:
    @tool(effect=effect, executor=executor, timeout_ms=timeout_ms)
    async def fetch(context: ToolContext, what: str) -> dict[str, Any]:
        """Fetch something through the session."""
        return {"fetched": what}

    return fetch


async def working(offices: Offices, fetch: Tool, **more: Any) -> Driver:
    """An office whose agent fetches once for every message."""
    office = await offices.open(families={"fake": [fetch]}, **more)
    await office.agent("ada", steps=[step(call("fetch", what="it"))], tools=["fake"])
    await office.space("general", ["ada"], wake={"people": "all"})
    return office


async def fetched(office: Driver, nth: int = 1, space: str = "general") -> Any:
    await office.post(space, "go")
    run = await office.run_finished("ada", nth=nth)
    (result,) = await office.results(run["id"])
    return result


GOOD = {"fetched": "it"}


@pytest.mark.one_database
async def test_a_session_opens_at_its_first_call_and_stays_open(offices: Offices) -> None:
    history = History()
    office = await working(offices, fetching(FakeSession(history)))
    assert history.done == []
    assert [await fetched(office), await fetched(office, 2)] == [GOOD, GOOD]
    assert history.done == ["open", "call", "call"]


async def test_a_closed_office_has_closed_its_sessions_and_leases(database: Database) -> None:
    history = History()
    async with AsyncExitStack() as stack:
        office = await working(Offices(database, stack), fetching(FakeSession(history, exclusive=True)))
        assert await fetched(office) == GOOD
    assert history.done == ["open", "call", "close"]
    again = fetching(FakeSession(history, exclusive=True))
    async with AsyncExitStack() as stack:  # at once: the lease was given back
        office = await Offices(database, stack).open(families={"fake": [again]})
        assert await fetched(office) == GOOD


@pytest.mark.one_database
async def test_concurrent_first_calls_open_one_session(offices: Offices) -> None:
    history = History()
    office = await working(offices, fetching(FakeSession(history)))
    for number in range(5):
        await office.space(f"space-{number}", ["ada"], wake={"people": "all"})
    await asyncio.gather(*(office.post(f"space-{number}", "go") for number in range(5)))
    for number in range(5):
        await office.run_finished("ada", nth=number + 1)
    assert history.done.count("open") == 1
    assert history.done.count("call") == 5


@pytest.mark.one_database
async def test_a_broken_session_is_closed_and_opened_again(offices: Offices) -> None:
    history = History()
    office = await working(offices, fetching(FakeSession(history), effect="pure"))
    assert await fetched(office) == GOOD
    history.broken = "the server hung up"
    assert "failed inside (ConnectionResetError)" in (await fetched(office, 2))["error"]
    assert history.done == ["open", "call", "call", "close"]
    assert await fetched(office, 3) == GOOD
    assert history.done[4:] == ["open", "call"]


@pytest.mark.one_database
async def test_a_failing_call_leaves_a_healthy_session_open(offices: Offices) -> None:
    history = History()

    @tool(effect="pure", executor=FakeSession(history))
    async def fetch(context: ToolContext, what: str) -> dict[str, Any]:
        """Fetch something that is not there."""
        raise ToolFailed("There is no such thing.")

    office = await working(offices, fetch)
    assert await fetched(office) == {"error": "There is no such thing."}
    assert await fetched(office, 2) == {"error": "There is no such thing."}
    assert history.done == ["open", "call", "call"]


@pytest.mark.one_database
async def test_a_call_whose_session_does_not_open_never_began(offices: Offices) -> None:
    """So a `once` tool is not in doubt, and the next call tries to open it again."""
    history = History(refuses="The server wants another password.")
    office = await working(offices, fetching(FakeSession(history)))
    assert await fetched(office) == {"error": "The server wants another password."}
    history.refuses = ""
    assert await fetched(office, 2) == GOOD
    assert history.done == ["open", "open", "call"]


@pytest.mark.one_database
async def test_cancelling_a_run_ends_the_opening_of_its_session(offices: Offices) -> None:
    opening, never = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        opening.set()
        await never.wait()

    history = History(opening=hang)
    office = await working(offices, fetching(FakeSession(history, exclusive=True)))
    await office.post("general", "go")
    await opening.wait()
    (run,) = await office.runs()
    await office.ask("POST", f"/runs/{run['id']}/cancel")
    assert (await office.run_finished("ada"))["status"] == "cancelled"
    told = "fetch was stopped while it ran, along with the run. It had no effect."
    assert await office.results(run["id"]) == [{"error": told}]
    history.opening = None
    assert await fetched(office, 2) == GOOD


async def test_each_space_has_a_session_of_its_own(offices: Offices) -> None:
    histories = {"general": History(), "den": History()}
    office = await working(offices, fetching(SessionOfEachSpace(histories)))
    await office.space("den", ["ada"], wake={"people": "all"})
    assert await fetched(office) == GOOD
    assert histories["den"].done == []
    assert await fetched(office, 2, "den") == GOOD
    assert histories["general"].done == histories["den"].done == ["open", "call"]


def test_a_tool_of_our_database_alone_holds_no_session() -> None:
    with pytest.raises(Broken, match="can hold nothing else"):
        fetching(FakeSession(History()), effect="tx")


# ── health ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def ready(office: Driver) -> Any:
    return (await Api(office.office, None).http.get("http://127.0.0.1/readyz")).json()


async def ready_locally(office: Driver) -> Any:
    """As `bullpen doctor` asks, by the socket in the data folder."""
    transport = httpx.ASGITransport(office.office.local_api)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        return (await http.get("/readyz")).json()


@pytest.mark.one_database
async def test_unhealthy_sessions_show_on_the_machine_itself_alone(offices: Offices) -> None:
    history = History()
    office = await working(offices, fetching(FakeSession(history, "mcp:library")))
    assert await fetched(office) == GOOD
    well = {"ready": True, "failing": []}
    assert (await ready_locally(office), await ready(office)) == (well, well)
    history.broken = "the server hung up"
    assert await ready_locally(office) == {**well, "unhealthy": {"mcp:library": "the server hung up"}}
    assert await ready(office) == well


@pytest.mark.one_database
async def test_a_session_that_does_not_open_is_unhealthy(offices: Offices) -> None:
    history = History(refuses="The server wants another password.")
    office = await working(offices, fetching(FakeSession(history, "mcp:library")))
    await fetched(office)
    assert (await ready_locally(office))["unhealthy"] == {"mcp:library": "The server wants another password."}
    history.refuses = ""
    await fetched(office, 2)
    assert "unhealthy" not in await ready_locally(office)
