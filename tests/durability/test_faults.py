"""What a database can do to us: go away, fall silent, run full, become read-only, fail to keep.

The API says what is the matter, nothing acknowledged is lost, and when it is over work goes on by itself. Offices in
this process where that is enough; a real server where the process itself is the question.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from bullpen.events import rows
from bullpen.observe import counts
from bullpen.settings import EngineSettings
from bullpen.storage.postgres import PostgresStore
from bullpen.storage.sqlite import SqliteStore
from bullpen.storage.store import Store
from bullpen.testing import invariants, snapshot
from bullpen.testing.histories import Send
from tests import effort
from tests.cli.processes import PythonProcess
from tests.databases import Database, drop, postgres_database, sqlite_database
from tests.disks import fill
from tests.driver import Driver, Json, Offices
from tests.durability.proxies import Network, network_to
from tests.hangs import fair_share
from tests.postgres import PostgresServer
from tests.servers import Servers
from tests.waits import BOUND, until

LEASE = 2.0
ECHO: Json = {"steps": [{"calls": [{"tool": "send_message", "args": {"text": "Heard: {{trigger.text}}"}}]}]}


def slow(milliseconds: int, when: str = "") -> Json:
    return {"when": when, "steps": [{**ECHO["steps"][0], "delayMs": milliseconds}]}


class Impatient(Database):
    """One whose silence is noticed within a test's time."""

    def store(self, *, watch_turns: bool = True, pool_size: int = 10) -> Store:
        return PostgresStore(self.url, pool_size=pool_size, answer_seconds=1.0)


@pytest.fixture
def postgres(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Database]:
    made = postgres_database(postgres_server, tmp_path / "data")
    yield made
    drop(postgres_server, made)


@pytest.fixture
def network(postgres: Database) -> Iterator[Network]:
    with network_to(postgres) as (network, _):
        yield network
        network.mend()  # so that whoever closes finds its database


@pytest.fixture
async def far(postgres: Database, network: Network) -> AsyncIterator[Offices]:
    """Offices whose way to the database is this network."""
    async with AsyncExitStack() as stack:
        path = postgres.url.partition("?")[0].rpartition("/")[2]
        url = f"postgresql://postgres@127.0.0.1:{network.port}/{path}"
        yield Offices(Impatient("postgres", url, postgres.data), stack)
        network.mend()


@pytest.fixture
async def near(postgres: Database, tmp_path: Path) -> AsyncIterator[Offices]:
    """Offices on the same database, beside that network."""
    async with AsyncExitStack() as stack:
        (tmp_path / "near").mkdir()
        yield Offices(Database("postgres", postgres.url, tmp_path / "near"), stack)


async def hall(office: Driver, *turns: Json) -> None:
    await office.agent("ada", turns)
    await office.space("hall", ["ada"], wake={"people": "all"})


async def at_rest(office: Driver, url: str, sends: list[Send] | None = None) -> None:
    await office.idle()
    seen = invariants.Seen(await snapshot.read(url), at_rest=True, sends=sends or [])
    assert invariants.violations(seen) == []


async def until_posted(office: Driver, text: str) -> float:
    """Post until somebody takes it, once; how many seconds that took."""
    began = time.monotonic()
    async with asyncio.timeout(BOUND):
        while True:
            body = {"text": text, "clientMessageId": text}
            response = await office.http.post("/spaces/hall/messages", json=body)
            if response.status_code == 201:
                return time.monotonic() - began
            assert response.status_code in (503, 507), response.text
            await asyncio.sleep(0.05)


