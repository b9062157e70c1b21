"""SQL for bridges, the outbox, and what messages are called elsewhere.

A row of the outbox is changed by a compare-and-set on its status and attempts: of two who change it, one does.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from bullpen.outbox.types import Entry, Queue, Said
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import JSON, Mapped
from bullpen.storage.statements import insert_or_ignore, now_millis
from bullpen.storage.tables import (
    bridge_messages,
    bridge_updates,
    bridges,
    chats,
    messages,
    outbox,
    reactions,
    runs,
    spaces,
)

_ENTRY = Mapped(Entry, outbox)
_SAID = Mapped(Said, messages, others={"cause_id": runs.c.cause_id}, metadata=JSON)
# Written out, not bound: only then are they seen to be the conditions of indexes.
_UNSENT: ColumnElement[bool] = literal_column("status IN ('queued', 'sending', 'unknown')")
_DEAD = outbox.c.status == literal_column("'dead'")
_OF_BRIDGE = outbox.c.bridge == bindparam("bridge")

# ── bridges ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_BRIDGE = insert_or_ignore(bridges)
_SELECT_BRIDGES = Statement(select(bridges.c.id).order_by(bridges.c.id))
_LOCK_BRIDGE = Statement(
    select(bridges.c.owner, bridges.c.until, now_millis()).where(bridges.c.id == bindparam("id")).with_for_update()
)
_LEASE = Statement(
    update(bridges)
    .where(bridges.c.id == bindparam("id_"))
    .values(owner=bindparam("owner_"), until=now_millis() + bindparam("millis", type_=bridges.c.until.type))
)
_RELEASE = Statement(
    update(bridges)
    .where(bridges.c.id == bindparam("id_"), bridges.c.owner == bindparam("owner_"))
    .values(owner=None, until=0)
)
_RELEASE_ALL = Statement(update(bridges).values(owner=None, until=0))


def bridged_chat(space_id: ColumnElement[str]) -> ScalarSelect[Any]:
    """The chat that a space is, if its bridge was connected. Asked along with what every message asks anyway."""
    begins = func.substr(chats.c.jid, 1, func.length(bridges.c.id) + 1) == bridges.c.id + ":"
    return select(chats.c.jid).where(chats.c.space_id == space_id, begins).limit(1).scalar_subquery()


_SELECT_CHAT = Statement(select(bridged_chat(bindparam("space_id", type_=chats.c.space_id.type))))
# Numbers are given in turn: whoever changes something in a bridged space has the space's row until the commit.
_LOCK_SPACE = Statement(select(spaces.c.id).where(spaces.c.id == bindparam("id")).with_for_update())


async def insert_bridge(tx: Transaction, id: str) -> bool:
    """False: it was connected before."""
    return await tx.run(_INSERT_BRIDGE, id=id, owner=None, until=0, created_at=tx.clock.now()) > 0


async def select_bridges(tx: Transaction) -> list[str]:
    return await tx.values(_SELECT_BRIDGES)


async def take_lease(tx: Transaction, id: str, owner: str, millis: int) -> int | None:
    """Send for this bridge, as the only process. None: it is ours; else for how long another one has it."""
    row = await tx.one(_LOCK_BRIDGE, id=id)
    if row is None:
        return millis
    holder, until, now = row
    # One process owns a SQLite file, so a holder there is this very process in an earlier life: dead.
    if tx.store.shared and holder not in (None, owner) and until > now:
        return int(until - now)
    if holder != owner or until < now + millis * 3 // 4:  # what is left must outlast an attempt
        await tx.run(_LEASE, id_=id, owner_=owner, millis=millis)
    return None


async def release_lease(tx: Transaction, id: str, owner: str) -> None:
    await tx.run(_RELEASE, id_=id, owner_=owner)


async def release_all(tx: Transaction) -> None:
    await tx.run(_RELEASE_ALL)


async def select_chat(tx: Transaction, space_id: str) -> str | None:
    """The chat that a space is, if its bridge was connected."""
    found: str | None = await tx.value(_SELECT_CHAT, space_id=space_id)
    return found


async def lock_space(tx: Transaction, id: str) -> None:
    await tx.one(_LOCK_SPACE, id=id)


# ── entries ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_WRITTEN = [name for name in _ENTRY.names if name != "number"]  # that comes from the database
_CHANGING = ("status", "part", "attempts", "failures", "next_at", "repeated_part", "error", "finished_at")
_INSERT = Statement(insert(outbox).values({name: bindparam(name) for name in _WRITTEN}))
_SELECT = Statement(select(*_ENTRY.columns).where(outbox.c.number == bindparam("number")))
_SELECT_HEAD = Statement(
    select(*_ENTRY.columns)
    .where(_UNSENT, _OF_BRIDGE, outbox.c.chat == bindparam("chat"))
    .order_by(outbox.c.number)
    .limit(1)
)
_SELECT_NEXT_CHAT = Statement(
    select(func.min(outbox.c.chat)).where(_UNSENT, _OF_BRIDGE, outbox.c.chat > bindparam("after"))
)
_UPDATE = Statement(
    update(outbox)
    .where(
        outbox.c.number == bindparam("number_"),
        outbox.c.status == bindparam("was"),
        outbox.c.attempts == bindparam("attempts_before"),
    )
    .values({name: bindparam(f"{name}_", type_=outbox.c[name].type) for name in _CHANGING})
)
_SELECT_LATER = Statement(
    select(outbox.c.number)
    .where(
        outbox.c.message_id == bindparam("message_id"),
        outbox.c.kind != literal_column("'message'"),
        outbox.c.kind == bindparam("kind"),
        outbox.c.chat == bindparam("chat"),
        outbox.c.number > bindparam("number"),
        outbox.c.status == "queued",
        func.coalesce(outbox.c.member_id, "") == bindparam("member_id"),
        func.coalesce(outbox.c.emoji, "") == bindparam("emoji"),
    )
    .limit(1)
)
_SELECT_DEAD = Statement(
    select(*_ENTRY.columns)
    .where(_DEAD, _OF_BRIDGE, outbox.c.number < bindparam("before"))
    .order_by(outbox.c.number.desc())
    .limit(bindparam("limit"))
)
_COUNT_UNSENT = Statement(select(func.count(), func.min(outbox.c.created_at)).where(_UNSENT, _OF_BRIDGE))
_COUNT_DEAD = Statement(select(func.count()).where(_DEAD, _OF_BRIDGE))
_SELECT_FAILING = Statement(
    select(outbox.c.error).where(_UNSENT, _OF_BRIDGE, outbox.c.error.is_not(None)).order_by(outbox.c.number).limit(1)
)
_SELECT_ALL_UNSENT = Statement(select(*_ENTRY.columns).where(_UNSENT))
_BRING_FORWARD = Statement(
    update(outbox)
    .where(_UNSENT, outbox.c.next_at > bindparam("now"))
    .values(next_at=bindparam("now", type_=outbox.c.next_at.type))
)
_SELECT_OLD = Statement(
    select(outbox.c.number)
    .where(outbox.c.finished_at.is_not(None), outbox.c.finished_at < bindparam("before"))
    .limit(bindparam("limit"))
)
_DELETE_OLD = Statement(delete(outbox).where(any_of(outbox.c.number, "numbers")))
_DELETE_IN_SPACE = Statement(delete(outbox).where(outbox.c.space_id == bindparam("space_id")))


async def insert_entry(tx: Transaction, entry: Entry) -> None:
    """Its number comes from the database."""
    await tx.run(_INSERT, **{name: value for name, value in _ENTRY.write(entry).items() if name != "number"})


async def select_entry(tx: Transaction, number: int) -> Entry | None:
    return _ENTRY.read_one(await tx.one(_SELECT, number=number))


async def select_next_chat(tx: Transaction, bridge: str, after: str) -> str | None:
    """The next chat, by its id, that something has to be sent to."""
    found: str | None = await tx.value(_SELECT_NEXT_CHAT, bridge=bridge, after=after)
    return found


async def select_head(tx: Transaction, bridge: str, chat: str) -> Entry | None:
    """What comes next in a chat. It may not be due."""
    return _ENTRY.read_one(await tx.one(_SELECT_HEAD, bridge=bridge, chat=chat))


async def update_entry(tx: Transaction, before: Entry, after: Entry) -> bool:
    """False: somebody else has changed it meanwhile."""
    values = _ENTRY.write(after)
    changes = {f"{name}_": values[name] for name in _CHANGING}
    guard = {"number_": before.number, "was": before.status, "attempts_before": before.attempts}
    return await tx.run(_UPDATE, **guard, **changes) > 0


async def is_superseded(tx: Transaction, entry: Entry) -> bool:
    """Does a later entry tell of the same thing? Each is sent as it is by then, so the last one is enough."""
    same = {"message_id": entry.message_id, "kind": entry.kind, "chat": entry.chat, "number": entry.number}
    found = await tx.one(_SELECT_LATER, member_id=entry.member_id or "", emoji=entry.emoji or "", **same)
    return found is not None


async def select_dead(tx: Transaction, bridge: str, *, before: int, limit: int) -> list[Entry]:
    """Newest first."""
    return _ENTRY.read_all(await tx.all(_SELECT_DEAD, bridge=bridge, before=before, limit=limit))


async def select_queue(tx: Transaction, bridge: str) -> Queue:
    row = await tx.one(_COUNT_UNSENT, bridge=bridge)
    unsent, oldest_at = (0, None) if row is None else row
    dead = await tx.value(_COUNT_DEAD, bridge=bridge)
    return Queue(unsent, dead or 0, oldest_at, await tx.value(_SELECT_FAILING, bridge=bridge))


async def select_unsent(tx: Transaction) -> list[Entry]:
    return _ENTRY.read_all(await tx.all(_SELECT_ALL_UNSENT))


async def bring_forward(tx: Transaction) -> int:
    """The clock was put back: what waits for another attempt is tried now."""
    return await tx.run(_BRING_FORWARD, now=tx.clock.millis())


async def delete_old(tx: Transaction, before: str, limit: int) -> int:
    """Of those that are over. What is dead stays until somebody decides."""
    numbers = await tx.values(_SELECT_OLD, before=before, limit=limit)
    return await tx.run(_DELETE_OLD, numbers=numbers) if numbers else 0


async def delete_in_space(tx: Transaction, space_id: str) -> None:
    await tx.run(_DELETE_IN_SPACE, space_id=space_id)
    await tx.run(_DELETE_REMOTE_IN_SPACE, space_id=space_id)


# ── what is sent ────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_SAID = Statement(
    select(*_SAID.columns)
    .select_from(messages.outerjoin(runs, runs.c.id == messages.c.run_id))
    .where(messages.c.id == bindparam("id"))
)
_SELECT_REACTION = Statement(
    select(reactions.c.emoji).where(
        reactions.c.message_id == bindparam("message_id"),
        reactions.c.member_id == bindparam("member_id"),
        reactions.c.emoji == bindparam("emoji"),
    )
)


async def select_said(tx: Transaction, message_id: str) -> Said | None:
    return _SAID.read_one(await tx.one(_SELECT_SAID, id=message_id))


async def has_reacted(tx: Transaction, message_id: str, member_id: str, emoji: str) -> bool:
    return await tx.one(_SELECT_REACTION, message_id=message_id, member_id=member_id, emoji=emoji) is not None


# ── what messages are called elsewhere ──────────────────────────────────────────────────────────────────────────────

_INSERT_REMOTE = insert_or_ignore(bridge_messages)
_SELECT_REMOTE = Statement(
    select(bridge_messages.c.remote_id, bridge_messages.c.incoming)
    .where(bridge_messages.c.message_id == bindparam("message_id"), bridge_messages.c.chat == bindparam("chat"))
    .order_by(bridge_messages.c.part, bridge_messages.c.remote_id)
)
_SELECT_MESSAGE_ID = Statement(
    select(bridge_messages.c.message_id).where(
        and_(bridge_messages.c.chat == bindparam("chat"), bridge_messages.c.remote_id == bindparam("remote_id"))
    )
)
_SELECT_QUEUED = Statement(
    select(outbox.c.number).where(outbox.c.message_id == bindparam("message_id"), literal_column("kind = 'message'"))
)
_DELETE_REMOTE_IN_SPACE = Statement(delete(bridge_messages).where(bridge_messages.c.space_id == bindparam("space_id")))


async def insert_remote(
    tx: Transaction, chat: str, remote_id: str, *, space_id: str, message_id: str, part: int = 0, incoming: bool = False
) -> None:
    values = {"space_id": space_id, "message_id": message_id, "part": part, "incoming": int(incoming)}
    await tx.run(_INSERT_REMOTE, chat=chat, remote_id=remote_id, **values)


async def select_remote(tx: Transaction, chat: str, message_id: str) -> tuple[tuple[str, ...], bool]:
    """What a message is called in a chat, part by part, and whether it was said there."""
    found = await tx.all(_SELECT_REMOTE, chat=chat, message_id=message_id)
    return tuple(remote_id for remote_id, _ in found), any(incoming for _, incoming in found)


async def was_queued(tx: Transaction, chat: str, message_id: str) -> bool:
    """Was it to go there, or has it gone?"""
    if await tx.one(_SELECT_QUEUED, message_id=message_id) is not None:
        return True
    return bool((await select_remote(tx, chat, message_id))[0])


async def select_message_id(tx: Transaction, chat: str, remote_id: str) -> str | None:
    found: str | None = await tx.value(_SELECT_MESSAGE_ID, chat=chat, remote_id=remote_id)
    return found


# ── updates that were taken ─────────────────────────────────────────────────────────────────────────────────────────

_INSERT_UPDATE = insert_or_ignore(bridge_updates)
_SELECT_OLD_UPDATES = Statement(
    select(bridge_updates.c.bridge, bridge_updates.c.update_id)
    .where(bridge_updates.c.received_at < bindparam("before"))
    .limit(bindparam("limit"))
)
_DELETE_UPDATES = Statement(
    delete(bridge_updates).where(
        bridge_updates.c.bridge == bindparam("bridge_"), any_of(bridge_updates.c.update_id, "ids")
    )
)


async def insert_update(tx: Transaction, bridge: str, update_id: str) -> bool:
    """False: it was taken before."""
    return await tx.run(_INSERT_UPDATE, bridge=bridge, update_id=update_id, received_at=tx.clock.now()) > 0


async def delete_updates(tx: Transaction, before: str, limit: int) -> int:
    """Nobody tells of them again."""
    found = await tx.all(_SELECT_OLD_UPDATES, before=before, limit=limit)
    for bridge in {bridge for bridge, _ in found}:
        await tx.run(_DELETE_UPDATES, bridge_=bridge, ids=[id for of, id in found if of == bridge])
    return len(found)
