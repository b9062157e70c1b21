"""Queue what goes out, take the next entry of a chat, settle what came of it; what owners do about dead entries.

Queueing is part of the transaction of the change, so a change goes out if and only if it happened. The words are read
when they are sent, cleaned of secrets: what was edited meanwhile goes out as it is by then, what was deleted does not.
Sending is bridges/sender.py's.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import quote

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import Conflict, NotFound
from bullpen.files import rows as file_rows
from bullpen.observe.redact import REDACTOR, owner
from bullpen.outbox import rows, rules
from bullpen.outbox.types import Entry, Health, Outgoing, Queue, Result, Said, Sent, Wait
from bullpen.storage import Stage, Transaction
from bullpen.wire import Message
from bullpen.wire.nouns import Bridge, OutboxEntry, OutboxKind, OutboxStatus

# How long a process is the only one that sends for a bridge: well beyond what one attempt may take.
LEASE_MS: Final = 60_000
MOST_ERROR: Final = 500  # characters

TAKEN_BACK: Final = "The message was deleted before it was sent."
ELSEWHERE: Final = "The space is not this chat any more."
ANSWERED: Final = "The call was answered before this was sent."
NEVER_THERE: Final = "The message itself never got there."
SUPERSEDED: Final = "A later change says the same."
OFF: Final = "It was connected before, and does not run here now. What is said waits."
BY_OWNER: Final = "An owner dropped it."


async def connect(tx: Transaction, id: str) -> None:
    """From now on, what is said in spaces that are chats of this bridge goes out."""
    if await rows.insert_bridge(tx, id):
        note(tx, access.SYSTEM, "bridge.connected", "bridge", id)


# ── queueing ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def queue_message(tx: Transaction, message: Message, chat: str | None, via: str | None) -> None:
    """A message has got its number. The row of its space is locked. `via`: the chat that it came from."""
    if chat is not None and rules.goes_out(message.type, message.status, chat, via):
        await _insert(tx, chat, "message", message.space_id, message.id)


def queue_card(tx: Transaction, message: Message) -> None:
    """A card has changed: it waits for somebody now, or does not any more."""
    tx.defer(Stage.SPACES, message.space_id, partial(_queue_card, message=message))


async def _queue_card(tx: Transaction, message: Message) -> None:
    chat = await rows.select_chat(tx, message.space_id)
    if chat is None:
        return
    await rows.lock_space(tx, message.space_id)
    if await rows.was_queued(tx, chat, message.id):
        await _insert(tx, chat, "edit", message.space_id, message.id)
    elif rules.waits(message.type, message.status):
        await _insert(tx, chat, "message", message.space_id, message.id)


def queue_change(
    tx: Transaction,
    kind: OutboxKind,
    *,
    space_id: str,
    message_id: str,
    member_id: str | None = None,
    emoji: str | None = None,
) -> None:
    """A message was edited, deleted, or somebody reacted to it."""
    change = partial(
        _queue_change, kind=kind, space_id=space_id, message_id=message_id, member_id=member_id, emoji=emoji
    )
    tx.defer(Stage.SPACES, space_id, change)


async def _queue_change(
    tx: Transaction, kind: OutboxKind, space_id: str, message_id: str, member_id: str | None, emoji: str | None
) -> None:
    chat = await rows.select_chat(tx, space_id)
    if chat is None:
        return
    await rows.lock_space(tx, space_id)
    _, incoming = await rows.select_remote(tx, chat, message_id)
    if incoming and kind != "reaction":
        return  # only its author can change it there
    await _insert(tx, chat, kind, space_id, message_id, member_id, emoji)


async def _insert(
    tx: Transaction,
    chat: str,
    kind: OutboxKind,
    space_id: str,
    message_id: str,
    member_id: str | None = None,
    emoji: str | None = None,
) -> None:
    entry = Entry(
        number=0,
        bridge=chat.partition(":")[0],
        chat=chat,
        space_id=space_id,
        message_id=message_id,
        kind=kind,
        member_id=member_id,
        emoji=emoji,
        status="queued",
        part=0,
        attempts=0,
        failures=0,
        next_at=tx.clock.millis(),
        repeated_part=None,
        error=None,
        created_at=tx.clock.now(),
        finished_at=None,
    )
    await rows.insert_entry(tx, entry)


# ── sending ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def take(tx: Transaction, bridge: str, chat: str, owner: str, page: str = "") -> Outgoing | Wait | None:
    """The next entry of a chat, begun and written out. None: there is none.

    Needs the bridge's lease, and is called by the only one who sends to this chat: an entry that is under way here has
    lost its sender. `page`: where people reach the page, if that is known.
    """
    held = await rows.take_lease(tx, bridge, owner, LEASE_MS)
    if held is not None:
        return Wait(held, "leased elsewhere")
    while (entry := await rows.select_head(tx, bridge, chat)) is not None:
        if (wait := entry.next_at - tx.clock.millis()) > 0:
            return Wait(wait, "later")
        begun = rules.begin(entry)
        if begun.status == "dead":
            await rows.update_entry(tx, entry, begun)
            continue
        found = await _write(tx, begun, page)
        if isinstance(found, Outgoing):
            await rows.update_entry(tx, entry, begun)
            return found
        await rows.update_entry(tx, entry, rules.give_up(entry, found, tx.clock.now()))
    return None


async def _write(tx: Transaction, entry: Entry, page: str) -> Outgoing | str:
    """What is sent; or why there is nothing to send."""
    said = await rows.select_said(tx, entry.message_id)
    if said is None or await rows.select_chat(tx, entry.space_id) != entry.chat:
        return ELSEWHERE
    if said.type == "tool":
        said = replace(said, text=await _outline(tx, said, page))
    return await _WRITERS[entry.kind](tx, entry, said)


async def _outline(tx: Transaction, said: Said, page: str) -> str:
    card = said.metadata
    ids = [str(card[name]) for name in ("answeredBy", "approvedBy", "suppliedBy") if card.get(name)]
    names = await agent_rows.select_names(tx, ids)
    link = f"{page.rstrip('/')}/rooms/{quote(said.space_id, safe='')}" if page else ""
    return rules.outline(card, said.status, lambda id: names.get(id, id), link)


async def _write_message(tx: Transaction, entry: Entry, said: Said) -> Outgoing | str:
    if said.deleted_at is not None:
        return TAKEN_BACK
    if said.type == "tool" and not rules.waits(said.type, said.status) and not entry.part:
        return ANSWERED
    remote_ids, _ = await rows.select_remote(tx, entry.chat, entry.message_id)
    return await _with_words(tx, entry, said, remote_ids)


async def _write_edit(tx: Transaction, entry: Entry, said: Said) -> Outgoing | str:
    if said.deleted_at is not None:
        return TAKEN_BACK
    return await _change(tx, entry, said)


async def _write_delete(tx: Transaction, entry: Entry, said: Said) -> Outgoing | str:
    return await _change(tx, entry, said)


async def _write_reaction(tx: Transaction, entry: Entry, said: Said) -> Outgoing | str:
    if said.deleted_at is not None:
        return TAKEN_BACK
    if await rows.is_superseded(tx, entry):
        return SUPERSEDED
    remote_ids, _ = await rows.select_remote(tx, entry.chat, entry.message_id)
    if not remote_ids:
        return NEVER_THERE
    assert entry.member_id is not None
    assert entry.emoji is not None
    names = await agent_rows.select_names(tx, [entry.member_id])
    return Outgoing(
        entry,
        author_name=names.get(entry.member_id, entry.member_id),
        remote_ids=remote_ids,
        emoji=entry.emoji,
        added=await rows.has_reacted(tx, entry.message_id, entry.member_id, entry.emoji),
    )


async def _change(tx: Transaction, entry: Entry, said: Said) -> Outgoing | str:
    if await rows.is_superseded(tx, entry):
        return SUPERSEDED
    remote_ids, _ = await rows.select_remote(tx, entry.chat, entry.message_id)
    return await _with_words(tx, entry, said, remote_ids) if remote_ids else NEVER_THERE


async def _with_words(tx: Transaction, entry: Entry, said: Said, remote_ids: tuple[str, ...]) -> Outgoing:
    masker = REDACTOR.masker(
        [owner("space", said.space_id), owner(said.author_kind, said.author_id), owner("person", said.cause_id or "")]
    )
    names = await agent_rows.select_names(tx, [said.author_id])
    files = await file_rows.select_shown(tx, [entry.message_id])
    answered, _ = ((), False) if said.reply_to is None else await rows.select_remote(tx, entry.chat, said.reply_to)
    return Outgoing(
        entry,
        author_name=access.SYSTEM.name if said.author_kind == "system" else names.get(said.author_id, said.author_id),
        author_kind=said.author_kind,
        type=said.type,
        text=masker.clean(said.text),
        files=tuple(files.get(entry.message_id, ())),
        reply_to=answered[0] if answered else None,
        remote_ids=remote_ids,
    )


_Writer: TypeAlias = Callable[[Transaction, Entry, Said], Awaitable[Outgoing | str]]
_WRITERS: Final[Mapping[OutboxKind, _Writer]] = {
    "message": _write_message,
    "edit": _write_edit,
    "delete": _write_delete,
    "reaction": _write_reaction,
}


async def settle(tx: Transaction, item: Outgoing, result: Result) -> OutboxStatus | None:
    """What came of an attempt; the entry's status from now on. None: it does not count any more."""
    begun = item.entry
    current = await rows.select_entry(tx, begun.number)
    if current is None or not rules.counts(current, begun, result):
        return None
    after = rules.settle(current, result, now=tx.clock.millis(), at=tx.clock.now(), luck=random.random())
    if after.error is not None:
        after = replace(after, error=REDACTOR.clean(after.error)[:MOST_ERROR])
    if not await rows.update_entry(tx, current, after):
        return None
    if isinstance(result, Sent) and result.remote_id is not None and begun.kind == "message":
        await rows.insert_remote(
            tx,
            begun.chat,
            result.remote_id,
            space_id=begun.space_id,
            message_id=begun.message_id,
            part=begun.part,
        )
    return after.status


