"""SQL for the audit log and its head: how many rows there are, and the hash of the last."""

from __future__ import annotations

from sqlalchemy import Text, bindparam, insert, or_, select, update

from bullpen.audit.types import Entry
from bullpen.storage import Statement, Transaction
from bullpen.storage.mapped import JSON, Mapped
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import audit, meta

HEAD = "audit_head"
_ENTRIES = Mapped(Entry, audit, detail=JSON)
_INSERT = Statement(insert(audit))
_SELECT_HEAD = select(meta.c.value).where(meta.c.key == HEAD)
_READ_HEAD = Statement(_SELECT_HEAD)
_LOCK_HEAD = Statement(_SELECT_HEAD.with_for_update())
_MAKE_HEAD = insert_or_ignore(meta)
_MOVE_HEAD = Statement(update(meta).where(meta.c.key == HEAD).values(value=bindparam("value_")))
_SELECT_RISING = Statement(
    select(*_ENTRIES.columns)
    .where(audit.c.number > bindparam("after"))
    .order_by(audit.c.number)
    .limit(bindparam("limit"))
)
_SELECT_FALLING = Statement(
    select(*_ENTRIES.columns)
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


def parsed(head: str | None) -> tuple[int, str]:
    """How many rows there are, and the hash of the last."""
    number, _, hash_ = ("0:" if head is None else head).partition(":")
    return int(number), hash_


async def select_head(tx: Transaction) -> tuple[int, str]:
    return parsed(await tx.value(_READ_HEAD))


async def lock_head(tx: Transaction) -> tuple[int, str]:
    """The head, and the right to move it until the end of the transaction."""
    head = await tx.value(_LOCK_HEAD)
    if head is None:
        await tx.run(_MAKE_HEAD, key=HEAD, value="0:")
        head = await tx.value(_LOCK_HEAD)
    return parsed(head)


async def insert_entries(tx: Transaction, entries: list[Entry]) -> None:
    await tx.many(_INSERT, [_ENTRIES.write(entry) for entry in entries])
    last = entries[-1]
    await tx.run(_MOVE_HEAD, value_=f"{last.number}:{last.hash}")


async def select_rising(tx: Transaction, *, after: int, limit: int) -> list[Entry]:
    return _ENTRIES.read_all(await tx.all(_SELECT_RISING, after=after, limit=limit))


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
    return _ENTRIES.read_all(await tx.all(_SELECT_FALLING, before=before, limit=limit, **chosen))
