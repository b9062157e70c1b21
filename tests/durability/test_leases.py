"""Who holds a thread, and who only seems to: leases nobody drives, jobs that come twice, drives that lost theirs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bullpen.engine import leases
from bullpen.errors import Fenced
from bullpen.settings import EngineSettings
from bullpen.storage import Store, Transaction
from bullpen.testing import invariants, snapshot
from tests.cli.processes import bullpen
from tests.databases import Database, drop, postgres_database, sql
from tests.driver import Driver, Json, Offices
from tests.postgres import PostgresServer
from tests.waits import until

LEASE = 2.0
HOUR_MS = 3_600_000
NOW = "CAST(extract(epoch from clock_timestamp()) * 1000 AS BIGINT)"
ECHO: Json = {"calls": [{"tool": "send_message", "args": {"text": "Heard: {{trigger.text}}"}}]}
SLOW: Json = {**ECHO, "delayMs": 600_000}


@pytest.fixture
def postgres(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Database]:
    made = postgres_database(postgres_server, tmp_path / "data")
    yield made
    drop(postgres_server, made)


@pytest.fixture
async def shared(postgres: Database) -> AsyncIterator[Driver]:
    """An office on PostgreSQL, where others could be."""
    async with AsyncExitStack() as stack:
        yield await Offices(postgres, stack).open(engine=EngineSettings(lease_seconds=LEASE))


async def hall(office: Driver, step: Json) -> None:
    await office.agent("ada", steps=[step])
    await office.space("hall", ["ada"], wake={"people": "all"})


async def only_lease(url: str) -> Json:
    (lease,) = (await snapshot.read(url))["leases"]
    return lease


async def is_driven(office: Driver) -> bool:
    return bool(office.office.engine.driving)


async def drive_slowly(office: Driver) -> None:
    await hall(office, SLOW)
    await office.post("hall", "think")
    await until(partial(is_driven, office))


@pytest.mark.proves("P3")
async def test_a_driver_with_an_old_token_writes_nothing(office: Driver) -> None:
    """Whoever took the thread over has another token, so this driver's next transaction is refused."""
    await hall(office, ECHO)
    await office.post("hall", "one")
    await office.run_finished("ada")
    (thread_id,) = {run["threadId"] for run in (await office.get("/runs"))["items"]}
    taken = await office.office.store.transact(lambda tx: leases.seize(tx, thread_id))
    assert taken is not None
    await office.office.store.transact(lambda tx: leases.check(tx, taken))
    with pytest.raises(Fenced, match="driven by somebody else"):
        await office.office.store.transact(lambda tx: leases.check(tx, replace(taken, token=taken.token - 1)))


# ── leases that nobody drives ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("P12", "V15")
async def test_a_lease_of_ones_own_that_nobody_drives_is_taken(shared: Driver, postgres: Database) -> None:
    """As after a claim whose commit was kept, and whose answer got lost."""
    await hall(shared, ECHO)
    await shared.post("hall", "one")
    await shared.run_finished("ada")
    await shared.idle()
    sql(postgres.url, f"UPDATE leases SET owner = '{shared.office.owner}', until = {NOW} + {HOUR_MS}")
    await shared.post("hall", "two")
    await shared.run_finished("ada", nth=2)
    assert await shared.texts("hall") == ["one", "Heard: one", "two", "Heard: two"]


@pytest.mark.proves("P12", "V15")
async def test_the_sweep_takes_up_an_orphan_of_its_own_process(shared: Driver, postgres: Database) -> None:
    await hall(shared, ECHO)
    await shared.post("hall", "one")
    await shared.run_finished("ada")
    await shared.idle()
    sql(
        postgres.url,
        f"UPDATE leases SET owner = '{shared.office.owner}', until = {NOW} + {HOUR_MS}",
        "UPDATE threads SET state = 'queued', epoch = epoch + 1",  # and no job says so
    )
    await shared.idle()
    assert (await only_lease(postgres.url))["owner"] is None


async def test_a_lease_of_another_process_is_waited_for(shared: Driver, postgres: Database) -> None:
    await hall(shared, ECHO)
    await shared.post("hall", "one")
    await shared.run_finished("ada")
    await shared.idle()
    sql(postgres.url, f"UPDATE leases SET owner = 'other:1:x', until = {NOW} + {HOUR_MS}")
    await shared.post("hall", "two")
    await until(partial(has_a_drive, shared))
    assert not shared.office.engine.driving
    before = (await only_lease(postgres.url))["until"]
    await renewals(shared, 2)
    lease = await only_lease(postgres.url)
    assert (lease["owner"], lease["until"]) == ("other:1:x", before), "nobody renews what it waits for"


async def has_a_drive(office: Driver) -> bool:
    return bool(office.office.engine.drives)


async def renewals(office: Driver, count: int) -> None:
    """So many rounds of the loop that renews: with every round it asks for what is held."""
    holdings, seen = office.office.engine.holdings, 0
    asked = holdings.tokens

    def tokens() -> dict[str, int]:
        nonlocal seen
        seen += 1
        return dict(asked())

    async def enough() -> bool:
        return seen > count

    holdings.tokens = tokens  # type: ignore[method-assign]
    try:
        await until(enough)
    finally:
        holdings.tokens = asked  # type: ignore[method-assign]


