"""Bodies that tests of the store itself use: they write keys into the table `meta`, which takes any."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sqlalchemy import bindparam, delete, insert, select, update

from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.tables import meta

INSERT = Statement(insert(meta))
SELECT = Statement(select(meta.c.key, meta.c.value).order_by(meta.c.key))
SELECT_ONE = Statement(select(meta.c.value).where(meta.c.key == bindparam("key")))
UPDATE = Statement(update(meta).where(meta.c.key == bindparam("key_")).values(value=bindparam("value_")))
DELETE = Statement(delete(meta).where(meta.c.key == bindparam("key_")))


class Oops(Exception):
    pass


def put(key: str, value: str = "") -> Callable[[Transaction], Awaitable[str]]:
    async def body(tx: Transaction) -> str:
        await tx.run(INSERT, key=key, value=value)
        return key

    return body


def put_then_raise(key: str) -> Callable[[Transaction], Awaitable[None]]:
    async def body(tx: Transaction) -> None:
        await tx.run(INSERT, key=key, value="")
        raise Oops(key)

    return body


async def keys_seen(tx: Transaction) -> list[str]:
    return [row[0] for row in await tx.all(SELECT)]


async def keys(store: Store) -> list[str]:
    return await store.read(keys_seen)