async def bury_unsent(tx: Transaction) -> None:
    """The office was restored from a backup: nobody knows what was sent after it was made."""
    await rows.release_all(tx)
    for entry in await rows.select_unsent(tx):
        await rows.update_entry(tx, entry, rules.bury(entry, rules.RESTORED))


# ── owners ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def describe(id: str, queue: Queue, health: Health | None) -> Bridge:
    """A bridge as owners see it. `health`: what it says of itself; None: it does not run here."""
    failing = health is None or not health.ok or queue.error is not None
    return Bridge(
        id=id,
        status="off" if health is None else "failing" if failing else "ok",
        health=OFF if health is None else health.text,
        queued=queue.unsent,
        oldest_at=queue.oldest_at,
        dead=queue.dead,
        last_error=queue.error,
    )


async def retry(tx: Transaction, actor: Principal, bridge: str, id: str) -> OutboxEntry:
    entry = await _dead(tx, actor, bridge, id)
    return await _decide(tx, actor, entry, rules.revive(entry, tx.clock.millis()), "outbox.retried")


async def drop(tx: Transaction, actor: Principal, bridge: str, id: str) -> OutboxEntry:
    entry = await _dead(tx, actor, bridge, id)
    return await _decide(tx, actor, entry, rules.drop(entry, BY_OWNER, tx.clock.now()), "outbox.dropped")