# ── drives that have lost theirs ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("V5")
async def test_a_drive_that_lost_its_lease_stops_while_it_thinks(shared: Driver, postgres: Database) -> None:
    await drive_slowly(shared)
    sql(postgres.url, f"UPDATE leases SET owner = 'other:1:x', token = token + 1, until = {NOW} + {HOUR_MS}")

    async def stopped() -> bool:
        return not shared.office.engine.driving

    await until(stopped)
    assert (await only_lease(postgres.url))["owner"] == "other:1:x"


@pytest.mark.proves("V15")
async def test_two_jobs_for_one_thread_make_one_renewed_drive(shared: Driver, postgres: Database) -> None:
    """One is under way when the other comes; then it loses the thread, as when somebody is erased."""
    await drive_slowly(shared)
    first = await only_lease(postgres.url)
    await enqueue_again(shared, first)
    sql(postgres.url, "UPDATE leases SET owner = NULL, until = 0, token = token + 1")

    async def taken_again() -> Json | None:
        lease = await only_lease(postgres.url)
        return lease if lease["owner"] is not None and lease["token"] > first["token"] + 1 else None

    second = await until(taken_again)
    assert second is not None

    async def renewed() -> bool:
        lease = await only_lease(postgres.url)
        assert lease["token"] == second["token"], "one drive, which keeps it"
        return bool(lease["until"] >= second["until"] + 1000 * LEASE)

    await until(renewed)
    assert shared.office.engine.driving == {first["thread_id"]}
    assert len(shared.office.engine.drives) == 1


async def enqueue_again(office: Driver, lease: Json) -> None:
    """A second job for the same waking: what the queue does when it has not heard of the first for a while."""
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    async def body(tx: Transaction) -> None:
        queries = Queries(AsyncpgDriver(tx.connection))  # type: ignore[attr-defined]
        await queries.enqueue("drive", f"{lease['thread_id']}|{lease['epoch']}".encode())

    async def is_taken() -> bool:
        return bool(office.office.engine._waiting)

    await office.office.store.transact(body)
    await until(is_taken)


async def test_renewing_keeps_only_leases_with_that_very_token(store: Store) -> None:
    async def body(tx: Transaction) -> tuple[set[str], set[str]]:
        for id in ("a", "b", "c"):
            await leases.insert_lease(tx, id)
            await tx.run(leases._TAKE, id_=id, owner_="you" if id == "c" else "me", epoch_=1, millis=1000)
        kept = await leases.renew(tx, {"a": 1, "b": 7, "c": 1}, owner="me", millis=1000)
        return kept, await leases.renew(tx, {"b": 1}, owner="me", millis=1000)

    assert await store.transact(body) == ({"a"}, {"b"})


# ── runs that should be moving and are not ──────────────────────────────────────────────────────────────────────────


def backdate(database: Database, seconds: int) -> None:
    """Nothing has been heard of any run for so long, though its lease is alive."""
    millis = 1000 * seconds
    statements = (
        f"UPDATE leases SET since = since - {millis}",
        f"UPDATE threads SET queued_at = queued_at - {millis}",
        "UPDATE runs SET started_at = '2020-01-01T00:00:00.000000Z'",
        "UPDATE run_messages SET at = '2020-01-01T00:00:00.000000Z'",
    )
    if database.kind == "postgres":
        sql(database.url, *statements)
        return
    with closing(sqlite3.connect(database.path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


async def stalled(office: Driver) -> float:
    text = (await office.http.get("http://127.0.0.1/metrics")).text
    return float(next(line for line in text.splitlines() if line.startswith("bullpen_runs_stalled ")).split()[1])


def doctor_says(database: Database) -> Json:
    done = bullpen(database.data, "doctor", "--json", DATABASE_URL=database.url, BULLPEN_PORT="0")
    found: Json = next(finding for finding in json.loads(done.stdout)["findings"] if finding["part"] == "queue")
    return found


async def v15(database: Database) -> list[str]:
    seen = invariants.Seen(await snapshot.read(database.url), lease_ms=8000)
    return invariants.check(seen)["V15"]


@pytest.mark.proves("V15")
async def test_a_run_that_stands_still_is_seen_by_all(offices: Offices, database: Database) -> None:
    office = await offices.open()
    await drive_slowly(office)
    (run,) = await office.runs()
    backdate(database, 590)  # a model may take this long
    assert await stalled(office) == 0
    assert await v15(database) == []
    backdate(database, 600)
    assert await stalled(office) == 1
    assert [line for line in await v15(database) if run["id"] in line]
    found = doctor_says(database)
    if database.kind == "postgres":  # on SQLite it sees no server here, since there is none
        assert found["level"] == "problem"
        assert run["id"] in found["message"]


async def test_a_run_that_nobody_drives_is_stalled_after_two_leases(shared: Driver, postgres: Database) -> None:
    await drive_slowly(shared)
    await shared.office.engine.stop()
    sql(postgres.url, "UPDATE leases SET owner = 'dead:1:x', until = 1")
    assert await stalled(shared) == 0
    backdate(postgres, 10)
    assert await stalled(shared) == 1
    assert [line for line in await v15(postgres) if "nobody has driven it" in line] == []
    backdate(postgres, 10)
    assert [line for line in await v15(postgres) if "nobody has driven it" in line]
