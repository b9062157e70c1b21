"""Turning the key ring, killed at every point: no secret is lost, the next one finishes. (Crash point 24.)"""

from __future__ import annotations

import asyncio

import pytest

from bullpen.access.rules import SYSTEM
from bullpen.app import open_store
from bullpen.storage import Transaction
from bullpen.testing.crash import settings_for
from bullpen.testing.forks import Forks
from bullpen.variables import actions, rows
from bullpen.variables.actions import Vault, ref_of
from bullpen.variables.keys import Keys
from bullpen.variables.types import Scope
from tests.databases import Database
from tests.durability.lives import Found, live, pick_kills
from tests.durability.worlds import Worlds

SECRETS = {f"SECRET_{number}": f"value-of-{number}-{number * 7919}" for number in range(88)}
LEAST = 50  # points
SAMPLE = 6


async def look(world: Database) -> tuple[dict[str, str], dict[str, int], str | None, set[str]]:
    """Every secret, how many each key seals, which one seals now, and which the file holds."""
    settings = settings_for(world.url, str(world.data))
    store = open_store(settings)
    await store.open()
    try:
        vault = Vault(Keys(settings.keys_path), {})
        await vault.check(store)
        found = await store.read(lambda tx: rows.select_secrets(tx, limit=1000))
        opened = {stored.name: vault.opened(ref_of(stored)) for stored in found}
        ring = vault.keys.ring()
        held = set() if ring is None else set(ring.keys)
        return opened, await store.read(rows.count_keys), await store.read(rows.select_sealing_key), held
    finally:
        await store.close()


async def with_secrets(world: Database) -> None:
    settings = settings_for(world.url, str(world.data))
    store = open_store(settings)
    await store.open()
    try:
        vault = Vault(Keys(settings.keys_path), {})
        await vault.prepare(store)

        async def body(tx: Transaction) -> None:
            for name, value in SECRETS.items():
                await actions.put(tx, vault, SYSTEM, Scope("workspace"), name, value=value, type="secret")

        await store.transact(body)
    finally:
        await store.close()


@pytest.mark.proves("F8")
async def test_a_killed_key_rotation_loses_nothing_and_the_next_finishes(worlds: Worlds, forks: Forks) -> None:
    world = worlds.new()
    await with_secrets(world)
    _, before, current, _ = await look(world)
    assert before == {current: len(SECRETS)}
    calm = await rotate(forks, world)
    assert calm is not None
    assert calm["points"] >= LEAST
    points = pick_kills(calm["points"], sample=SAMPLE)
    kills = resumed = 0
    for point in points:
        killed = await rotate(forks, world, die_at=point) is None
        opened, _, _, _ = await look(world)
        assert opened == SECRETS, f"after a kill at point {point}"
        if killed:
            kills += 1
            again = await rotate(forks, world)
            assert again is not None
            resumed += again["resumed"]
        opened, used, now, held = await look(world)
        assert opened == SECRETS
        assert now not in (None, current)
        assert (used, held) == ({now: len(SECRETS)}, {now}), "the old key seals nothing, and is forgotten"
    assert kills >= max(1, len(points) - 2), "it took fewer points than the first time"
    assert resumed >= len(points) // 4, "some were killed in the middle of it"


async def rotate(forks: Forks, world: Database, **death: int) -> Found | None:
    return await asyncio.to_thread(live, forks, "rotate", world, **death)
