"""PostgreSQL is not one process: two servers and a worker on one database, with people and kills on all sides.

Real `bullpen serve` and `bullpen worker`, each in a data folder of its own. Nothing here chooses who drives what: the
lease says afterwards who did.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from bullpen.client import Bullpen, Event
from bullpen.client.connection import Unreachable
from bullpen.testing import invariants, snapshot
from bullpen.testing.chaos import BUSY
from bullpen.testing.histories import Follower, Send, pair
from bullpen.testing.snapshot import Snapshot
from tests import effort
from tests.cli.processes import Process
from tests.databases import drop, postgres_database
from tests.durability.story import say, script
from tests.postgres import PostgresServer
from tests.servers import LEASE_SECONDS, Server, Servers
from tests.waits import BOUND, until

LEASE = float(LEASE_SECONDS)
LONG = "A long sentence that takes its time to be written, word after word. " * 4


class Company:
    """Two servers and a worker."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self.url = servers.database.url
        self.one: Server = servers.serve()
        self.two: Server = servers.serve()
        self.worker: Process = servers.worker()

    @property
    def processes(self) -> dict[int, Process]:
        return {p.process.pid: p for p in (self.one.process, self.two.process, self.worker)}

    def server_other_than(self, pid: int) -> Server:
        return self.two if self.one.pid == pid else self.one

    def kill(self, pid: int) -> None:
        """kill -9, and another of its kind in its place."""
        if pid == self.worker.process.pid:
            self.worker.stop(signal.SIGKILL)
            self.worker = self._servers.worker()
        else:
            server = self.one if self.one.pid == pid else self.two
            server.kill()
            server.start()


