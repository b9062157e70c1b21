"""Sealing a secret, opening it, and finding what a tool's variables are worth: CPU, on SQLite.

Resolving is one query, whatever the number of names and of threads above; measured with 20 names, 8 threads deep, in an
office that has 2,000 variables.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import process_time

from bench.budgets import Figures
from bullpen.access.rules import SYSTEM
from bullpen.storage import Transaction, migrations
from bullpen.storage.sqlite import SqliteStore
from bullpen.threads import rows as threads
from bullpen.threads.types import Thread
from bullpen.variables import actions
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from bullpen.variables.types import WORKSPACE, Place, Scope, SecretRef
from bullpen.wire.nouns import VariableDefinition

NAMES = [f"NAME_{number}" for number in range(20)]
DEEP = 8
OTHERS = 2_000


async def measure(*, quick: bool) -> Figures:
    times = 500 if quick else 5_000
    with tempfile.TemporaryDirectory() as folder:
        keys = Keys(Path(folder) / "keys.json")
        ring = keys.make()
        value = "sk-0123456789-0123456789-0123456789"
        ref = SecretRef("KEY", WORKSPACE, ring.first, ring.seal(ring.first, WORKSPACE, "KEY", value))
        figures = {
            "variables.seal": _micros(lambda: ring.seal(ring.first, WORKSPACE, "KEY", value), times),
            "variables.open": _micros(lambda: ring.open(ref), times),
        }
        return {**figures, "variables.resolve": await _resolve(Path(folder), Vault(keys, {}), times // 5)}


def _micros(work: object, times: int) -> float:
    assert callable(work)
    began = process_time()
    for _ in range(times):
        work()
    return (process_time() - began) / times * 1e6


async def _resolve(folder: Path, vault: Vault, times: int) -> float:
    store = SqliteStore(folder / "bullpen.db")
    await store.open()
    try:
        await migrations.migrate(store, None)
        await store.transact(lambda tx: _fill(tx, vault))
        needed = [VariableDefinition(name=name) for name in NAMES]
        place = Place(f"t{DEEP - 1}", "ada", "lab", "pia")

        async def once(tx: Transaction) -> None:
            await actions.resolve(tx, place, needed, {})

        began = process_time()
        for _ in range(times):
            await store.read(once)
        return (process_time() - began) / times * 1e6
    finally:
        await store.close()


async def _fill(tx: Transaction, vault: Vault) -> None:
    for depth in range(DEEP):
        above = f"t{depth - 1}" if depth else None
        id = f"t{depth}"
        thread = Thread(id, "ada", "child", id, None, None, tx.clock.now(), parent_id=above)
        await threads.insert_thread(tx, thread)
    for number, name in enumerate(NAMES):
        scope = (Scope("thread", "t0"), Scope("agent", "ada"), Scope("space", "lab"), WORKSPACE)[number % 4]
        await actions.put(tx, vault, SYSTEM, scope, name, value=name, type="text" if number % 2 else "secret")
    for number in range(OTHERS):
        await actions.put(tx, vault, SYSTEM, Scope("space", f"s{number}"), NAMES[0], value="x", type="text")
