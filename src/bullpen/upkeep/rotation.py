"""Turn the key ring: a new key in front, every secret sealed anew, the old key forgotten.

Killed at any point nothing is lost. The new key is on the disk before anything is sealed with it; a secret is sealed
with one key or with the other, and the ring holds both; an old key leaves the ring when no row names it any more, while
nobody can seal. Asked for again, it finishes what was begun instead of beginning another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bullpen.audit.actions import Actor, note
from bullpen.errors import Conflict, KeyMissing, SecretInvalid
from bullpen.events.actions import in_turn
from bullpen.storage import Transaction, Transacts
from bullpen.variables import rows
from bullpen.variables.actions import SEALING, Vault, ref_of
from bullpen.variables.keys import load
from bullpen.variables.types import Stored
from bullpen.webhooks import actions as webhooks

BATCH = 100

# How many secrets are sealed anew, of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Rotated:
    key_id: str
    secrets: int  # sealed anew
    resumed: bool  # an earlier rotation that was not finished
    forgotten: int  # keys that left the ring
    idle: int  # keys that are still in a file which is not ours to change, and not needed any more
    unopened: tuple[str, ...] = ()  # secrets that no key opens; the key that they name is kept


async def rotate(store: Transacts, vault: Vault, actor: Actor, *, progress: Progress | None = None) -> Rotated:
    await vault.prepare(store)
    current = await store.read(rows.select_sealing_key)
    used = await store.read(rows.count_keys)
    resumed = any(key_id != current for key_id in used)
    if current is None or not resumed:
        current = await store.transact(partial(_begin, vault=vault, actor=actor))
        used = await store.read(rows.count_keys)
    total = sum(count for key_id, count in used.items() if key_id != current)
    done = 0
    unopened: list[str] = []
    after: Stored | None = None
    while batch := await store.transact(partial(_seal_batch, vault=vault, after=after)):
        after = batch[-1][0]
        unopened += [f"{stored.name} of {stored.scope}" for stored, sealed in batch if not sealed]
        done += sum(sealed for _, sealed in batch)
        if progress is not None:
            progress(done, max(total, done))
    last = ""
    while found := await store.transact(partial(webhooks.seal_anew, vault=vault, after=last, limit=BATCH)):
        last = found[-1][0]
        unopened += [f"the webhook {id}" for id, sealed in found if not sealed]
        done += sum(sealed for _, sealed in found)
        if progress is not None:
            progress(done, max(total, done))
    forgotten, idle = await store.transact(lambda tx: _forget(tx, vault))
    return Rotated(current, done, resumed, forgotten, idle, tuple(unopened))


async def _begin(tx: Transaction, vault: Vault, actor: Actor) -> str:
    """From here on the office seals with another key. It is on the disk before that is so."""
    await in_turn(tx, SEALING)  # the file too is changed by one at a time
    current = await rows.select_sealing_key(tx)
    new = _next_key(vault, current)
    await rows.update_sealing_key(tx, new)
    note(tx, actor, "key.rotated", "key", new, before=current or "")
    return new


def _next_key(vault: Vault, current: str | None) -> str:
    ring = load(vault.keys.path)
    if ring is None:
        raise KeyMissing(f"There is no key file at {vault.keys.path}.")
    # One that an earlier try left behind has sealed nothing yet: it will do.
    if ring.first != current and current in ring.keys:
        return ring.first
    if ring.ours:
        return vault.keys.change(lambda held: held.turned()).first
    raise Conflict(
        f"{ring.path} is not ours to change. Put a new key on its first line, above the old one, and ask again: "
        "head -c 32 /dev/urandom | base64"
    )


async def _seal_batch(tx: Transaction, vault: Vault, after: Stored | None) -> list[tuple[Stored, bool]]:
    """The next secrets that another key seals, and whether each is sealed anew."""
    await in_turn(tx, SEALING)
    ring, key_id = await vault.sealing(tx)
    batch = []
    for stored in await rows.select_secrets(tx, after=after, but=key_id, limit=BATCH):
        try:
            value = vault.opened(ref_of(stored))
        except (SecretInvalid, KeyMissing):
            batch.append((stored, False))
            continue
        await rows.update_sealed(tx, stored, ring.seal(key_id, stored.scope, stored.name, value), key_id)
        batch.append((stored, True))
    return batch


async def _forget(tx: Transaction, vault: Vault) -> tuple[int, int]:
    """Keys that seal nothing leave the ring. Inside a transaction, so that nobody seals meanwhile."""
    await in_turn(tx, SEALING)
    current = await rows.select_sealing_key(tx)
    needed = {*(await rows.count_keys(tx)), *([current] if current else [])}
    ring = vault.keys.ring()
    assert ring is not None
    idle = len(ring.keys.keys() - needed)
    if not ring.ours or not idle:
        return 0, idle
    vault.keys.change(lambda held: held.only(needed))
    return idle, 0
