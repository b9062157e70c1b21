"""Who holds what only one process may hold at a time: a session, a runner, a browser, a poller.

A row of `holders` is a lease with a name. It belongs to its owner until it runs out; whoever holds it renews it, and
whoever wants it takes it once it is free or has run out. Its token rises with every owner, so a process that slept
through its lease renews and releases nothing. Time is the database's, which all processes share. What is held, and
what happens when it is lost, is the caller's business: see tools/open_executors.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import bindparam, select, update

from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.statements import insert_or_ignore, now_millis
from bullpen.storage.tables import holders

_INSERT = insert_or_ignore(holders)
_LOCK = Statement(
    select(holders.c.owner, holders.c.token, holders.c.until, now_millis())
    .where(holders.c.name == bindparam("name"))
    .with_for_update()
)
_TAKE = Statement(
    update(holders)
    .where(holders.c.name == bindparam("name_"))
    .values(
        owner=bindparam("owner_"),
        token=holders.c.token + 1,
        until=now_millis() + bindparam("millis", type_=holders.c.until.type),
    )
)
# In the order of their names: two processes that renew at once lock them in this one.
_LOCK_OWNED = Statement(
    select(holders.c.name, holders.c.token)
    .where(any_of(holders.c.name, "names"), holders.c.owner == bindparam("owner"))
    .order_by(holders.c.name)
    .with_for_update()
)
_RENEW = Statement(
    update(holders)
    .where(any_of(holders.c.name, "names"))
    .values(until=now_millis() + bindparam("millis", type_=holders.c.until.type))
)
_RELEASE = Statement(
    update(holders)
    .where(holders.c.name == bindparam("name_"), holders.c.token == bindparam("token_"))
    .values(owner=None, until=0)
)


@dataclass(frozen=True, slots=True)
class HeldBy:
    """Another process has it, and loses it after so long unless it renews."""

    owner: str
    millis: int


async def acquire(tx: Transaction, name: str, *, owner: str, millis: int) -> int | HeldBy:
    """Take it, if nobody has it or their time is over: the token. What the owner has already, it takes again."""
    await tx.run(_INSERT, name=name, owner=None, token=0, until=0)
    row = await tx.one(_LOCK, name=name)
    assert row is not None
    holder, token, until, now = row
    # One process owns a SQLite file, so another holder there is this very process in an earlier life: dead.
    if tx.store.shared and holder not in (None, owner) and until > now:
        return HeldBy(holder, until - now)
    await tx.run(_TAKE, name_=name, owner_=owner, millis=millis)
    return int(token) + 1


async def renew(tx: Transaction, held: Mapping[str, int], *, owner: str, millis: int) -> set[str]:
    """Keep these, tokens by name. Those that are still the owner's, under that very token."""
    owned = await tx.all(_LOCK_OWNED, names=sorted(held), owner=owner)
    kept = [name for name, token in owned if held[name] == token]
    if kept:
        await tx.run(_RENEW, names=kept, millis=millis)
    return set(kept)


async def release(tx: Transaction, name: str, token: int) -> bool:
    """Give it back. False: it is somebody else's by now."""
    return await tx.run(_RELEASE, name_=name, token_=token) > 0
