"""Set a variable, take it back, and find what the names of a place are worth.

A secret is sealed inside the transaction that stores it, with the key that the database says is the current one: a key
that another process has brought in meanwhile is read from the file again. Opening happens in `opened`, and the redactor
knows a value before anybody else does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from hmac import compare_digest
from typing import Final, Literal

from bullpen.audit.actions import Actor, note
from bullpen.errors import CannotStart, Conflict, Invalid, KeyMissing, NotFound, SecretInvalid
from bullpen.events.actions import in_turn
from bullpen.observe.redact import REDACTOR, involve, spell
from bullpen.storage import Store, Topic, Transaction, Transacts
from bullpen.variables import rows, rules
from bullpen.variables.keys import KeyRing, Keys, missing_key
from bullpen.variables.types import SETTINGS, WORKSPACE, Place, Scope, SecretRef, Stored, Value
from bullpen.wire.nouns import VariableDefinition, VariableType

logger = logging.getLogger("bullpen.variables")

Change = Literal["created", "updated", "unchanged"]

PAGE = 500
# Whoever seals, or changes what is sealed with, takes turns with all others who do.
SEALING = "sealing"

# A variable was set or deleted: where, and its name. No name: all that was set there is gone.
CHANGED: Final = Topic[tuple[Scope, str]]("a variable has changed")


class Vault:
    """What this process knows about values: its key ring, and the variables in its settings."""

    def __init__(self, keys: Keys, settings: Mapping[str, str]) -> None:
        self.keys = keys
        self.settings = settings
        self.found: set[tuple[Scope, str]] = set()  # the secrets that were there when all were last learned
        for name, value in settings.items():
            if rules.sounds_secret(name):
                REDACTOR.add(value, name)

    def opened(self, ref: SecretRef) -> str:
        """The secret itself. Only for the last function before a socket, and for a tool that is Python code."""
        if ref.scope == SETTINGS:
            REDACTOR.add(self.settings[ref.name], ref.name)
            return self.settings[ref.name]
        value = self.keys.holding(ref.key_id).open(ref)
        REDACTOR.add(value, ref.name, ref.scope.owner)
        involve(ref.scope.owner)
        return value

    async def learn(self, values: Iterable[Value]) -> None:
        """Let the redactor know these secrets before they are used: the spellings of a long one take a while."""
        for ref in values:
            if isinstance(ref, SecretRef) and ref.scope != SETTINGS:
                value = self.keys.holding(ref.key_id).open(ref)
                if not REDACTOR.holds(value, ref.name, ref.scope.owner):
                    REDACTOR.add(value, ref.name, ref.scope.owner, await spell(value, ref.name))
                involve(ref.scope.owner)

    @asynccontextmanager
    async def setting(self, store: Transacts, wanted: Iterable[tuple[str, str]]) -> AsyncIterator[None]:
        """Around a transaction that sets these secrets, each a name and a value: no line or error shows them, there is
        a key to seal them with, and whatever takes long is done before."""
        legal = [(name, value) for name, value in wanted if rules.refusal(value) is None]
        if legal:
            await self.prepare(store)
        with ExitStack() as stack:
            for name, value in legal:
                stack.enter_context(REDACTOR.meanwhile(value, name, await spell(value, name)))
            yield
            # `put` masks what it stored in the loop's next round after its commit. Nobody gets an answer before that.
            await asyncio.sleep(0)

    def text(self, value: Value) -> str:
        return self.opened(value) if isinstance(value, SecretRef) else value

    async def find_shared(self, store: Transacts, name: str) -> Value | None:
        """`select_shared`, with the redactor told of a secret before it is used."""
        found = await store.read(partial(self.select_shared, name=name))
        if found is not None:
            await self.learn([found])
        return found

    async def select_shared(self, tx: Transaction, name: str) -> Value | None:
        """The value that the office itself uses under this name: the workspace's, or that of the settings."""
        stored = await rows.select_variable(tx, WORKSPACE, name)
        if stored is not None:
            return ref_of(stored) if stored.key_id is not None else stored.value
        return SecretRef(name, SETTINGS) if self.settings.get(name) else None

    # ── the start ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def check(self, store: Store) -> None:
        """Refuse to start without the keys of what is sealed; let the redactor know every secret there is."""
        used = await store.read(rows.count_keys)
        if not used:
            return
        ring = self.keys.ring()
        for key_id in used:
            if ring is None or key_id not in ring.keys:
                raise CannotStart(missing_key(self.keys.path, key_id))
        await self.learn_all(store)

    async def learn_all(self, store: Store) -> None:
        """Let the redactor know every secret there is."""
        found: set[tuple[Scope, str]] = set()
        after: Stored | None = None
        while page := await store.read(partial(rows.select_secrets, after=after, limit=PAGE)):
            for stored in page:
                await self.learn_stored(stored)
                found.add((stored.scope, stored.name))
            after = page[-1]
        self.found = found

    async def learn_stored(self, stored: Stored) -> None:
        try:
            await self.learn([ref_of(stored)])
        except (SecretInvalid, KeyMissing) as error:  # must not stop the office; whoever needs it is told
            logger.error("%s", error)

    async def prepare(self, store: Transacts) -> None:
        """See that there is a key to seal with. Makes the first one, and only if nothing was ever sealed."""
        if self.keys.ring() is not None:
            return
        key_id = await store.read(rows.select_sealing_key)
        if key_id is not None:
            raise KeyMissing(missing_key(self.keys.path, key_id))
        self.keys.make()
        logger.info("made a key for secrets in %s: keep a copy of it with your backups", self.keys.path)

    async def sealing(self, tx: Transaction) -> tuple[KeyRing, str]:
        """The ring, and the key that the office seals with."""
        key_id = await rows.select_sealing_key(tx)
        if key_id is not None:
            return self.keys.holding(key_id), key_id
        ring = self.keys.ring()
        if ring is None:
            raise KeyMissing(f"There is no key file at {self.keys.path}.")
        await rows.update_sealing_key(tx, ring.first)
        return ring, ring.first


