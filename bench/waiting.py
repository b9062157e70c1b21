"""Calls whose result comes later: accepting results, what waiting costs a run, what open calls cost the process, and
how soon a run goes on when its result is there.

Accepting is measured by HTTP against a server that drives nothing, in turn with a bare FastAPI insert, and then at a
pace of 500 a second. Going on is measured until the office tells that the call is done: on SQLite in this process, on
PostgreSQL from this process to another one that drives the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from statistics import median, quantiles
from typing import Any

import orjson

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder, middle_ratio, spent
from bench.post import BODY, NOBODY_DRIVES, SETTLE_SECONDS
from bench.servers import Connection, Server
from bullpen import app, ids
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.inbox.types import Cause
from bullpen.operations import answers
from bullpen.storage import Transaction
from bullpen.threads import actions as threads
from bullpen.tools import actions as tools
from bullpen.tools import rows
from bullpen.tools.types import Waiting
from bullpen.wire.requests import CreateAgent, CreateTool
from tests.postgres import started, why_absent

CLIENTS = 16
BATCH = 96
A_SECOND = 500  # results
OPEN = 10_000
LONG = 3_600_000
NO_SWEEP = 3600  # a lease of so many seconds: a thread that is nudged twice would be counted twice


async def measure(*, quick: bool) -> Figures:
    figures = await _accepting(quick=quick)
    figures |= await _cost_of_waiting(quick=quick)
    figures |= await _memory(OPEN // 10 if quick else OPEN)
    if why_absent() is None:
        figures |= await _across(quick=quick)
    return figures


# ── agents that wait ────────────────────────────────────────────────────────────────────────────────────────────────


def _story(tool: str) -> dict[str, Any]:
    call = {"tool": tool, "args": {"query": "projects"}}
    return {"provider": "script", "turns": [{"steps": [{"calls": [call]}, {"text": "That is all."}]}]}


async def _define(made: rooms.Rooms, owner: Principal) -> None:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}

    async def body(tx: Transaction) -> None:
        for name, kind in (("fetch", "external"), ("show", "internal")):
            config = {"name": name, "description": name, "inputSchema": schema, "executionType": kind, "visible": False}
            wanted = CreateTool.model_validate({**config, "timeout": LONG})
            await tools.create(tx, made.office.registry, owner, wanted)

    await made.office.store.transact(body)


async def _make(made: rooms.Rooms, owner: Principal, name: str, count: int, tool: str) -> list[str]:
    """So many rooms with an agent that calls this tool when somebody speaks."""
    found = [f"{name}-{number}" for number in range(count)]

    async def body(tx: Transaction, some: Sequence[str]) -> None:
        for id in some:
            wanted = CreateAgent(id=f"agent-{id}", name=id.title(), model=_story(tool), tools=["messaging", tool])
            await agents.create(tx, wanted)
            await rooms.make_space(tx, id, f"agent-{id}", owner, wake="all")
            await threads.ensure(tx, f"agent-{id}", "space", id)

    for begin in range(0, count, rooms.PAGE):
        await made.office.store.transact(partial(body, some=found[begin : begin + rooms.PAGE]))
    return found


# ── accepting ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def _accepting(*, quick: bool) -> Figures:
    rounds, seconds = (3, 1) if quick else (12, 4)
    with folder() as data:
        async with rooms.opened(data / "office", drive=False) as made:
            owner = await made.office.local_owner()
            await made.make_empty("sleepy", 1, wake="none")
            bodies = await _open_calls(made, owner, (rounds + 2) * BATCH + seconds * A_SECOND)
            token = await made.token()
        with servers.bullpen(data / "office", **NOBODY_DRIVES) as ours, servers.bare(data / "bare.db") as theirs:
            async with servers.connected(ours, token, CLIENTS) as us, servers.connected(theirs, "", CLIENTS) as them:
                cpu: dict[str, list[float]] = {"ours": [], "bare": []}
                for number in range(rounds + 1):
                    mine = await _cost(ours, us, [bodies.pop() for _ in range(BATCH)])
                    bare = await _cost(theirs, them, [("/spaces/quiet-0/messages", BODY)] * BATCH)
                    if number:  # the first is for warming up
                        cpu["ours"].append(mine)
                        cpu["bare"].append(bare)
                paced = [bodies.pop() for _ in range(seconds * A_SECOND)]
                late, took = await _at_a_pace(us, paced)
    return {
        "waiting.accept": median(cpu["ours"]),
        "waiting.accept_to_bare": middle_ratio(cpu["ours"], cpu["bare"]),
        "waiting.accept_second": took / seconds,
        "waiting.accept_p50": median(late) * 1000,
        "waiting.accept_p99": quantiles(late, n=100)[98] * 1000,
    }


async def _open_calls(made: rooms.Rooms, owner: Principal, count: int) -> list[tuple[str, bytes]]:
    """So many calls that nobody has answered, of an agent that went on: a path and a body for each."""
    found: list[tuple[str, bytes]] = []
    cause = Cause("person", owner.id, access.written(owner.grants))

    async def body(tx: Transaction, some: int) -> None:
        thread_id = await threads.ensure(tx, "agent-sleepy-0", "space", "sleepy-0")
        for _ in range(some):
            call_id, run_id = ids.call(), ids.run()
            waiting = Waiting(
                call_id=call_id,
                kind="external",
                status="pending",
                agent_id="agent-sleepy-0",
                run_id=run_id,
                thread_id=thread_id,
                space_id="sleepy-0",
                tool_name="fetch",
                args={"query": "projects"},
                cause=cause,
                depth=0,
                chain_id=ids.chain(),
                created_at=tx.clock.now(),
                expires_at=tx.clock.millis() + LONG,
            )
            await rows.insert_pending(tx, waiting)
            result = {"callId": call_id, "result": {"projects": ["a new warehouse", "an old one"], "count": 2}}
            found.append((f"/api/runs/{run_id}/tool-results", orjson.dumps(result)))

    for begin in range(0, count, rooms.PAGE):
        await made.office.store.transact(partial(body, some=min(rooms.PAGE, count - begin)))
    return found


async def _cost(server: Server, connections: Sequence[Connection], posts: Sequence[tuple[str, bytes]]) -> float:
    """CPU milliseconds for each of these, sent by all clients at once."""
    before = server.cpu()
    left = iter(posts)

    async def send(connection: Connection) -> None:
        for path, body in left:
            await connection.post(path, body)

    await asyncio.gather(*map(send, connections))
    await asyncio.sleep(SETTLE_SECONDS)
    return (server.cpu() - before) / len(posts) * 1000


async def _at_a_pace(
    connections: Sequence[Connection], posts: Sequence[tuple[str, bytes]]
) -> tuple[list[float], float]:
    """How late each answer came, counted from when it was due to be sent; and how long all of them took."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(connection)
    late: list[float] = []
    began = time.perf_counter()

    async def send(due: float, path: str, body: bytes) -> None:
        connection = await free.get()
        await connection.post(path, body)
        free.put_nowait(connection)
        late.append(time.perf_counter() - due)

    async with asyncio.TaskGroup() as group:
        for number, (path, body) in enumerate(posts):
            due = began + number / A_SECOND
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(send(due, path, body))
    return late, time.perf_counter() - began


