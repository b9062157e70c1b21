"""PostgreSQL: a run waits in one process, and its result is posted to another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bullpen.client import Bullpen, tool
from bullpen.wire.nouns import PendingCall
from tests.databases import drop, postgres_database
from tests.path.scripts import call, say, step
from tests.postgres import PostgresServer
from tests.servers import Servers
from tests.waits import until


@tool(visible=False, timeout=600_000)
async def look_up(what: str) -> dict[str, str]:
    """Look something up."""
    return {"found": what}


@pytest.fixture
def servers(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Servers]:
    database = postgres_database(postgres_server, tmp_path / "data")
    started = Servers(database)
    try:
        yield started
    finally:
        started.close()
        drop(postgres_server, database)


async def ask(bp: Bullpen) -> PendingCall:
    """An agent's run that waits for its tool."""
    steps = [step(call("look_up", what="it")), say("got {{results[0].found}}")]
    model = {"provider": "script", "turns": [{"steps": steps}]}
    await bp.agents.create(id="ada", name="Ada", model=model, tools=["messaging", look_up])
    await bp.spaces.create(id="hall", members=["ada"], wake={"people": "all"})
    await bp.spaces("hall").send("go")
    (waiting,) = (await until(lambda: _open(bp))).items
    assert isinstance(waiting, PendingCall)
    assert waiting.status == "waiting"
    return waiting


async def _open(bp: Bullpen) -> Any:
    found = await bp.pending.list()
    return found if len(found) else None


async def finished(bp: Bullpen) -> bool:
    return [run.status for run in await bp.runs.list()] == ["completed"]


@pytest.mark.proves("S4-42", "S4-10")
@pytest.mark.parametrize("killed", [False, True], ids=["both live", "the first is killed"])
async def test_a_posted_result_reaches_a_run_begun_in_another_process(servers: Servers, killed: bool) -> None:
    one = servers.serve()
    async with one.client() as bp:
        waiting = await ask(bp)  # nobody else is there: it began, and waits, in this process
    two = servers.serve()
    if killed:
        one.kill()
    async with two.client() as other:
        serving = asyncio.create_task(other.serve_tools(look_up))
        await until(lambda: finished(other))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        done = await other.pending.get(waiting.call_id)
        assert (done.status, done.delivered_via, done.result) == ("resolved", "inline", {"found": "it"})
        texts = [message.text for message in await other.spaces("hall").messages()]
    assert texts == ["go", "got it"]
