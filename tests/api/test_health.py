"""Alive, ready, or neither: what a load balancer and a service manager ask, and what they are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bullpen.errors import DiskFull
from bullpen.storage import Transaction
from bullpen.storage.sqlite import SqliteStore
from bullpen.storage.statements import Statement
from bullpen.storage.tables import schema_migrations
from tests.driver import Api, Driver, Offices
from tests.waits import BOUND, until


async def asked(office: Driver, path: str) -> tuple[int, Any]:
    """As somebody without a token."""
    response = await Api(office.office, None).http.get(f"http://127.0.0.1{path}")
    return response.status_code, response.json()


@pytest.mark.one_database
async def test_a_running_server_tells_anybody_it_is_alive_and_ready(office: Driver) -> None:
    assert await asked(office, "/healthz") == (200, {"alive": True})
    assert await asked(office, "/readyz") == (200, {"ready": True, "failing": []})


@pytest.mark.one_database
async def test_a_server_without_a_running_engine_is_not_ready(offices: Offices) -> None:
    office = await offices.open(drive=False, watch=False)
    assert await asked(office, "/readyz") == (503, {"ready": False, "failing": ["engine"]})
    assert (await asked(office, "/healthz"))[0] == 200


async def test_without_its_database_a_server_is_alive_but_not_ready(offices: Offices) -> None:
    office = await offices.open(watch=False)
    await office.office.store.close()
    status, answer = await asked(office, "/readyz")
    assert status == 503
    assert "database" in answer["failing"]
    assert (await asked(office, "/healthz"))[0] == 200


@pytest.mark.one_database
async def test_the_readiness_check_does_not_wait_for_a_silent_database(
    offices: Offices, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = await offices.open(watch=False)
    monkeypatch.setattr("bullpen.api.health.PATIENCE_SECONDS", 0.05)

    async def silence(body: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(office.office.store, "read", silence)
    async with asyncio.timeout(BOUND):
        assert await asked(office, "/readyz") == (503, {"ready": False, "failing": ["database"]})


async def test_a_server_with_a_newer_schema_is_not_ready(office: Driver) -> None:
    async def from_the_future(tx: Transaction) -> None:
        await tx.run(Statement(schema_migrations.insert()), number=9999, name="later", applied_at="2030")

    await office.office.store.transact(from_the_future)
    assert await asked(office, "/readyz") == (503, {"ready": False, "failing": ["schema"]})


async def test_after_a_failed_fsync_a_server_is_not_ready(office: Driver) -> None:
    store = office.office.store
    if not isinstance(store, SqliteStore):
        pytest.skip("PostgreSQL has its own way of stopping")
    store._failed = True
    assert await asked(office, "/readyz") == (503, {"ready": False, "failing": ["disk"]})


async def test_after_a_change_found_no_room_a_server_is_unready(office: Driver) -> None:
    """However much room the data folder has: a database elsewhere has a disk of its own."""

    async def refuse(tx: Transaction) -> None:
        raise DiskFull("no room")

    async def is_unready() -> bool:
        with pytest.raises(DiskFull):
            await office.office.store.transact(refuse)
        return await asked(office, "/readyz") == (503, {"ready": False, "failing": ["disk"]})

    await until(is_unready)  # the office's own work may commit something in between, and then there is room again
    await office.space("hall")
    assert await asked(office, "/readyz") == (200, {"ready": True, "failing": []})


@pytest.mark.one_database
async def test_every_answer_carries_an_id_that_we_made(office: Driver) -> None:
    sent = {"X-Request-Id": "req_mine"}
    answers = [await office.http.get(path, headers=sent) for path in ("/me", "/nowhere", "/spaces/none")]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == 3
    assert all(id.startswith("req_") and id != "req_mine" for id in ids)
