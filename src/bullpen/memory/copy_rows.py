"""SQL for the copies of passages that Supermemory has.

A copy is taken by a compare-and-set on its attempts: of several processes one sends it, and if that one dies, its time
comes again. Whoever wants something new of a copy sets the attempts back, so that a late answer changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import bindparam, delete, func, select, update

from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import JSON, Mapped
from bullpen.storage.statements import upsert
from bullpen.storage.tables import passage_copies, passages

Wanted = Literal["kept", "dropped"]


@dataclass(frozen=True, slots=True)
class Copy:
    passage_id: str
    container: str
    wanted: Wanted
    attempts: int = 0
    due_at: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What Supermemory gets of a passage."""

    content: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many copies are still to be sent or dropped, and what the last one that failed said."""

    due: int
    refused: int
    error: str | None


_COPIES = Mapped(Copy, passage_copies)
_DOCUMENTS = Mapped(Document, passages, metadata=JSON)
_IS = passage_copies.c.passage_id == bindparam("id_")
_UPSERT = upsert(passage_copies, ["passage_id"], ["container", "wanted", "attempts", "due_at", "error"])
_DUE = passage_copies.c.due_at <= bindparam("now")
_SELECT_DUE = Statement(select(passage_copies.c.container).distinct().where(_DUE).limit(bindparam("limit")))
_SELECT_NEXT = Statement(
    select(*_COPIES.columns)
    .where(_DUE, passage_copies.c.container == bindparam("container"))
    .order_by(passage_copies.c.due_at, passage_copies.c.passage_id)
    .limit(1)
)
_MINE = passage_copies.c.attempts == bindparam("seen")
_CLAIM = Statement(
    update(passage_copies)
    .where(_IS, _MINE, passage_copies.c.due_at.is_not(None))
    .values(attempts=passage_copies.c.attempts + 1, due_at=bindparam("until"))
)
_SETTLE = Statement(
    update(passage_copies).where(_IS, _MINE).values(due_at=bindparam("next_at"), error=bindparam("why"))
)
_DELETE = Statement(delete(passage_copies).where(_IS, _MINE))
_WANT = Statement(
    update(passage_copies)
    .where(any_of(passage_copies.c.passage_id, "ids"))
    .values(wanted=bindparam("wanted_"), attempts=0, due_at=bindparam("now_"), error=None)
)
_COUNT = Statement(
    select(
        func.count(passage_copies.c.due_at),
        func.count() - func.count(passage_copies.c.due_at),
        func.max(passage_copies.c.error),
    ).where((passage_copies.c.due_at.is_not(None)) | (passage_copies.c.error.is_not(None)))
)
_SELECT_DOCUMENT = Statement(select(*_DOCUMENTS.columns).where(passages.c.id == bindparam("id")))


async def put_copy(tx: Transaction, copy: Copy) -> None:
    await tx.run(_UPSERT, **_COPIES.write(copy))


async def select_due(tx: Transaction, limit: int) -> list[str]:
    """Containers that something is due for."""
    return await tx.values(_SELECT_DUE, now=tx.clock.millis(), limit=limit)


async def select_next(tx: Transaction, container: str) -> Copy | None:
    return _COPIES.read_one(await tx.one(_SELECT_NEXT, now=tx.clock.millis(), container=container))


async def claim(tx: Transaction, copy: Copy, until: int) -> bool:
    return await tx.run(_CLAIM, id_=copy.passage_id, seen=copy.attempts, until=until) > 0


async def settle(tx: Transaction, copy: Copy, *, next_at: int | None, error: str | None) -> None:
    await tx.run(_SETTLE, id_=copy.passage_id, seen=copy.attempts, next_at=next_at, why=error)


async def delete_copy(tx: Transaction, copy: Copy) -> None:
    await tx.run(_DELETE, id_=copy.passage_id, seen=copy.attempts)


async def set_wanted(tx: Transaction, passage_ids: Sequence[str], wanted: Wanted) -> bool:
    """From now on Supermemory shall have copies of these, as the passages are now, or none. Of what it never was to
    have there is no row."""
    return await tx.run(_WANT, ids=list(passage_ids), wanted_=wanted, now_=tx.clock.millis()) > 0


async def select_document(tx: Transaction, passage_id: str) -> Document | None:
    return _DOCUMENTS.read_one(await tx.one(_SELECT_DOCUMENT, id=passage_id))


async def count_backlog(tx: Transaction) -> Backlog:
    found = await tx.one(_COUNT)
    assert found is not None
    due, refused, error = found
    return Backlog(due, refused, error)