@pytest.fixture(scope="module")
def company(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    database = postgres_database(postgres_server, tmp_path_factory.mktemp("company") / "data")
    servers = Servers(database)
    try:
        yield Company(servers)
    finally:
        servers.close()
        drop(postgres_server, database)


async def hire(bp: Bullpen, crew: list[str], delay_ms: int) -> None:
    """Agents that think for a while, then say something long. Each has a room in which it hears everything."""
    steps = [{"delayMs": delay_ms, "calls": [say("send_message", text=f"{LONG}{{{{trigger.text}}}}")]}]
    agents = [{"id": name, "name": name, "model": script({"steps": steps})} for name in crew]
    rooms = [{"id": f"room-{name}", "members": [name], "wake": {"people": "all"}} for name in crew]
    await bp.apply(agents=agents, spaces=rooms)


async def rest(company: Company) -> Snapshot:
    """Until nobody has anything left to do; what the database then holds."""

    async def look() -> bool:
        return await snapshot.ask(company.url, BUSY) == [(0,)]

    await until(look)
    return await snapshot.read(company.url)


async def drivers(company: Company) -> list[int]:
    """The pid of whoever holds a lease, once for each."""
    owners = await snapshot.ask(company.url, "SELECT owner FROM leases WHERE owner IS NOT NULL")
    return [int(owner.split(":")[1]) for (owner,) in owners]


async def a_driver(company: Company) -> int:
    """A process that drives something now, waited for."""

    async def look() -> int | None:
        alive = [pid for pid in await drivers(company) if pid in company.processes]
        return random.choice(alive) if alive else None

    pid = await until(look)
    assert pid is not None
    return pid


@asynccontextmanager
async def heard(bp: Bullpen) -> AsyncIterator[list[Event]]:
    """Everything this server tells from now on."""
    events: list[Event] = []

    async def listen() -> None:
        async for event in following:
            events.append(event)  # noqa: PERF401  it never ends

    async with bp.events() as following:
        task = asyncio.create_task(listen())
        try:
            yield events
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def finished(events: list[Event], count: int) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return sum(event.type == "run_finished" for event in events) >= count

    return look


def said_by(seen: Snapshot, *crew: str) -> Counter[str]:
    """What they said, without the long beginning."""
    return Counter(m["text"].removeprefix(LONG) for m in seen.messages if m["author_id"] in crew)


# ── following ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P7", "M2")
async def test_posts_to_one_server_are_followed_live_on_another(company: Company) -> None:
    """Each run is driven by one process, so at least one of the two servers shows what another one does."""
    crew = [f"writer{n}" for n in range(6)]
    async with company.one.client() as one, company.two.client() as two:
        await hire(one, crew, delay_ms=200)
        async with heard(one) as here, heard(two) as there:
            for name in crew:
                await one.spaces(f"room-{name}").send("hello")
            await until(finished(here, len(crew)))
            await until(finished(there, len(crew)))
    for events in (here, there):
        for name in crew:
            live = {event.type for event in events if event.agent_id == name and event.cursor is None}
            assert {"agent_typing", "tool.streaming", "message_streaming", "agent_done"} <= live, name
            streamed = [
                event["text"] for event in events if event.type == "message_streaming" and event.agent_id == name
            ]
            assert all(f"{LONG}hello".startswith(text) for text in streamed)
    stored = [[event.cursor for event in events if event.cursor] for events in (here, there)]
    assert stored[0] == stored[1]
    types = Counter(event.type for event in there if event.cursor)
    assert types["message_created"] == 2 * len(crew)
    assert types["run_started"] == types["run_finished"] == len(crew)


# ── killing ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P1", "P2", "P3", "V1", "V4", "V15")
async def test_whoever_is_killed_everything_is_finished_once(company: Company) -> None:
    """Kills of whoever happens to drive something, while people post to whichever server answers."""
    crew = [f"worker{n}" for n in range(6)]
    async with company.two.client() as bp:
        await hire(bp, crew, delay_ms=150)
    start = (await snapshot.read(company.url)).events[-1]["place"]
    sends: list[Send] = []
    kills = effort.count(12, sample=2)
    for part in range(kills):
        posting = asyncio.create_task(
            post_all(company, [(name, f"{name} part {part}.{n}") for n in range(2) for name in crew])
        )
        await asyncio.to_thread(company.kill, await a_driver(company))
        sends += await posting
    seen = await rest(company)
    async with company.one.client() as bp:
        follower = await replayed(bp, seen, (start.xid, start.id))
    found = invariants.Seen(seen, at_rest=True, sends=sends, followers=[follower])
    assert invariants.violations(found) == []
    # Words that came in quickly are answered together, by their newest; nothing is answered twice.
    answers = said_by(seen, *crew)
    assert set(answers) <= {send.client_message_id for send in sends}
    assert set(answers.values()) == {1}
    assert {f"{name} part {kills - 1}.1" for name in crew} <= set(answers)


async def post_all(company: Company, words: list[tuple[str, str]]) -> list[Send]:
    for name, text in words:
        await until(partial(posted, company, name, text))
    return [Send(text, "ok", f"room-{name}") for name, text in words]


async def posted(company: Company, name: str, text: str) -> bool:
    """One try, at either server. A lost answer is no answer: the same clientMessageId again."""
    server = random.choice([company.one, company.two])
    try:
        async with Bullpen(server.url, server.token, patience=0.2) as bp, asyncio.timeout(5):
            await bp.spaces(f"room-{name}").send(text, client_message_id=text)
    except (Unreachable, TimeoutError):
        return False
    return True


async def replayed(bp: Bullpen, seen: Snapshot, after: tuple[int, int]) -> Follower:
    """All events after a place, as a server tells them to somebody who comes back."""
    incarnation = next(row["value"] for row in seen["meta"] if row["key"] == "incarnation")
    last = seen.events[-1]["place"]
    places: list[tuple[int, int]] = []
    async with asyncio.timeout(BOUND):
        async for event in bp.events(after=f"{incarnation}.{after[0]}.{after[1]}"):
            if event.cursor is not None:
                places.append(pair(event.cursor))
                if places[-1] >= (last.xid, last.id):
                    break
    return Follower("replay", tuple(places), after)


@pytest.mark.proves("P12")
async def test_a_killed_drivers_work_is_taken_up_by_another(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within a lease and a second; how long it took is printed, since a timed test would fail on a busy machine."""
    async with company.one.client() as bp:
        await hire(bp, ["victim"], delay_ms=1000)
        await bp.spaces("room-victim").send("go on without me")
    pid = await a_driver(company)
    os.kill(pid, signal.SIGKILL)
    killed_at = time.monotonic()

    async def taken_up() -> bool:
        return any(other != pid for other in await drivers(company))

    await until(taken_up)
    took = time.monotonic() - killed_at
    with capsys.disabled():
        print(f"\nresumed {took:.2f} s after kill -9, with a lease of {LEASE:.0f} s")
    seen = await rest(company)
    await asyncio.to_thread(company.kill, pid)
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
    assert said_by(seen, "victim") == {"go on without me": 1}


# ── sleeping ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P3", "V5")
async def test_a_driver_that_slept_through_its_lease_writes_nothing(company: Company) -> None:
    async with company.one.client() as bp:
        await hire(bp, ["sleeper"], delay_ms=700)
        await bp.spaces("room-sleeper").send("do not wait for me")
    pid = await a_driver(company)
    sleeper = company.processes[pid]
    sleeper.process.send_signal(signal.SIGSTOP)
    before = await rest(company)
    assert said_by(before, "sleeper") == {"do not wait for me": 1}, "somebody else has finished it"
    sleeper.process.send_signal(signal.SIGCONT)
    # It wakes with its answer in its hands, and is told that the thread is not its own any more; or it notices first
    # that it has slept for longer than its lease.
    told = ("is driven by somebody else now", "others may drive our threads now")
    await asyncio.to_thread(sleeper.err.wait_for, lambda line: any(words in line for words in told))
    after = await rest(company)
    for table in ("messages", "runs", "run_messages", "inbox_items", "events", "threads", "spaces"):
        assert after[table] == before[table], table
    run = next(run for run in after.runs if run["agent_id"] == "sleeper")
    assert len({entry["token"] for entry in after.journals[run["id"]]}) == 2, "begun by one, finished by another"
    async with company.server_other_than(pid).client() as bp:
        await bp.spaces("room-sleeper").send("and on it goes")
    last = await rest(company)
    assert said_by(last, "sleeper")["and on it goes"] == 1
    assert invariants.violations(invariants.Seen(last, at_rest=True)) == []
