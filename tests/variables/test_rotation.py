"""Turning the key ring while others work, and when something in it is not right. Kills: tests/durability."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import bindparam, update

from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import variables
from bullpen.upkeep import rotation
from bullpen.variables import rows
from bullpen.variables.actions import Vault, ref_of
from bullpen.variables.keys import Keys
from tests.driver import Driver

_SPOIL = Statement(update(variables).where(variables.c.name == bindparam("name_")).values(value="c3BvaWx0IQ=="))


async def set_secret(office: Driver, name: str, value: str) -> None:
    await office.ask("PUT", f"/variables/{name}", json={"value": value, "type": "secret"})


async def secrets(office: Driver) -> dict[str, str]:
    """As a process that has just started reads them."""
    vault = Vault(Keys(office.office.settings.keys_path), {})
    found = await office.office.store.read(lambda tx: rows.select_secrets(tx, limit=1000))
    return {stored.name: vault.opened(ref_of(stored)) for stored in found}


@pytest.mark.proves("F8")
async def test_secrets_set_during_key_rotation_are_all_kept(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 2)
    expected = {f"OLD_{n}": f"old-value-{n}" for n in range(10)}
    for name, value in expected.items():
        await set_secret(office, name, value)
    for round in range(5):
        fresh = {f"NEW_{round}_{n}": f"new-value-{round}-{n}" for n in range(8)}
        expected |= fresh
        turning = asyncio.create_task(office.ask("POST", "/keys/rotate"))
        await asyncio.gather(*(set_secret(office, name, value) for name, value in fresh.items()))
        told = await turning
        assert told["forgotten"] == 1
    assert await secrets(office) == expected
    (key,) = (await office.get("/keys"))["keys"]
    assert key["secrets"] == len(expected)


async def test_rotation_reports_an_unreadable_secret_and_keeps_its_key(office: Driver) -> None:
    await set_secret(office, "GOOD", "a good secret")
    await set_secret(office, "BAD", "a bad secret")

    async def spoil(tx: Transaction) -> None:
        await tx.run(_SPOIL, name_="BAD")

    await office.office.store.transact(spoil)
    told = await office.ask("POST", "/keys/rotate")
    assert (told["secrets"], told["unopened"], told["forgotten"]) == (1, ["BAD of workspace"], 0)
    assert len((await office.get("/keys"))["keys"]) == 2
    await set_secret(office, "BAD", "set again")
    assert await secrets(office) == {"GOOD": "a good secret", "BAD": "set again"}
    assert (await office.ask("POST", "/keys/rotate"))["forgotten"] == 2


async def test_two_rotations_at_once_lose_nothing(office: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "BATCH", 2)
    expected = {f"S_{n}": f"secret-value-{n}" for n in range(12)}
    for name, value in expected.items():
        await set_secret(office, name, value)
    await asyncio.gather(*(office.ask("POST", "/keys/rotate") for _ in range(4)))
    assert await secrets(office) == expected
    await office.ask("POST", "/keys/rotate")
    assert len((await office.get("/keys"))["keys"]) == 1


async def test_an_office_without_secrets_can_rotate_its_keys(office: Driver) -> None:
    assert (await office.get("/keys"))["keys"] == []
    told = await office.ask("POST", "/keys/rotate")
    assert told["secrets"] == 0
    assert len((await office.get("/keys"))["keys"]) == 1
