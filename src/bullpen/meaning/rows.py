"""SQL for vectors, and for the queue of what has none yet. Reads the texts of passages and messages, too.

Who puts something into the queue are triggers (migration 0029): nobody who stores a text has to think of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Table, and_, bindparam, delete, exists, func, insert, literal, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from bullpen.meaning.types import Count, Kind, Waiting
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.statements import insert_or_ignore, inside
from bullpen.storage.tables import messages, passages, unembedded, vectors, vectors_wanted

KINDS: Final[tuple[Kind, ...]] = ("passage", "message")  # the first goes first
MOST_FAILURES: Final = 5
_TEXTS: Mapping[Kind, tuple[Table, str, str]] = {
    "passage": (passages, "content", "scope"),
    "message": (messages, "text", "space_id"),
}

# ── whether vectors are wanted ──────────────────────────────────────────────────────────────────────────────────────

_SELECT_WANTED = Statement(select(vectors_wanted.c.model))
_INSERT_WANTED = insert_or_ignore(vectors_wanted)
_LOCK_TEXTS = Statement(text("LOCK TABLE passages, messages IN SHARE MODE"))
_SELECT_COMPLETE = Statement(select(vectors_wanted.c.complete).where(vectors_wanted.c.model == bindparam("model")))
_SET_COMPLETE = Statement(
    update(vectors_wanted).where(vectors_wanted.c.model == bindparam("model_")).values(complete=literal(1))
)
_DELETE_OTHERS = Statement(delete(vectors_wanted).where(vectors_wanted.c.model != bindparam("model")))
_DELETE_QUEUE = Statement(delete(unembedded))


async def select_wanted(tx: Transaction) -> str | None:
    found: str | None = await tx.value(_SELECT_WANTED)
    return found


async def want(tx: Transaction, model: str) -> None:
    """From now on what is written is queued."""
    if tx.store.shared and await select_wanted(tx) is None:
        # Who writes just now has seen that nobody wants it: they end first, and are looked at with the others.
        await tx.all(_LOCK_TEXTS)
    await tx.run(_DELETE_OTHERS, model=model)
    await tx.run(_INSERT_WANTED, model=model, complete=0)


async def set_complete(tx: Transaction, model: str) -> None:
    """Every text was looked at for a vector of the model."""
    await tx.run(_SET_COMPLETE, model_=model)


async def is_complete(tx: Transaction, model: str) -> bool:
    return bool(await tx.value(_SELECT_COMPLETE, model=model))


async def want_nothing(tx: Transaction) -> None:
    await tx.run(_DELETE_OTHERS, model="")
    await tx.run(_DELETE_QUEUE)


# ── the queue ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _window(table: Table) -> Statement:
    page = select(table.c.id).where(table.c.id > bindparam("after")).order_by(table.c.id).limit(bindparam("limit"))
    return Statement(select(func.max(page.subquery().c.id)))


def _enqueue(kind: Kind) -> Statement:
    table, text, scope = _TEXTS[kind]
    has_one = exists().where(
        vectors.c.kind == literal(kind), vectors.c.item_id == table.c.id, vectors.c.model == bindparam("model")
    )
    wanted = [inside(table.c.id), ~has_one, table.c[text] != ""]
    if kind == "message":
        wanted += [table.c.type == "text", table.c.deleted_at.is_(None)]
    missing = select(literal(kind), table.c.id, table.c[scope]).where(and_(*wanted))
    columns = ["kind", "item_id", "scope"]
    return Statement(
        sqlite.insert(unembedded).from_select(columns, missing).on_conflict_do_nothing(),
        postgresql=postgresql.insert(unembedded).from_select(columns, missing).on_conflict_do_nothing(),
    )


def _waiting(kind: Kind) -> Statement:
    table, text, _ = _TEXTS[kind]
    return Statement(
        select(unembedded.c.number, unembedded.c.item_id, unembedded.c.scope, unembedded.c.failures, table.c[text])
        .select_from(unembedded.join(table, table.c.id == unembedded.c.item_id))
        .where(unembedded.c.kind == literal(kind), unembedded.c.next_at <= bindparam("now"))
        .order_by(unembedded.c.number.desc())
        .limit(bindparam("limit"))
    )


_WINDOWS = {kind: _window(_TEXTS[kind][0]) for kind in KINDS}
_ENQUEUE = {kind: _enqueue(kind) for kind in KINDS}
_WAITING = {kind: _waiting(kind) for kind in KINDS}
_SELECT_ANY = Statement(select(unembedded.c.number).where(unembedded.c.next_at <= bindparam("now")).limit(1))
_COUNT_WAITING = Statement(
    select(unembedded.c.kind, func.count()).where(unembedded.c.failures < MOST_FAILURES).group_by(unembedded.c.kind)
)
_COUNT_GIVEN_UP = Statement(select(func.count()).where(unembedded.c.failures >= MOST_FAILURES))
_SELECT_BEHIND = Statement(
    select(unembedded.c.number)
    .where(
        unembedded.c.kind == bindparam("kind"),
        any_of(unembedded.c.scope, "scopes"),
        unembedded.c.failures < MOST_FAILURES,
    )
    .limit(1)
)
_DELETE_WAITING = Statement(delete(unembedded).where(unembedded.c.number == bindparam("number")))
_PUT_OFF = Statement(
    update(unembedded)
    .where(unembedded.c.number == bindparam("number_"))
    .values(failures=unembedded.c.failures + 1, next_at=bindparam("next_at_"))
)


async def enqueue_missing(tx: Transaction, kind: Kind, model: str, after: str, limit: int) -> str | None:
    """Queue those of the next texts that have no vector of this model. Up to which id; None: there are no more."""
    upto: str | None = await tx.value(_WINDOWS[kind], after=after, limit=limit)
    if upto is not None:
        await tx.run(_ENQUEUE[kind], model=model, after=after, upto=upto)
    return upto


async def select_waiting(tx: Transaction, limit: int) -> list[Waiting]:
    """The next ones: passages before messages, the newest first."""
    found: list[Waiting] = []
    for kind in KINDS:
        if len(found) < limit:
            rows = await tx.all(_WAITING[kind], now=tx.clock.millis(), limit=limit - len(found))
            found += [Waiting(number, kind, id, scope, failed, text) for number, id, scope, failed, text in rows]
    return found


async def is_waiting(tx: Transaction) -> bool:
    return await tx.value(_SELECT_ANY, now=tx.clock.millis()) is not None


async def count_waiting(tx: Transaction) -> dict[str, int]:
    counted = {kind: count for kind, count in await tx.all(_COUNT_WAITING)}  # noqa: C416  rows are unpacked by name
    return {kind: counted.get(kind, 0) for kind in KINDS}


async def count_given_up(tx: Transaction) -> int:
    return int(await tx.value(_COUNT_GIVEN_UP) or 0)


async def is_behind(tx: Transaction, kind: Kind, model: str, scopes: Sequence[str]) -> bool:
    """Does anything in these scopes wait for a vector of the model? If nobody has looked for it yet, all may."""
    if not await is_complete(tx, model):
        return True
    return await tx.value(_SELECT_BEHIND, kind=kind, scopes=list(scopes)) is not None


async def put_off(tx: Transaction, number: int, next_at: int) -> None:
    await tx.run(_PUT_OFF, number_=number, next_at_=next_at)


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_DELETE_VECTOR = Statement(
    delete(vectors).where(vectors.c.kind == bindparam("kind"), vectors.c.item_id == bindparam("item_id"))
)
_INSERT_VECTOR = Statement(
    insert(vectors).values(
        kind=bindparam("kind"),
        item_id=bindparam("item_id"),
        scope=bindparam("scope"),
        model=bindparam("model"),
        vector=bindparam("vector"),
    )
)
_OF_SCOPE = (
    vectors.c.kind == bindparam("kind"),
    vectors.c.model == bindparam("model"),
    vectors.c.scope == bindparam("scope"),
)
_COUNT = Statement(
    select(vectors.c.scope, func.count(), func.max(vectors.c.number))
    .where(
        vectors.c.kind == bindparam("kind"),
        vectors.c.model == bindparam("model"),
        any_of(vectors.c.scope, "scopes"),
    )
    .group_by(vectors.c.scope)
)
_SELECT_AFTER = Statement(
    select(vectors.c.number, vectors.c.item_id, vectors.c.vector)
    .where(*_OF_SCOPE, vectors.c.number > bindparam("after"))
    .order_by(vectors.c.number)
    .limit(bindparam("limit"))
)
_COUNT_MODELS = Statement(select(vectors.c.model, func.count()).group_by(vectors.c.model))


async def keep(tx: Transaction, waiting: Waiting, model: str, vector: bytes) -> bool:
    """Unless the text has changed since, or is gone."""
    if not await tx.run(_DELETE_WAITING, number=waiting.number):
        return False
    await tx.run(_DELETE_VECTOR, kind=waiting.kind, item_id=waiting.id)
    await tx.run(_INSERT_VECTOR, kind=waiting.kind, item_id=waiting.id, scope=waiting.scope, model=model, vector=vector)
    return True


async def count(tx: Transaction, kind: Kind, model: str, scopes: Sequence[str]) -> dict[str, Count]:
    """Of the scopes that have any."""
    found = await tx.all(_COUNT, kind=kind, model=model, scopes=list(scopes))
    return {scope: Count(vectors, newest) for scope, vectors, newest in found}


async def select_after(
    tx: Transaction, kind: Kind, model: str, scope: str, after: int, limit: int
) -> list[tuple[int, str, bytes]]:
    """Vectors of a scope, by their numbers."""
    found: Any = await tx.all(_SELECT_AFTER, kind=kind, model=model, scope=scope, after=after, limit=limit)
    return [(number, id, vector) for number, id, vector in found]


async def count_models(tx: Transaction) -> dict[str, int]:
    """How many vectors there are of each model. Reads them all: for `doctor`."""
    return {model: int(count) for model, count in await tx.all(_COUNT_MODELS)}
