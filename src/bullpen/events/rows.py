"""SQL for events. Rows are read only below the horizon, so a reader never steps over one that commits later."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, insert, or_, select, text, update

from bullpen.events.types import Place, StoredEvent
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.mapped import Codec, Mapped
from bullpen.storage.statements import current_xid, horizon, inside, upsert
from bullpen.storage.tables import events, meta

_INSERT = Statement(
    insert(events).values(
        xid=current_xid(),
        type=bindparam("type"),
        space_id=bindparam("space_id"),
        agent_id=bindparam("agent_id"),
        run_id=bindparam("run_id"),
        audience=bindparam("audience"),
        at=bindparam("at"),
        body=bindparam("body"),
    )
)
_EVENTS = Mapped(StoredEvent, events, given=("place",), body=Codec(str.encode, bytes.decode))
_AFTER = and_(
    events.c.xid >= bindparam("xid"),
    or_(events.c.xid > bindparam("xid"), and_(events.c.xid == bindparam("xid"), events.c.id > bindparam("id"))),
)
_UP_TO = or_(
    events.c.xid < bindparam("last_xid"),
    and_(events.c.xid == bindparam("last_xid"), events.c.id <= bindparam("last_id")),
)
# On SQLite all rows have the same xid. Its planner must be told, or it looks through every event there is.
_AFTER_ON_SQLITE = and_(events.c.xid == bindparam("xid"), events.c.id > bindparam("id"))
_UP_TO_ON_SQLITE = and_(events.c.xid == bindparam("last_xid"), events.c.id <= bindparam("last_id"))


def _page(*conditions: ColumnElement[bool]) -> Select[Any]:
    columns = events.c.xid, events.c.id, *_EVENTS.columns
    return select(*columns).where(*conditions).order_by(events.c.xid, events.c.id).limit(bindparam("limit"))


_SELECT_AFTER = Statement(_page(_AFTER_ON_SQLITE), postgresql=_page(_AFTER, events.c.xid < horizon()))
_SELECT_BETWEEN = Statement(_page(_AFTER_ON_SQLITE, _UP_TO_ON_SQLITE), postgresql=_page(_AFTER, _UP_TO))
_SELECT_NEWEST = Statement(
    select(events.c.xid, events.c.id)
    .where(events.c.xid < horizon())
    .order_by(events.c.xid.desc(), events.c.id.desc())
    .limit(1)
)
_SELECT_NEWEST_AT = Statement(
    select(events.c.at).where(events.c.xid < horizon()).order_by(events.c.xid.desc(), events.c.id.desc()).limit(1)
)
_SELECT_HIDDEN = Statement(select(events.c.id).where(events.c.xid >= horizon()).limit(1))
_SELECT_META = Statement(select(meta.c.value).where(meta.c.key == bindparam("key")))
_INSERT_META = Statement(insert(meta))

_TAKE_TURNS = Statement(
    text("SELECT pg_advisory_xact_lock(hashtextextended(key, 0)) FROM unnest(CAST(:keys AS text[])) AS key")
)

INCARNATION = "incarnation"
# The newest event that retention removed: cursors before it cannot be continued.
FORGOTTEN = "events_forgotten"


def _event(row: Row) -> StoredEvent:
    xid, id, *columns = row
    return _EVENTS.read(columns, place=Place(xid, id))


async def insert_events(tx: Transaction, rows: list[dict[str, Any]]) -> None:
    await tx.many(_INSERT, rows)


async def select_after(tx: Transaction, place: Place, limit: int) -> list[StoredEvent]:
    return [_event(row) for row in await tx.all(_SELECT_AFTER, xid=place.xid, id=place.id, limit=limit)]


async def select_between(tx: Transaction, place: Place, last: Place, limit: int) -> list[StoredEvent]:
    found = await tx.all(_SELECT_BETWEEN, xid=place.xid, id=place.id, last_xid=last.xid, last_id=last.id, limit=limit)
    return [_event(row) for row in found]


async def take_turns(tx: Transaction, keys: list[str]) -> None:
    """PostgreSQL only: SQLite has one writer, who is it already."""
    await tx.all(_TAKE_TURNS, keys=keys)


async def select_newest(tx: Transaction) -> Place:
    xid, id = await tx.one(_SELECT_NEWEST) or (0, 0)
    return Place(xid, id)


async def select_newest_at(tx: Transaction) -> str | None:
    """When the newest event happened, by the clock of whoever wrote it."""
    at: str | None = await tx.value(_SELECT_NEWEST_AT)
    return at


async def select_hidden(tx: Transaction) -> bool:
    """Is something committed that may not be read yet, because an older transaction is still open?"""
    return await tx.one(_SELECT_HIDDEN) is not None


async def select_forgotten(tx: Transaction) -> Place:
    xid, _, id = (await tx.value(_SELECT_META, key=FORGOTTEN) or "0.0").partition(".")
    return Place(int(xid), int(id))


async def ensure_incarnation(tx: Transaction) -> str:
    """A name for this life of the database. A restored copy gets a new one, so that old cursors are told to reload."""
    known = await tx.value(_SELECT_META, key=INCARNATION)
    if known is not None:
        return str(known)
    value = secrets.token_hex(4)
    await tx.run(_INSERT_META, key=INCARNATION, value=value)
    return value


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_OLDEST = Statement(
    select(events.c.xid, events.c.id, events.c.at)
    .where(events.c.xid < horizon())
    .order_by(events.c.xid, events.c.id)
    .limit(bindparam("limit"))
)
_DELETE_UP_TO = Statement(delete(events).where(_UP_TO))
_PUT_META = upsert(meta, ["key"], ["value"])
_SET_META = Statement(update(meta).where(meta.c.key == bindparam("key_")).values(value=bindparam("value_")))
_DELETE_META = Statement(delete(meta).where(meta.c.key == bindparam("key_")))
# What an agent is made of, and what it did, as followers were told.
_DELETE_OF_AGENT = Statement(
    delete(events).where(
        inside(events.c.id),
        events.c.agent_id == bindparam("agent_id"),
        or_(any_of(events.c.type, "types"), events.c.type.like("tool.%")),
    )
)
# A member who is out of a space learns from that event that the space is gone.
_DELETE_OF_SPACE = Statement(
    delete(events).where(
        inside(events.c.id), events.c.space_id == bindparam("space_id"), events.c.type != "member_left"
    )
)


async def select_oldest(tx: Transaction, limit: int) -> list[tuple[Place, str]]:
    """Place and time of the first ones, in order."""
    return [(Place(xid, id_), at) for xid, id_, at in await tx.all(_SELECT_OLDEST, limit=limit)]


async def forget_up_to(tx: Transaction, place: Place) -> None:
    """Remove all up to this place. A follower with a cursor from before it is told to load again."""
    await tx.run(_DELETE_UP_TO, last_xid=place.xid, last_id=place.id)
    await tx.run(_PUT_META, key=FORGOTTEN, value=f"{place.xid}.{place.id}")


async def renew_incarnation(tx: Transaction) -> str:
    """A new life of the database: a cursor from before names nothing in it."""
    await tx.run(_DELETE_META, key_=INCARNATION)
    await tx.run(_SET_META, key_=FORGOTTEN, value_="0.0")
    return await ensure_incarnation(tx)


async def delete_of_agent(tx: Transaction, agent_id: str, after: int, upto: int) -> None:
    types = ["agent_created", "agent_updated", "goal_updated", "plan_fired"]
    await tx.run(_DELETE_OF_AGENT, agent_id=agent_id, types=types, after=after, upto=upto)


async def delete_of_space(tx: Transaction, space_id: str, after: int, upto: int) -> None:
    await tx.run(_DELETE_OF_SPACE, space_id=space_id, after=after, upto=upto)