# ── what waiting costs a run, and how soon it goes on ───────────────────────────────────────────────────────────────


class Calls:
    """The calls of an office, as its followers hear of them."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    @contextlib.asynccontextmanager
    async def of(self, office: app.Office, owner: Principal) -> AsyncIterator[Calls]:
        _, chunks = await office.feed.follow(owner)
        listening = asyncio.create_task(self._listen(chunks))
        try:
            yield self
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _listen(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            for line in chunk.split(b"\n"):
                if line.startswith(b"data: "):
                    self._heard.put_nowait(orjson.loads(line[6:]))

    async def next(self, type: str) -> dict[str, Any]:
        while True:
            event = await self._heard.get()
            if event["type"] == type:
                return event


async def _answer(office: app.Office, owner: Principal, call_id: str) -> None:
    async def body(tx: Transaction) -> None:
        await answers.take(tx, owner, office.registry, office.vault, call_id, {"count": 2})

    await office.store.transact(body)


async def _cost_of_waiting(*, quick: bool) -> Figures:
    """The same run with a tool that answers by itself, and with one that somebody else answers. Nobody looks on."""
    count, few = (3, 3) if quick else (15, 20)
    cpu: dict[str, list[float]] = {"show": [], "fetch": []}
    with folder() as data:
        async with rooms.opened(data / "office", lease_seconds=NO_SWEEP) as made:
            owner = await made.office.local_owner()
            await _define(made, owner)
            homes = {tool: await _make(made, owner, tool, few, tool) for tool in cpu}
            for number in range(count + 1):
                used = dict.fromkeys(cpu, 0.0)
                for pair in zip(homes["show"], homes["fetch"], strict=True):
                    # One of each after another, so that whatever else the machine does happens to both.
                    used["show"] += await _whole_run(made, owner, pair[0])
                    used["fetch"] += await _whole_run(made, owner, pair[1])
                if number:
                    for tool, seconds in used.items():
                        cpu[tool].append(seconds / few * 1000)
            async with Calls().of(made.office, owner) as heard:
                waits = []
                for room in homes["fetch"]:
                    await made.post(room)
                    waits.append(await _go_on(made.office, owner, heard))
    adds = median(one - other for one, other in zip(cpu["fetch"], cpu["show"], strict=True))
    return {
        "waiting.run": median(cpu["fetch"]),
        "waiting.run_internal": median(cpu["show"]),
        "waiting.adds": adds,
        "waiting.goes_on": median(waits) * 1000,
    }


async def _whole_run(made: rooms.Rooms, owner: Principal, room: str) -> float:
    """CPU seconds until the run is over; if it waits, with the answer that it waits for."""
    with spent() as used:
        await made.driven(made.post(room))
    found = await made.office.store.read(lambda tx: rows.select_waited_for(tx, [f"agent-{room}"]))
    if not found:
        return used.cpu
    (call_id,) = found[f"agent-{room}"]
    with spent() as more:
        await made.driven(_answer(made.office, owner, call_id))
    return used.cpu + more.cpu


async def _go_on(office: app.Office, owner: Principal, heard: Calls) -> float:
    """Answer the next call that waits; the seconds until its run has the result, and everybody knows."""
    asked = await heard.next("tool.requires_action")
    while office.engine.driving:
        await asyncio.sleep(0)
    began = time.perf_counter()
    await _answer(office, owner, asked["call"]["callId"])
    await heard.next("tool.done")
    return time.perf_counter() - began


# ── open calls ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _memory(count: int) -> Figures:
    """What so many runs that wait leave in a server, beside as many that are over."""
    with folder() as data:
        async with rooms.opened(data, drive=False) as made:
            owner = await made.office.local_owner()
            await _define(made, owner)
            over = await _make(made, owner, "show", count, "show")
            waiting = await _make(made, owner, "fetch", count, "fetch")
            token = await made.token()
        with servers.bullpen(data) as server:
            async with servers.connected(server, token, CLIENTS) as connections:
                say = partial(_speak, connections)
                await say(over)
                await _rest(server)
                before = server.memory()
                await say(waiting)
                await _rest(server)
                grown = server.memory() - before
                page = orjson.loads(await connections[0].get("/api/pending?status=waiting&limit=200"))
                assert len(page["items"]) == 200, "they wait"
    return {"waiting.memory": grown}


async def _speak(connections: Sequence[Connection], names: Sequence[str]) -> None:
    left = iter(names)

    async def send(connection: Connection) -> None:
        for name in left:
            await connection.post(f"/api/spaces/{name}/messages", BODY)

    await asyncio.gather(*map(send, connections))


async def _rest(server: Server) -> None:
    """Until it has nothing to do."""
    while True:
        before = server.cpu()
        await asyncio.sleep(1)
        if server.cpu() - before < 0.05:
            return


# ── two processes ───────────────────────────────────────────────────────────────────────────────────────────────────


async def _across(*, quick: bool) -> Figures:
    """The result is given to this process, which drives nothing; the run goes on in the other."""
    count = 10 if quick else 100
    with folder() as data:
        loop = asyncio.get_running_loop()
        database = started()
        running = await loop.run_in_executor(None, database.__enter__)
        try:
            url = running.url()
            async with rooms.opened(data / "here", url, drive=False) as made:
                owner = await made.office.local_owner()
                await _define(made, owner)
                names = await _make(made, owner, "fetch", count, "fetch")
                with servers.bullpen(data / "there", DATABASE_URL=url):
                    async with Calls().of(made.office, owner) as heard:
                        waits = [await _go_on_there(made, owner, heard, name) for name in names]
        finally:
            await loop.run_in_executor(None, database.__exit__, None, None, None)
    return {
        "waiting.across": median(waits[count // 10 :]) * 1000,
        "waiting.across_p95": quantiles(waits[count // 10 :], n=20)[18] * 1000,
    }


async def _go_on_there(made: rooms.Rooms, owner: Principal, heard: Calls, name: str) -> float:
    await made.post(name)
    return await _go_on(made.office, owner, heard)