async def unopened(tx: Transaction, ring: KeyRing) -> list[str]:
    """The names of secrets that the ring's keys do not open."""
    names: list[str] = []
    after: Stored | None = None
    while page := await rows.select_secrets(tx, after=after, limit=PAGE):
        for stored in page:
            try:
                ring.open(ref_of(stored))
            except (SecretInvalid, KeyMissing):
                names.append(stored.name)
        after = page[-1]
    return names


async def refused(tx: Transaction, ring: KeyRing) -> list[tuple[Stored, str]]:
    """Secrets of an older version that nobody could set any more, and why."""
    found: list[tuple[Stored, str]] = []
    after: Stored | None = None
    while page := await rows.select_secrets(tx, after=after, limit=PAGE):
        for stored in page:
            value = ring.open(ref_of(stored))
            why = rules.refusal(value) or (rules.NAMED if await rows.is_named(tx, value) else None)
            if why is not None:
                found.append((stored, why[0]))
        after = page[-1]
    return found


async def abandon(tx: Transaction, vault: Vault, actor: Actor) -> list[str]:
    """Delete the secrets whose key is gone for good; what they were called."""
    await in_turn(tx, SEALING)
    ring = vault.keys.ring()
    held = set() if ring is None else set(ring.keys)
    lost: list[str] = []
    after: Stored | None = None
    while page := await rows.select_secrets(tx, after=after, limit=PAGE):
        for stored in [each for each in page if each.key_id not in held]:
            await rows.delete_variable(tx, stored.scope, stored.name)
            tx.after_commit(partial(REDACTOR.drop, stored.name, stored.scope.owner))
            tx.tell(CHANGED, (stored.scope, stored.name))
            lost.append(f"{stored.name} of {stored.scope}")
        after = page[-1]
    if (await rows.select_sealing_key(tx)) not in held:
        await rows.delete_sealing_key(tx)
    note(tx, actor, "key.abandoned", "key", "", secrets=len(lost))
    return lost


def ref_of(stored: Stored) -> SecretRef:
    return SecretRef(stored.name, stored.scope, stored.key_id or "", stored.value)