# ── PostgreSQL goes away and comes back ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-outage")
async def test_a_database_outage_answers_503_and_work_resumes_afterwards(
    far: Offices, network: Network, postgres: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    office = await far.open()
    await hall(office, ECHO)
    await office.post("hall", "one")
    await office.run_finished("ada")
    network.cut()
    for method, path, body in (("POST", "/spaces/hall/messages", {"text": "lost"}), ("GET", "/spaces", None)):
        response = await office.http.request(method, path, json=body)
        assert response.status_code == 503, response.text
        assert int(response.headers["retry-after"]) >= 1
        assert "PostgreSQL" in response.json()["error"]["message"]
    assert (await office.http.get("http://127.0.0.1/readyz")).json()["failing"] == ["database"]
    assert (await office.http.get("http://127.0.0.1/healthz")).status_code == 200
    network.mend()
    took = await until_posted(office, "two")
    await office.run_finished("ada", nth=2)
    with capsys.disabled():
        print(f"\nserving again {took:.2f} s after the database was back")
    assert await office.texts("hall") == ["one", "Heard: one", "two", "Heard: two"]
    assert (await office.http.get("http://127.0.0.1/readyz")).status_code == 200
    told = [e["message"]["text"] for e in office.events if e["type"] == "message_created"]
    assert told == ["one", "Heard: one", "two", "Heard: two"], "the stream went on, without a gap or a repeat"
    await at_rest(office, postgres.url)


@pytest.mark.proves("B-outage")
async def test_the_very_first_request_may_find_no_database(far: Offices, network: Network) -> None:
    """A server that has just started does not know yet whether the office has an owner."""
    office = await far.open(watch=False)
    network.cut()
    raising = httpx.ASGITransport(office.office.api)  # what nobody has caught would be a traceback in the log
    async with httpx.AsyncClient(transport=raising, base_url="http://office") as http:
        response = await http.get("/api/spaces")
    assert response.status_code == 503
    assert "PostgreSQL" in response.json()["error"]["message"]


async def test_repeated_database_outages_lose_or_double_nothing_acknowledged(
    far: Offices, network: Network, postgres: Database
) -> None:
    office = await far.open(watch=False)
    await hall(office, ECHO)
    sends: dict[str, Send] = {}
    ended = asyncio.Event()

    async def sender(name: str) -> None:
        for number in itertools.count():
            if ended.is_set():
                return
            id = f"{name}-{number}"
            response = await office.http.post("/spaces/hall/messages", json={"text": id, "clientMessageId": id})
            unknown = response.status_code == 503 and "nobody knows" in response.text
            outcome: Any = "ok" if response.status_code == 201 else "unknown" if unknown else "failed"
            assert outcome != "failed" or response.status_code == 503, response.text
            sends[id] = Send(id, outcome, "hall")

    async def more_acknowledged() -> None:
        """However long a busy machine takes: the outage comes between messages that were taken."""
        before = sum(send.outcome == "ok" for send in sends.values())

        async def enough() -> bool:
            return sum(send.outcome == "ok" for send in sends.values()) >= before + 4

        await until(enough)

    senders = [asyncio.create_task(sender(name)) for name in ("pia", "otto", "rosa")]
    for _ in range(effort.count(4, sample=2)):
        await more_acknowledged()
        network.cut()
        await asyncio.sleep(0.3)
        network.mend()
    await more_acknowledged()
    ended.set()
    await asyncio.gather(*senders)
    await until_posted(office, "last")
    await at_rest(office, postgres.url, list(sends.values()))


# ── the network swallows everything ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-half-open")
async def test_a_cut_off_worker_stops_and_another_takes_its_threads(
    far: Offices, near: Offices, network: Network, postgres: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = await far.open(watch=False, engine=EngineSettings(lease_seconds=LEASE))
    await hall(lost, slow(5000, when="carry on"), ECHO)
    await lost.post("hall", "carry on")
    await lost.until(lambda: _is(bool(lost.office.engine.driving)))
    other = await near.open(engine=EngineSettings(lease_seconds=LEASE))
    network.swallow()
    began = time.monotonic()
    response = await lost.http.get("/spaces")
    assert response.status_code == 503, "it does not wait for ever"
    await lost.until(lambda: _is(not lost.office.engine.driving))
    stopped = time.monotonic() - began
    assert stopped * fair_share() < 4.5, "long before its model would have answered"
    await other.until(lambda: _is(bool(other.office.engine.driving)))
    took = time.monotonic() - began
    with capsys.disabled():
        print(
            f"\nlease {LEASE:.0f} s: the one cut off stopped after {stopped:.1f} s, another had it after {took:.1f} s"
        )
    await other.run_finished("ada")
    fenced = counts.FENCED.total()
    network.mend()
    assert await other.texts("hall") == ["carry on", "Heard: carry on"]
    await until_posted(lost, "and on")
    await other.run_finished("ada", nth=2)
    assert await other.texts("hall") == ["carry on", "Heard: carry on", "and on", "Heard: and on"]
    assert counts.FENCED.total() >= fenced
    await at_rest(other, postgres.url)


async def _is(value: bool) -> bool:
    return value


# ── the disk ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("B-disk-full")
async def test_a_full_disk_refuses_writes_serves_reads_and_delays_runs(small_disk: Path, sqlite_template: Path) -> None:
    database = sqlite_database(small_disk / "data", sqlite_template)
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(engine=EngineSettings(lease_seconds=1.0))
        await hall(office, slow(300))
        await office.post("hall", "think about it")
        await office.event("run_started")
        fill(small_disk / "filler")
        response = await office.http.post("/spaces/hall/messages", json={"text": "x" * 20_000})
        assert response.status_code == 507
        assert response.json()["error"]["code"] == "disk_full"
        await office.until(lambda: _is(not office.office.engine.driving))  # the answer could not be kept
        assert await office.texts("hall") == ["think about it"]
        follower, chunks = await office.office.feed.follow(await office.office.local_owner())
        assert (await anext(chunks)).startswith(b": welcome")
        await office.office.store.transact(rows.ensure_incarnation)  # fits, because it changes nothing
        ready = await office.http.get("http://127.0.0.1/readyz")
        assert (ready.status_code, ready.json()["failing"]) == (503, ["disk"])
        (small_disk / "filler").unlink()
        run = await office.run_finished("ada")
        assert run["outcome"] == "spoke"
        await until_posted(office, "and now?")
        await office.run_finished("ada", nth=2)
        texts = await office.texts("hall")
        assert texts == ["think about it", "Heard: think about it", "and now?", "Heard: and now?"]
        assert (await office.http.get("http://127.0.0.1/readyz")).status_code == 200
        office.office.feed.leave(follower)
        await at_rest(office, database.url)


class Refusing:
    """A writer's connection on a file system that has just become read-only."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._real = store._writer
        store._writer = self  # type: ignore[assignment]

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorcode = sqlite3.SQLITE_READONLY
            raise error
        return self._real.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def relent(self) -> None:
        self._store._writer = self._real


async def test_a_read_only_disk_refuses_writes_and_serves_reads(tmp_path: Path, sqlite_template: Path) -> None:
    database = sqlite_database(tmp_path / "data", sqlite_template)
    async with AsyncExitStack() as stack:
        office = await Offices(database, stack).open(engine=EngineSettings(lease_seconds=1.0))
        await hall(office, ECHO)
        store = office.office.store
        assert isinstance(store, SqliteStore)
        disk = Refusing(store)
        response = await office.http.post("/spaces/hall/messages", json={"text": "hello"})
        assert response.status_code == 503
        assert "read-only" in response.json()["error"]["message"]
        assert await office.texts("hall") == []
        disk.relent()
        await until_posted(office, "again")
        await office.run_finished("ada")
        await at_rest(office, database.url)


FAILING_FSYNC = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int fails(void) { const char *path = getenv("FSYNC_FAILS"); return path && access(path, F_OK) == 0; }
int fsync(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    if (fails()) { errno = EIO; return -1; }
    return real(fd);
}
int fdatasync(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    if (fails()) { errno = EIO; return -1; }
    return real(fd);
}
"""


@pytest.fixture
def failing_disk(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A file, and the settings of a server whose disk fails to keep changes while that file is there."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make a failing disk with")
    source, library, switch = tmp_path / "fsync.c", tmp_path / "fsync.so", tmp_path / "failing"
    source.write_text(FAILING_FSYNC)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return switch, {"LD_PRELOAD": str(library), "FSYNC_FAILS": str(switch)}


@pytest.mark.proves("B-fsync")
async def test_after_a_failed_fsync_a_server_refuses_further_writes(
    tmp_path: Path, sqlite_template: Path, failing_disk: tuple[Path, dict[str, str]]
) -> None:
    switch, settings = failing_disk
    servers = Servers(sqlite_database(tmp_path / "data", sqlite_template))
    try:
        server = servers.serve(PythonProcess, **settings)  # only a new Python loads another library
        async with server.client() as bp:
            await bp.spaces.create(id="hall")
            await bp.spaces("hall").send("kept")
            switch.touch()
            response = await bp._connection.http.post("/api/spaces/hall/messages", json={"text": "doubtful"})
            assert response.status_code == 503
            response = await bp._connection.http.post("/api/spaces/hall/messages", json={"text": "refused"})
            assert response.status_code == 503
            assert "Restart the server" in response.json()["error"]["message"]
            switch.unlink()
            response = await bp._connection.http.post("/api/spaces/hall/messages", json={"text": "refused"})
            assert response.status_code == 503, "a disk that failed once is not believed again"
            assert (await bp._connection.http.get("/readyz")).json()["failing"] == ["disk"]
            assert (await bp.spaces("hall").messages())[0].text == "kept"
        assert any("nothing more is written" in line for line in server.process.err.so_far())
        server.restart()
        async with server.client() as bp:
            await bp.spaces("hall").send("after")
            texts = [message.text for message in await bp.spaces("hall").messages()]
        assert texts in (["kept", "after"], ["kept", "doubtful", "after"])
    finally:
        servers.close()
