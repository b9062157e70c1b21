"""Leases with a name: one owner at a time, taken over when they run out, and no power left to who has lost one."""

from __future__ import annotations

import asyncio
from functools import partial

from bullpen.engine import holders
from bullpen.engine.holders import HeldBy
from bullpen.storage import Store
from tests.databases import Database
from tests.waits import until

HOUR = 3_600_000


async def take(store: Store, name: str, owner: str, millis: int = HOUR) -> int | HeldBy:
    return await store.transact(partial(holders.acquire, name=name, owner=owner, millis=millis))


async def keep(store: Store, held: dict[str, int], owner: str, millis: int = HOUR) -> set[str]:
    return await store.transact(partial(holders.renew, held=held, owner=owner, millis=millis))


async def give_back(store: Store, name: str, token: int) -> bool:
    return await store.transact(partial(holders.release, name=name, token=token))


async def token_of(store: Store, name: str, owner: str, millis: int = HOUR) -> int:
    found = await take(store, name, owner, millis)
    assert isinstance(found, int), found
    return found


async def test_a_name_has_one_owner_at_a_time(store: Store, database: Database) -> None:
    first = await token_of(store, "browser:den", "one")
    other = await take(store, "browser:den", "two")
    if database.kind == "sqlite":
        assert other == first + 1  # one process owns the file: whoever else had it is dead
        return
    assert isinstance(other, HeldBy)
    assert other.owner == "one"
    assert HOUR - 60_000 < other.millis <= HOUR
    assert isinstance(await take(store, "browser:lab", "two"), int), "another name is free"


async def test_what_was_released_is_free_at_once(store: Store) -> None:
    token = await token_of(store, "mcp:library", "one")
    assert await give_back(store, "mcp:library", token)
    assert await take(store, "mcp:library", "two") == token + 1


async def test_an_expired_lease_is_taken_over_and_stays_lost(store: Store) -> None:
    token = await token_of(store, "mcp:library", "one", millis=1)

    async def taken() -> int | None:
        found = await take(store, "mcp:library", "two")
        return None if isinstance(found, HeldBy) else found

    assert await until(taken) == token + 1
    assert await keep(store, {"mcp:library": token}, "one") == set()
    assert not await give_back(store, "mcp:library", token)
    assert await keep(store, {"mcp:library": token + 1}, "two") == {"mcp:library"}


async def test_a_renewed_lease_lasts_longer(store: Store, database: Database) -> None:
    held = {name: await token_of(store, name, "one", millis=1) for name in ("a", "b")}
    assert await keep(store, {**held, "c": 1}, "one") == {"a", "b"}
    other = await take(store, "a", "two")
    assert isinstance(other, HeldBy if database.kind == "postgres" else int)


async def test_its_owner_takes_it_again_under_a_new_token(store: Store) -> None:
    """As after a commit whose answer got lost: the first token is worth nothing any more."""
    first = await token_of(store, "a", "one")
    assert await token_of(store, "a", "one") == first + 1
    assert await keep(store, {"a": first}, "one") == set()


async def test_of_many_at_once_one_gets_it(store: Store, database: Database) -> None:
    found = await asyncio.gather(*(take(store, "a", f"process {number}") for number in range(10)))
    winners = [each for each in found if isinstance(each, int)]
    assert len(winners) == (1 if database.kind == "postgres" else 10)
    assert len(set(winners)) == len(winners), "no token is given twice"
