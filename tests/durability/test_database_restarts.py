"""PostgreSQL goes away under a server that has much to do: everything goes on by itself, and is done once.

The database server is one of our own (tests/postgres.py:restartable): the one that other tests share stays up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bullpen.client import Bullpen
from bullpen.testing import invariants, snapshot
from bullpen.testing.bridges import MemoryBridge
from bullpen.testing.forks import Forks
from bullpen.testing.snapshot import Snapshot
from bullpen.testing.telling import differences
from tests import effort
from tests.databases import Database, drop, make_postgres_template, postgres_database
from tests.driver import Offices
from tests.durability.outages import Outage, Outages, outages_of
from tests.durability.story import say, script
from tests.durability.tellings import NAMES, Story
from tests.durability.worlds import Worlds, in_memory
from tests.postgres import RestartableServer, StopMode, restartable, why_absent
from tests.servers import Server, Servers
from tests.waits import BOUND, until

# Long enough for drives to give up, not long enough for their leases to run out: the worst there is.
LEASE_SECONDS = "8"
WORST = 5.7
TIMES: Sequence[tuple[Outage, float]] = (
    ("immediate", WORST),
    ("terminated", 0.5),
    ("half-open", WORST),
    ("cut", 1.0),
    ("fast", WORST),
    ("cut", WORST),
    ("immediate", 1.0),
    ("half-open", 10.0),
    ("fast", 10.0),
    ("terminated", 0.0),
)


@pytest.fixture(scope="module")
def own_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableServer]:
    if reason := why_absent():
        pytest.skip(reason)
    with restartable() as server:
        make_postgres_template(server, tmp_path_factory.mktemp("backups"))
        yield server


@pytest.fixture(scope="module")
def outages(own_postgres: RestartableServer) -> Iterator[Outages]:
    with outages_of(own_postgres) as found:
        yield found


@pytest.fixture
def database(own_postgres: RestartableServer, tmp_path: Path) -> Iterator[Database]:
    made = postgres_database(own_postgres, tmp_path / "data")
    yield made
    drop(own_postgres, made)


@pytest.fixture
def server(database: Database, outages: Outages) -> Iterator[Server]:
    far = Database("postgres", outages.url(urlsplit(database.url).path[1:]), database.data)
    servers = Servers(far)
    try:
        yield servers.serve(BULLPEN_ENGINE__LEASE_SECONDS=LEASE_SECONDS, BULLPEN_DATABASE_SECONDS="3")
    finally:
        servers.close()


async def hire(bp: Bullpen, crew: Sequence[str], *, steps: int, ms: int) -> None:
    """Agents that remember something at each step and speak at the last one. Each has a room of its own."""
    work = [{"delayMs": ms, "calls": [say("store_memory", content="{{trigger.text}}")]}] * (steps - 1)
    work.append({"delayMs": ms, "calls": [say("send_message", text="done: {{trigger.text}}")]})
    agents = [
        {"id": name, "name": name, "tools": ["messaging", "memory"], "model": script({"steps": work})} for name in crew
    ]
    await bp.apply(agents=agents, spaces=[{"id": f"room-{n}", "members": [n], "wake": {"people": "all"}} for n in crew])


async def at_rest(url: str) -> Snapshot | None:
    seen = await snapshot.read(url)
    return None if any(thread["state"] != "idle" for thread in seen["threads"]) else seen


@pytest.mark.proves("P12", "V15", "B-outage")
async def test_all_runs_end_however_often_the_database_goes_away(
    server: Server, database: Database, outages: Outages
) -> None:
    began = time.monotonic()
    crew = [f"worker{n}" for n in range(12)]
    async with server.client() as bp:
        await hire(bp, crew, steps=10, ms=1200)
        for name in crew:
            await bp.spaces(f"room-{name}").send("go")
    for kind, seconds in effort.pick(TIMES, sample=2):
        await until(partial(somebody_writes, database.url, await count_entries(database.url)))
        await outages.suffer(kind, seconds)
    seen = await until(partial(at_rest, database.url))
    assert seen is not None
    assert invariants.violations(invariants.Seen(seen, at_rest=True)) == []
    assert sorted(m["author_id"] for m in seen.messages if m["text"] == "done: go") == sorted(crew)
    check_log(server, time.monotonic() - began)


async def count_entries(url: str) -> int:
    return len((await snapshot.read(url))["run_messages"])


async def somebody_writes(url: str, before: int) -> bool:
    """Runs are under way, or all are done."""
    return await count_entries(url) > before or await at_rest(url) is not None


def check_log(server: Server, seconds: float) -> None:
    lines = server.process.err.so_far()
    assert not [line for line in lines if "Traceback" in line], "\n".join(lines)
    loud = [line for line in lines if " WARNING " in line or " ERROR " in line]
    away = [line for line in loud if "the database cannot be used" in line]
    assert 1 <= len(away) <= 1 + seconds // 60, "\n".join(lines)
    others = [line for line in loud if line not in away and "others may drive our threads now" not in line]
    assert not others, "\n".join(lines)


@pytest.mark.proves("P12")
async def test_a_long_run_delays_no_other_after_an_outage(server: Server, database: Database, outages: Outages) -> None:
    async with server.client() as bp:
        await hire(bp, ["slow"], steps=1, ms=300_000)
        await hire(bp, ["quick"], steps=1, ms=0)
        await bp.spaces("room-slow").send("take your time")
        await until(partial(has_begun, database.url, "slow"))
        await outages.suffer("immediate", 2.0)  # it must be noticed
        await until(partial(is_posted, bp, "room-quick", "hurry"))
        seen = await until(partial(has_ended, database.url, "quick"))
    assert seen is not None
    assert [run["agent_id"] for run in seen.runs if run["finished_at"] is None] == ["slow"]


# ── a chat elsewhere ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-outbox", "B-outage")
@pytest.mark.parametrize("kind", effort.pick(("cut", "immediate", "half-open"), sample=1))
async def test_what_arrived_during_an_outage_is_not_repeated(
    database: Database, outages: Outages, kind: Outage
) -> None:
    far = Database("postgres", outages.url(urlsplit(database.url).path[1:]), database.data)
    bridge = MemoryBridge()
    async with AsyncExitStack() as stack:
        office = await Offices(far, stack).open(bridges=[bridge], watch=False, database_seconds=3)
        await office.space("family", kind="group", bridge="mem:1")
        bridge.will("hang")
        await office.post("family", "one")
        await office.post("family", "two")
        await until(partial(has_status, database.url, "sending"))
        async with outages.during(kind):
            bridge.hanging.set()
            await until(partial(has_arrived, bridge))
        seen = await until(partial(has_status, database.url, "sent", count=2))
    assert seen is not None
    assert invariants.violations(invariants.Seen(seen, arrivals=bridge.arrived)) == []
    assert ([arrival.text for arrival in bridge.arrived], bridge.faults) == (["one", "two"], [])


async def has_arrived(bridge: MemoryBridge) -> bool:
    return bool(bridge.arrived)


async def has_status(url: str, status: str, count: int = 1) -> Snapshot | None:
    seen = await snapshot.read(url)
    return seen if [entry["status"] for entry in seen["outbox"]].count(status) >= count else None


# ── the crash story ─────────────────────────────────────────────────────────────────────────────────────────────────

MODES: Sequence[StopMode] = ("immediate", "fast")


@pytest.fixture(scope="module")
def story(own_postgres: RestartableServer, forks: Forks) -> Iterator[Story]:
    with in_memory() as folder:
        worlds = Worlds("postgres", folder, template=None, server=own_postgres)
        yield Story(forks, worlds)
        worlds.end_all()


@pytest.mark.proves("P1", "P2", "P3", "P12", "V2", "V5", "V6", "V8", "V15", "B-outage")
@pytest.mark.parametrize("name", effort.pick(NAMES[:-1], sample=2))
def test_a_database_restart_after_any_commit_changes_nothing(
    story: Story, own_postgres: RestartableServer, name: str
) -> None:
    """The office goes on by itself. As in test_crash_after_every_commit.py, but there it is the office that dies."""
    chapter = story.calm(name)
    commits = chapter.commits - chapter.began
    for number, mode in enumerate(effort.pick([*MODES, *MODES], sample=1), start=NAMES.index(name)):
        # Not one of the last: in another life they may share a commit, and never come.
        commit = 1 + number * 7 % max(1, commits * 2 // 3)
        world = story.worlds.new(story.beginning(name))
        child = story.forks.start("tell", url=world.url, data=str(world.data), chapters=[name], stop_in=commit)
        assert child.next_report(BOUND) == {"stop": True}
        own_postgres.stop(mode)
        own_postgres.start()
        found = child.next_report(BOUND)
        assert [*found["violations"], *differences(chapter.told, found["told"])] == [], f"{mode} after commit {commit}"
        child.wait(BOUND)
        story.forks.forget(child)
        story.worlds.end(world)


# ── what tests ask ──────────────────────────────────────────────────────────────────────────────────────────────────


async def has_begun(url: str, agent: str) -> bool:
    seen = await snapshot.read(url)
    held = {lease["thread_id"] for lease in seen["leases"] if lease["owner"] is not None}
    return any(run["agent_id"] == agent and run["thread_id"] in held for run in seen.runs)


async def has_ended(url: str, agent: str) -> Snapshot | None:
    seen = await snapshot.read(url)
    return seen if any(run["agent_id"] == agent and run["finished_at"] for run in seen.runs) else None


async def is_posted(bp: Bullpen, space_id: str, text: str) -> bool:
    response = await bp._connection.http.post(
        f"/api/spaces/{space_id}/messages", json={"text": text, "clientMessageId": text}
    )
    return response.status_code == 201