async def _dead(tx: Transaction, actor: Principal, bridge: str, id: str) -> Entry:
    access.authorize(actor, "operate")
    entry = await rows.select_entry(tx, int(id)) if id.isascii() and id.isdigit() and len(id) < 19 else None
    if entry is None or entry.bridge != bridge:
        raise NotFound(f"There is no entry {id!r} in the outbox of {bridge!r}.")
    if entry.status != "dead":
        raise Conflict(f"Entry {id} is {entry.status}, not dead: there is nothing to decide.")
    return entry


async def _decide(tx: Transaction, actor: Principal, before: Entry, after: Entry, action: str) -> OutboxEntry:
    if not await rows.update_entry(tx, before, after):
        raise Conflict(f"Somebody else has decided about entry {before.number} just now.")
    note(tx, actor, action, "outbox", str(before.number), bridge=before.bridge, messageId=before.message_id)
    return to_wire(after)


def to_wire(entry: Entry) -> OutboxEntry:
    return OutboxEntry(
        id=str(entry.number),
        bridge=entry.bridge,
        chat=entry.chat,
        space_id=entry.space_id,
        message_id=entry.message_id,
        kind=entry.kind,
        status=entry.status,
        attempts=entry.attempts,
        repeated=entry.repeated_part is not None,
        error=entry.error,
        created_at=entry.created_at,
        finished_at=entry.finished_at,
    )
