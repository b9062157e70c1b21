"""SIGTERM: a server and a worker end within ten seconds, whatever they are doing, and lose nothing by it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from bullpen.client import Bullpen
from bullpen.testing import invariants, snapshot
from tests.driver import Json
from tests.durability.rooms import texts, until_said
from tests.hangs import fair_share
from tests.servers import Server, Servers
from tests.waits import BOUND, until

SECONDS = 10.0  # of a machine that has nothing else to do


def script(*steps: Json) -> Json:
    return {"provider": "script", "turns": [{"steps": list(steps)}]}


def say(text: str, **more: Any) -> Json:
    return {"calls": [{"tool": "send_message", "args": {"text": text}}], **more}


async def hire(bp: Bullpen, name: str, *steps: Json) -> None:
    await bp.agents.create(id=name, name=name, model=script(*steps), tools=["messaging"])
    await bp.spaces.create(id=f"room-{name}", members=[name], wake={"people": "all"})


@asynccontextmanager
async def stream(server: Server) -> AsyncIterator[asyncio.Task[None]]:
    """Somebody who follows, as bare HTTP: done when the server has ended the stream."""
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=BOUND) as http:
        request = http.build_request("GET", "/api/events")
        response = await http.send(request, stream=True)
        assert response.status_code == 200

        async def read() -> None:
            with contextlib.suppress(httpx.RemoteProtocolError):
                async for _ in response.aiter_raw():
                    pass

        reading = asyncio.create_task(read())
        yield reading
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await response.aclose()


@pytest.mark.proves("B-shutdown")
async def test_sigterm_under_load_ends_in_time_and_runs_resume_identically(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run in a slow model call, an open stream, and somebody who goes on posting."""
    async with server.client() as bp:
        await hire(bp, "calm", say("first"), say("second"))
        await bp.spaces("room-calm").send("go")
        await until_said(bp, "room-calm", 3)
        await hire(bp, "cut", say("first"), say("second", delayMs=3000))
        await bp.spaces("room-cut").send("go")
        await until_said(bp, "room-cut", 2)
        await bp.spaces.create(id="talk")
        posting = asyncio.create_task(_post_until_the_end(bp, "talk"))
        async with stream(server) as reading:
            began = time.monotonic()
            code = await asyncio.to_thread(server.stop)
            took = time.monotonic() - began
            await asyncio.wait_for(reading, BOUND)
        acknowledged = await posting
    with capsys.disabled():
        print(f"\nended {took:.2f} s after SIGTERM")
    assert code == 0
    assert took * fair_share() < SECONDS
    server.start()
    async with server.client() as bp:
        await until_said(bp, "room-cut", 3)
        await until(lambda: _is_over(bp, "cut"))
        assert await texts(bp, "room-cut") == await texts(bp, "room-calm") == ["go", "first", "second"]
        assert await journal(bp, "cut") == await journal(bp, "calm")
        newest = (await bp.spaces("talk").messages(limit=1))[0].seq
        assert newest >= len(acknowledged), "numbers have no gaps, so all of them are there"
    seen = invariants.Seen(await snapshot.read(server.database_url), at_rest=True)
    assert invariants.violations(seen) == []


async def _is_over(bp: Bullpen, name: str) -> bool:
    return all(run.finished_at is not None for run in await bp.runs.list(agent=name))


async def journal(bp: Bullpen, name: str) -> list[tuple[Any, ...]]:
    (run,) = await bp.runs.list(agent=name)
    entries = await bp.runs.messages(run.id)
    return [(run.outcome, entry.step, entry.type, entry.tool_name, entry.args) for entry in entries]


async def _post_until_the_end(bp: Bullpen, space: str) -> list[str]:
    """Ids of what was acknowledged before the server had gone."""
    ids: list[str] = []
    headers = dict(bp._connection.http.headers)
    async with httpx.AsyncClient(base_url=bp._connection.url, headers=headers) as http:
        with contextlib.suppress(httpx.HTTPError):
            for number in range(10_000):
                response = await http.post(f"/api/spaces/{space}/messages", json={"text": str(number)})
                if response.status_code != 201:
                    break
                ids.append(response.json()["id"])
    return ids


async def begin_request(server: Server) -> asyncio.StreamWriter:
    """A request whose body never comes to an end, and which the server is reading."""
    _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    head = f"POST /api/spaces HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    await writer.drain()
    async with server.client() as bp:
        await bp.spaces.list()  # by now the other request is being read
    return writer


@pytest.mark.one_database
async def test_a_request_cut_off_at_the_end_logs_one_line(server: Server) -> None:
    writer = await begin_request(server)
    assert await asyncio.to_thread(server.stop) == 0
    writer.close()
    lines = server.process.err.so_far()
    assert not [line for line in lines if "Traceback" in line], lines
    assert len([line for line in lines if "stopped before it had answered" in line]) == 1, lines


async def test_a_second_signal_ends_it_at_once(server: Server) -> None:
    """A request that never ends holds the first up."""
    writer = await begin_request(server)
    process = server.process.process
    process.send_signal(signal.SIGTERM)
    await until(lambda: _refuses_connections(server))  # it has taken the first
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = await asyncio.to_thread(server.process.wait)
    assert (time.monotonic() - began) * fair_share() < 2
    assert code in (0, 128 + signal.SIGTERM)
    writer.close()
    server.start()
    async with server.client() as bp:
        await bp.spaces.create(id="after")


async def _refuses_connections(server: Server) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    except OSError:
        return True
    writer.close()
    return False


async def test_a_stopped_worker_ends_quickly_and_another_takes_over_immediately(servers: Servers) -> None:
    if servers.database.kind != "postgres":
        pytest.skip("one process owns a SQLite file")
    server, worker = servers.serve(), servers.worker()
    async with server.client() as bp:
        names = [f"a{number}" for number in range(6)]
        for name in names:
            await hire(bp, name, say("first"), say("second", delayMs=700))
            await bp.spaces(f"room-{name}").send("go")
        began = time.monotonic()
        assert await asyncio.to_thread(worker.stop) == 0
        assert (time.monotonic() - began) * fair_share() < SECONDS
        for name in names:
            assert await until_said(bp, f"room-{name}", 3) == ["go", "first", "second"]