async def put(
    tx: Transaction,
    vault: Vault,
    actor: Actor,
    scope: Scope,
    name: str,
    *,
    value: str,
    type: VariableType,
    scoped: bool = False,
    description: str = "",
) -> tuple[Stored, Change]:
    """Give a name its value there, and say what that changed."""
    rules.check_name(name)
    rules.check_value(type, value)
    await in_turn(tx, SEALING)
    there = await rows.select_variable(tx, scope, name)
    wanted = Stored(scope, name, type, value, None, scoped, description, tx.clock.now())
    if there is not None and _same(vault, there, wanted):
        return there, "unchanged"
    await _check_room(tx, scope, there, len(value.encode()) if type == "secret" else 0)
    if type == "secret":
        if await rows.is_named(tx, value):
            raise Invalid(rules.NAMED[0], fields={"value": rules.NAMED[1]})
        ring, key_id = await vault.sealing(tx)
        tx.after_commit(partial(REDACTOR.replace, value, name, scope.owner, REDACTOR.spelled(value)))
        wanted = Stored(
            scope, name, type, ring.seal(key_id, scope, name, value), key_id, scoped, description, wanted.updated_at
        )
    else:
        tx.after_commit(partial(REDACTOR.drop, name, scope.owner))
    await rows.upsert_variable(tx, wanted, actor.id)
    tx.tell(CHANGED, (scope, name))
    note(tx, actor, "variable.set", "variable", name, scope=scope.kind, scopeId=scope.id, type=type)
    return wanted, "created" if there is None else "updated"


async def _check_room(tx: Transaction, scope: Scope, there: Stored | None, size: int) -> None:
    count, sealed = await rows.count_in(tx, scope)
    if there is None and count >= rules.MOST:
        raise Conflict(f"There are {rules.MOST} variables in {scope} already. Delete one that nobody needs.")
    before = 0 if there is None or there.key_id is None else len(there.value)
    if size and (sealed - before) * 3 // 4 + size > rules.MOST_SECRET:
        most = rules.MOST_SECRET // 1024
        raise Conflict(f"The secrets in {scope} may have {most} KiB together. Delete one that nobody needs.")


def _same(vault: Vault, there: Stored, wanted: Stored) -> bool:
    about = (there.type, there.scoped, there.description) == (wanted.type, wanted.scoped, wanted.description)
    if not about or there.key_id is None:
        return about and there.value == wanted.value
    try:
        return compare_digest(vault.opened(ref_of(there)).encode(), wanted.value.encode())
    except (SecretInvalid, KeyMissing):  # setting it again will mend that
        return False


async def remove(tx: Transaction, actor: Actor, scope: Scope, name: str) -> None:
    await in_turn(tx, SEALING)
    if not await rows.delete_variable(tx, scope, name):
        raise NotFound(f"There is no variable {name!r} in {scope}.")
    tx.after_commit(partial(REDACTOR.drop, name, scope.owner))
    tx.tell(CHANGED, (scope, name))
    note(tx, actor, "variable.deleted", "variable", name, scope=scope.kind, scopeId=scope.id)


async def remove_scope(tx: Transaction, scope: Scope) -> None:
    """All that is set there, and in the threads that belong to it."""
    for each in await rows.delete_scope(tx, scope):
        tx.after_commit(partial(REDACTOR.drop_all, each.owner))
        tx.tell(CHANGED, (each, ""))


async def follow(tx: Transaction, vault: Vault, scope: Scope, name: str) -> None:
    """Another process may have set or deleted this: mask what is there now, and nothing that was there before.

    Takes turns with whoever changes a variable, so that what this process knows is never older than what it wrote.
    """
    await in_turn(tx, SEALING)
    if not name:
        if await rows.count_in(tx, scope) == (0, 0):
            tx.after_commit(partial(REDACTOR.drop_all, scope.owner))
        return
    stored = await rows.select_variable(tx, scope, name)
    if stored is None or stored.key_id is None:
        tx.after_commit(partial(REDACTOR.drop, name, scope.owner))
        return
    value = vault.keys.holding(stored.key_id).open(ref_of(stored))
    tx.after_commit(partial(REDACTOR.replace, value, name, scope.owner, REDACTOR.spelled(value)))


async def resolve(
    tx: Transaction, place: Place, needed: Iterable[VariableDefinition], settings: Mapping[str, str]
) -> dict[str, Value]:
    """What the names are worth there, in one query; VariablesRequired if something necessary is missing."""
    needed = list(needed)
    found = await rows.select_place(tx, place, [definition.name for definition in needed])
    return rules.resolved(needed, place, found, settings)
