"""SQL that spans nouns: whose turn it is, the mark of an erasure, and where words of several authors stand.

Nothing here reads a whole table at once. Rows that no index finds are looked for in windows of ids, one
transaction each, so that nobody waits long. What concerns one noun stands at the end of its own rows.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import Table, bindparam, delete, func, or_, select, text, update

from bullpen.storage import Statement, Transaction
from bullpen.storage.columns import shared_columns
from bullpen.storage.statements import contains, insert_or_ignore, inside
from bullpen.storage.tables import files, inbox_items, messages, meta, metadata, passages, plans, prompts, runs, tasks
from bullpen.upkeep.rules import Target

# ── an office that opens ────────────────────────────────────────────────────────────────────────────────────────────

# What is read in the order of its ids, and would be read in the wrong one if newer ids were smaller.
_SELECT_NEWEST_IDS = [
    Statement(select(func.max(table.c.id))) for table in (messages, runs, inbox_items, passages, tasks, plans, files)
]


async def select_newest_ids(tx: Transaction) -> list[str]:
    found = [await tx.value(statement) for statement in _SELECT_NEWEST_IDS]
    return [id for id in found if id is not None]


# ── one at a time ───────────────────────────────────────────────────────────────────────────────────────────────────

_TURN = 4_242_008_421
_TRY_TURN = Statement(text(f"SELECT pg_try_advisory_xact_lock({_TURN})"))


async def try_turn(tx: Transaction) -> bool:
    """Is nobody else at it? On SQLite nobody can be."""
    return not tx.store.shared or bool(await tx.value(_TRY_TURN))


# ── erasure: the mark that it has begun ─────────────────────────────────────────────────────────────────────────────

_BEGUN = "erasing."
_SELECT_BEGUN = Statement(
    select(meta.c.key, meta.c.value).where(meta.c.key > _BEGUN, meta.c.key < _BEGUN + "~").order_by(meta.c.key)
)
_INSERT_META = insert_or_ignore(meta)
_DELETE_META = Statement(delete(meta).where(meta.c.key == bindparam("key_")))


async def insert_begun(tx: Transaction, target: Target) -> bool:
    """False: it has begun already."""
    value = orjson.dumps({"name": target.name}).decode()
    return await tx.run(_INSERT_META, key=f"{_BEGUN}{target.kind}.{target.id}", value=value) > 0


async def select_begun(tx: Transaction) -> list[Target]:
    found = []
    for key, value in await tx.all(_SELECT_BEGUN):
        kind, _, id = key.removeprefix(_BEGUN).partition(".")
        found.append(Target(kind, id, orjson.loads(value)["name"]))
    return found


async def delete_begun(tx: Transaction, target: Target) -> None:
    await tx.run(_DELETE_META, key_=f"{_BEGUN}{target.kind}.{target.id}")


# ── erasure: words of several authors ───────────────────────────────────────────────────────────────────────────────


def _window(table: Table, key: str) -> Statement:
    """The last key of the next so many rows."""
    page = select(table.c[key].label("key")).where(table.c[key] > bindparam("after")).order_by(table.c[key])
    return Statement(select(func.max(page.limit(bindparam("limit")).subquery().c.key)))


def _select_shared(table: Table, columns: Sequence[str]) -> Statement:
    found = [contains(table.c[column], name) for column in columns for name in ("one", "two")]
    rows = select(table.c.id, *(table.c[column] for column in columns)).where(inside(table.c.id), or_(*found))
    return Statement(rows.with_for_update())


def _rewrite(table: Table, columns: Sequence[str]) -> Statement:
    values: dict[str, Any] = {column: bindparam(f"{column}_") for column in columns}
    return Statement(update(table).where(table.c.id == bindparam("id_")).values(values))


# Where words of several authors stand, each with the columns that hold them.
SHARED = shared_columns(metadata)
_SELECT_SHARED = {name: _select_shared(metadata.tables[name], [*columns]) for name, columns in SHARED.items()}
_REWRITE_SHARED = {name: _rewrite(metadata.tables[name], [*columns]) for name, columns in SHARED.items()}
_KEYS: Mapping[str, str] = {
    **dict.fromkeys(SHARED, "id"),
    "reactions": "message_id",
    "pending_calls": "call_id",
    "prompts": "hash",
}
_WINDOWS = {name: _window(metadata.tables[name], key) for name, key in _KEYS.items()}


async def select_window(tx: Transaction, table: str, after: Any, limit: int) -> Any:
    """Up to which key the next `limit` rows go. None: there are none left."""
    return await tx.value(_WINDOWS[table], after=after, limit=limit)


async def select_shared(
    tx: Transaction, table: str, target: Target, after: Any, upto: Any
) -> list[tuple[Any, dict[str, Any]]]:
    """Rows that may hold something of theirs: each one's id, and its columns of SHARED by name."""
    one, two = target.needles
    found = await tx.all(_SELECT_SHARED[table], after=after, upto=upto, one=one, two=two)
    return [(id, dict(zip(SHARED[table], values, strict=True))) for id, *values in found]


async def rewrite_shared(tx: Transaction, table: str, id: Any, values: Mapping[str, Any]) -> None:
    await tx.run(_REWRITE_SHARED[table], id_=id, **{f"{column}_": value for column, value in values.items()})


# ── erasure: prompts ────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_PROMPTS = Statement(
    select(prompts.c.hash, prompts.c.text).where(inside(prompts.c.hash), contains(prompts.c.text, "id"))
)
_REWRITE_PROMPT = Statement(update(prompts).where(prompts.c.hash == bindparam("hash_")).values(text=bindparam("text_")))


async def select_prompts(tx: Transaction, id: str, after: Any, upto: Any) -> list[tuple[str, str]]:
    """Prompts in which an id stands."""
    return [(hash, text) for hash, text in await tx.all(_SELECT_PROMPTS, id=id, after=after, upto=upto)]


async def rewrite_prompt(tx: Transaction, hash: str, text: str) -> None:
    """It keeps its hash: runs find it by that."""
    await tx.run(_REWRITE_PROMPT, hash_=hash, text_=text)
