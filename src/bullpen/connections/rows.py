"""SQL for connections."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from sqlalchemy import bindparam, delete, func, insert, or_, select, update

from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import Codec, Mapped
from bullpen.storage.tables import connections
from bullpen.wire.nouns import ConnectionModel, ModelConnection

_MODELS = Codec(
    lambda kept: [ConnectionModel(**each) for each in orjson.loads(kept)],
    lambda models: orjson.dumps([each.model_dump(exclude_none=True) for each in models]).decode(),
)
_CONNECTIONS = Mapped(ModelConnection, connections, given=("has_key", "needs_confirming", "agents"), models=_MODELS)
_CHANGING = (
    "name",
    "base_url",
    "api_key_variable",
    "confirmed",
    "default_model",
    "models",
    "updated_at",
)
_INSERT = Statement(insert(connections))
_UPDATE = Statement(
    update(connections)
    .where(connections.c.id == bindparam("id_"))
    .values({name: bindparam(name) for name in (*_CHANGING, "folded", "own_key")})
)
_DELETE = Statement(delete(connections).where(connections.c.id == bindparam("id_")))
_SELECT_ALL = Statement(select(*_CONNECTIONS.columns).order_by(connections.c.id))
_SELECT = Statement(select(*_CONNECTIONS.columns).where(connections.c.id == bindparam("id")))
# An id before a name: nobody takes over what names a connection by calling another one so.
_SELECT_NAMED = Statement(
    select(*_CONNECTIONS.columns).where(or_(any_of(connections.c.id, "ids"), any_of(connections.c.folded, "names")))
)
_SELECT_DEFAULT = Statement(select(*_CONNECTIONS.columns).where(connections.c.default_model.is_not(None)))
_SELECT_CONFIRMED = Statement(select(connections.c.confirmed).where(connections.c.confirmed.is_not(None)))
_SELECT_OWN_KEY = Statement(select(connections.c.own_key).where(connections.c.id == bindparam("id")))
_CLEAR_DEFAULT = Statement(
    update(connections).where(connections.c.default_model.is_not(None)).values(default_model=None)
)
_COUNT = Statement(select(func.count()).select_from(connections))


def folded(name: str) -> str:
    return name.strip().casefold()


async def insert_connection(tx: Transaction, connection: ModelConnection, *, own_key: bool) -> None:
    await tx.run(_INSERT, **_CONNECTIONS.write(connection), folded=folded(connection.name), own_key=int(own_key))


async def update_connection(tx: Transaction, connection: ModelConnection, *, own_key: bool) -> None:
    columns = _CONNECTIONS.write(connection)
    await tx.run(
        _UPDATE,
        id_=connection.id,
        **{name: columns[name] for name in _CHANGING},
        folded=folded(connection.name),
        own_key=int(own_key),
    )


async def delete_connection(tx: Transaction, id: str) -> bool:
    return await tx.run(_DELETE, id_=id) > 0


async def select_connection(tx: Transaction, id: str) -> ModelConnection | None:
    row = await tx.one(_SELECT, id=id)
    return None if row is None else _CONNECTIONS.read(row)


async def select_connections(tx: Transaction) -> list[ModelConnection]:
    return _CONNECTIONS.read_all(await tx.all(_SELECT_ALL))


async def select_named(tx: Transaction, said: Sequence[str]) -> dict[str, ModelConnection]:
    """By what was said of each: its id, or its name in any case."""
    if not said:
        return {}
    found = _CONNECTIONS.read_all(await tx.all(_SELECT_NAMED, ids=list(said), names=[folded(each) for each in said]))
    by_name = {folded(each.name): each for each in found}
    by_id = {each.id: each for each in found}
    known = {each: by_id.get(each) or by_name.get(folded(each)) for each in said}
    return {each: connection for each, connection in known.items() if connection is not None}


async def select_default(tx: Transaction) -> ModelConnection | None:
    row = await tx.one(_SELECT_DEFAULT)
    return None if row is None else _CONNECTIONS.read(row)


async def clear_default(tx: Transaction) -> None:
    await tx.run(_CLEAR_DEFAULT)


async def select_confirmed(tx: Transaction) -> list[str]:
    """The addresses that owners have opened."""
    return await tx.values(_SELECT_CONFIRMED)


async def has_own_key(tx: Transaction, id: str) -> bool:
    return bool(await tx.value(_SELECT_OWN_KEY, id=id))


async def count(tx: Transaction) -> int:
    return int(await tx.value(_COUNT))
