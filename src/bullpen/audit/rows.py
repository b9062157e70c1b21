"""SQL for the audit log and its head: how many rows there are, and the hash of the last."""

from __future__ import annotations

import orjson
from sqlalchemy import Text, bindparam, insert, or_, select, update

from bullpen.audit.types import Entry
from bullpen.storage import Row, Statement, Transaction
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import audit, meta

HEAD = "audit_head"
_INSERT = Statement(insert(audit))
_SELECT_HEAD = select(meta.c.value).where(meta.c.key == HEAD)
_READ_HEAD = Statement(_SELECT_HEAD)
_LOCK_HEAD = Statement(_SELECT_HEAD.with_for_update())
_MAKE_HEAD = insert_or_ignore(meta)
_MOVE_HEAD = Statement(update(meta).where(meta.c.key == HEAD).values(value=bindparam("value_")))
_SELECT_RISING = Statement(
    select(audit).where(audit.c.number > bindparam("after")).order_by(audit.c.number).limit(bindparam("limit"))
)
_SELECT_FALLING = Statement(
    select(audit)
    .where(
        audit.c.number < bindparam("before"),
        *(
            or_(bindparam(name, type_=Text).is_(None), audit.c[name] == bindparam(name, type_=Text))
            for name in ("action", "actor_id", "object_id")
        ),
    )
    .order_by(audit.c.number.desc())
    .limit(bindparam("limit"))
)


def _entry(row: Row) -> Entry:
    number, at, actor_kind, actor_id, action, object_kind, object_id, detail, hash_ = row
    return Entry(number, at, actor_kind, actor_id, action, object_kind, object_id, orjson.loads(detail), hash_)


def parsed(head: str | None) -> tuple[int, str]:
    """How many rows there are, and the hash of the last."""
    number, _, hash_ = ("0:" if head is None else head).partition(":")
    return int(number), hash_


def _head(row: Row | None) -> tuple[int, str]:
    return parsed(None if row is None else row[0])


async def select_head(tx: Transaction) -> tuple[int, str]:
    return _head(await tx.one(_READ_HEAD))


async def lock_head(tx: Transaction) -> tuple[int, str]:
    """The head, and the right to move it until the end of the transaction."""
    head = await tx.one(_LOCK_HEAD)
    if head is None:
        await tx.run(_MAKE_HEAD, key=HEAD, value="0:")
        head = await tx.one(_LOCK_HEAD)
    return _head(head)


async def insert_entries(tx: Transaction, entries: list[Entry]) -> None:
    await tx.many(
        _INSERT,
        [
            {
                "number": entry.number,
                "at": entry.at,
                "actor_kind": entry.actor_kind,
                "actor_id": entry.actor_id,
                "action": entry.action,
                "object_kind": entry.object_kind,
                "object_id": entry.object_id,
                "detail": orjson.dumps(entry.detail).decode(),
                "hash": entry.hash,
            }
            for entry in entries
        ],
    )
    last = entries[-1]
    await tx.run(_MOVE_HEAD, value_=f"{last.number}:{last.hash}")


async def select_rising(tx: Transaction, *, after: int, limit: int) -> list[Entry]:
    return [_entry(row) for row in await tx.all(_SELECT_RISING, after=after, limit=limit)]


async def select_falling(
    tx: Transaction,
    *,
    before: int,
    limit: int,
    action: str | None = None,
    actor_id: str | None = None,
    object_id: str | None = None,
) -> list[Entry]:
    """Newest first, only those with what is given."""
    chosen = {"action": action, "actor_id": actor_id, "object_id": object_id}
    return [_entry(row) for row in await tx.all(_SELECT_FALLING, before=before, limit=limit, **chosen)]
