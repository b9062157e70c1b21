"""SQL that no single noun has a use for: what a restored office must forget, what retention and erasure look for.

Nothing here reads a whole table at once. Rows that no index finds are looked for in windows of ids, one
transaction each, so that nobody waits long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Table, and_, bindparam, delete, func, or_, select, text, update

from bullpen.access import rows as access_rows
from bullpen.budgets import rows as budget_rows
from bullpen.events import rows as event_rows
from bullpen.events.types import Place
from bullpen.files import rows as file_rows
from bullpen.outbox import actions as outbox
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.statements import contains, horizon, insert_or_ignore, upsert
from bullpen.storage.tables import (
    agents,
    blocks,
    chain_stops,
    chats,
    events,
    files,
    group_blocks,
    inbox_items,
    invites,
    leases,
    members,
    messages,
    meta,
    passages,
    pending_calls,
    people,
    prompts,
    reactions,
    run_messages,
    runs,
    sessions,
    spaces,
    tasks,
    threads,
    tokens,
)
from bullpen.upkeep.rules import NAMES, Target
from bullpen.webhooks import rows as webhook_rows

_DELETE_META = Statement(delete(meta).where(meta.c.key == bindparam("key_")))
_SET_META = Statement(update(meta).where(meta.c.key == bindparam("key_")).values(value=bindparam("value_")))
_PUT_META = upsert(meta, ["key"], ["value"])
_SELECT_META = Statement(select(meta.c.value).where(meta.c.key == bindparam("key")))

# ── an office that opens ────────────────────────────────────────────────────────────────────────────────────────────

# What is read in the order of its ids, and would be read in the wrong one if newer ids were smaller.
_SELECT_NEWEST_IDS = [
    Statement(select(func.max(table.c.id))) for table in (messages, runs, inbox_items, passages, tasks, files)
]


async def select_newest_ids(tx: Transaction) -> list[str]:
    found = [await tx.one(statement) for statement in _SELECT_NEWEST_IDS]
    return [str(row[0]) for row in found if row is not None and row[0] is not None]


# ── a restored office ───────────────────────────────────────────────────────────────────────────────────────────────

_RELEASE_ALL = Statement(update(leases).values(owner=None, until=0))
_END_SESSIONS = Statement(update(sessions).where(sessions.c.ended_at.is_(None)).values(ended_at=bindparam("now")))


async def begin_new_life(tx: Transaction) -> str:
    """Nobody drives a thread yet, nobody is signed in, a cursor from before names nothing here, what webhooks were
    about to be told is long past, and what was about to be sent may have been."""
    await tx.run(_DELETE_META, key_=event_rows.INCARNATION)
    await tx.run(_SET_META, key_=event_rows.FORGOTTEN, value_="0.0")
    await tx.run(_RELEASE_ALL)
    await tx.run(_END_SESSIONS, now=tx.clock.now())
    await webhook_rows.drop_queued(tx, None, "The office was restored from a backup.")
    await outbox.bury_unsent(tx)
    return await event_rows.ensure_incarnation(tx)


# ── one at a time ───────────────────────────────────────────────────────────────────────────────────────────────────

_TURN = 4_242_008_421
_TRY_TURN = Statement(text(f"SELECT pg_try_advisory_xact_lock({_TURN})"))


async def try_turn(tx: Transaction) -> bool:
    """Is nobody else at it? On SQLite nobody can be."""
    row = await tx.one(_TRY_TURN) if tx.store.shared else None
    return row is None or bool(row[0])


# ── retention ───────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_OLDEST = Statement(
    select(events.c.xid, events.c.id, events.c.at)
    .where(events.c.xid < horizon())
    .order_by(events.c.xid, events.c.id)
    .limit(bindparam("limit"))
)
_DELETE_EVENTS = Statement(
    delete(events).where(
        or_(
            events.c.xid < bindparam("xid"),
            and_(events.c.xid == bindparam("xid"), events.c.id <= bindparam("last_id")),
        )
    )
)
_OLD = and_(runs.c.id > bindparam("after"), runs.c.id < bindparam("before"))
_SELECT_OLD_RUNS = Statement(
    select(runs.c.id)
    .where(_OLD, runs.c.finished_at.is_not(None), runs.c.payload != "{}")
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_SELECT_OLD_UNDER_WAY = Statement(select(func.min(runs.c.id)).where(_OLD, runs.c.finished_at.is_(None)))
_DELETE_JOURNALS = Statement(delete(run_messages).where(any_of(run_messages.c.run_id, "ids")))
_DELETE_CLAIMED = Statement(delete(inbox_items).where(any_of(inbox_items.c.claimed_by, "ids")))
# A run with this payload has no journal any more, and the items it answered are gone.
_EMPTY_RUNS = Statement(update(runs).where(any_of(runs.c.id, "ids")).values(payload="{}", prompt_hash=None))
_SELECT_PROMPTS = Statement(select(prompts.c.hash))
_SELECT_PROMPTS_IN_USE = Statement(
    select(runs.c.id, runs.c.prompt_hash)
    .where(runs.c.id > bindparam("after"))
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_LOCK_PROMPTS = Statement(text("LOCK TABLE prompts IN SHARE ROW EXCLUSIVE MODE"))
_SELECT_NEW_USES = Statement(select(runs.c.prompt_hash).distinct().where(runs.c.id > bindparam("after")))
_DELETE_PROMPTS = Statement(delete(prompts).where(any_of(prompts.c.hash, "hashes")))
_ENDED = or_(sessions.c.expires_at < bindparam("millis"), sessions.c.ended_at < bindparam("at"))
_SELECT_ENDED = Statement(select(sessions.c.id).where(_ENDED).limit(bindparam("limit")))
_DELETE_ENDED = Statement(delete(sessions).where(any_of(sessions.c.id, "ids")))
_SELECT_USED = Statement(
    select(invites.c.id)
    .where(
        invites.c.created_at < bindparam("at"),
        or_(
            invites.c.used_by.is_not(None),
            invites.c.revoked_at.is_not(None),
            invites.c.expires_at < bindparam("millis"),
        ),
    )
    .limit(bindparam("limit"))
)
_DELETE_USED = Statement(delete(invites).where(any_of(invites.c.id, "ids")))
# All finished runs up to this one have lost their journals.
_JOURNALS = "journals_forgotten"


@dataclass(frozen=True, slots=True)
class Dated:
    place: Place
    at: str


async def select_oldest_events(tx: Transaction, limit: int) -> list[Dated]:
    return [Dated(Place(row[0], row[1]), row[2]) for row in await tx.all(_SELECT_OLDEST, limit=limit)]


async def forget_events(tx: Transaction, place: Place) -> None:
    """Remove all up to this place. Whoever comes with a cursor from before it is told to load again."""
    await tx.run(_DELETE_EVENTS, xid=place.xid, last_id=place.id)
    await tx.run(_PUT_META, key=event_rows.FORGOTTEN, value=f"{place.xid}.{place.id}")


async def select_old_runs(tx: Transaction, before: str, limit: int) -> list[str]:
    """Finished runs from before this id that still have a journal, oldest first."""
    row = await tx.one(_SELECT_META, key=_JOURNALS)
    found = await tx.all(_SELECT_OLD_RUNS, after="" if row is None else row[0], before=before, limit=limit)
    return [row[0] for row in found]


async def forget_journals(tx: Transaction, run_ids: list[str]) -> None:
    row = await tx.one(_SELECT_META, key=_JOURNALS)
    # A run that has been under way all the time is looked at again when it is over.
    busy = await tx.one(_SELECT_OLD_UNDER_WAY, after="" if row is None else row[0], before=run_ids[-1])
    await empty_runs(tx, run_ids)
    if busy is None or busy[0] is None:
        await tx.run(_PUT_META, key=_JOURNALS, value=run_ids[-1])


async def empty_runs(tx: Transaction, run_ids: list[str]) -> None:
    """Take their journals, and the items they answered."""
    await tx.run(_DELETE_JOURNALS, ids=run_ids)
    await tx.run(_DELETE_CLAIMED, ids=run_ids)
    await tx.run(_EMPTY_RUNS, ids=run_ids)


async def select_prompts(tx: Transaction) -> set[str]:
    return {row[0] for row in await tx.all(_SELECT_PROMPTS)}


async def select_prompts_in_use(tx: Transaction, after: str, limit: int) -> list[tuple[str, str | None]]:
    """Runs after this one, and what each was shown."""
    return [(row[0], row[1]) for row in await tx.all(_SELECT_PROMPTS_IN_USE, after=after, limit=limit)]


async def delete_prompts(tx: Transaction, hashes: list[str], looked_up_to: str) -> int:
    """Remove these, except for what runs after `looked_up_to` use."""
    if tx.store.shared:
        # A run that begins just now takes its prompt for granted if it is there. From here on it waits for us.
        await tx.all(_LOCK_PROMPTS)
    used = {row[0] for row in await tx.all(_SELECT_NEW_USES, after=looked_up_to)}
    return await tx.run(_DELETE_PROMPTS, hashes=[hash for hash in hashes if hash not in used])


async def delete_ended(tx: Transaction, millis: int, limit: int) -> int:
    """Sessions that ended, and invites that were used or ran out, before this moment."""
    at = tx.clock.at(millis)
    over = [row[0] for row in await tx.all(_SELECT_ENDED, millis=millis, at=at, limit=limit)]
    used = [row[0] for row in await tx.all(_SELECT_USED, millis=millis, at=at, limit=limit)]
    if over:
        await tx.run(_DELETE_ENDED, ids=over)
    if used:
        await tx.run(_DELETE_USED, ids=used)
    return len(over) + len(used)


# ── erasure: the mark that it has begun ─────────────────────────────────────────────────────────────────────────────

_BEGUN = "erasing."
_SELECT_BEGUN = Statement(
    select(meta.c.key, meta.c.value).where(meta.c.key > _BEGUN, meta.c.key < _BEGUN + "~").order_by(meta.c.key)
)
_INSERT_META = insert_or_ignore(meta)


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


# ── erasure: copies of what was said ────────────────────────────────────────────────────────────────────────────────


def _window(table: Table, key: str) -> Statement:
    """The last key of the next so many rows."""
    page = (select(table.c[key].label("key")).where(table.c[key] > bindparam("after")).order_by(table.c[key])).limit(
        bindparam("limit")
    )
    return Statement(select(func.max(page.subquery().c.key)))


def _inside(table: Table, key: str) -> Any:
    return and_(table.c[key] > bindparam("after"), table.c[key] <= bindparam("upto"))


def _copies(table: Table, *columns: str) -> Statement:
    found = [contains(table.c[column], name) for column in columns for name in ("one", "two")]
    rows = select(table.c.id, *(table.c[column] for column in columns)).where(_inside(table, "id"), or_(*found))
    return Statement(rows.with_for_update())


def _rewrite(table: Table, *columns: str) -> Statement:
    values: dict[str, Any] = {column: bindparam(f"{column}_") for column in columns}
    return Statement(update(table).where(table.c.id == bindparam("id_")).values(values))


_KEYS: Mapping[str, str] = {"reactions": "message_id", "pending_calls": "call_id"}
_WINDOWS = {
    table.name: _window(table, _KEYS.get(table.name, "id"))
    for table in (messages, inbox_items, runs, run_messages, events, reactions, pending_calls)
}
_DELETE_CALLS = Statement(
    delete(pending_calls).where(
        _inside(pending_calls, "call_id"),
        or_(pending_calls.c.agent_id == bindparam("id_"), pending_calls.c.space_id == bindparam("id_")),
    )
)
# What somebody answered is theirs; that the call was answered is not.
_EMPTY_ANSWERS = Statement(
    update(pending_calls)
    .where(_inside(pending_calls, "call_id"), pending_calls.c.answered_by == bindparam("id_"))
    .values(result="null")
)
# Where words are copied to, each with the columns that hold them.
COPIES: Mapping[str, Sequence[str]] = {
    "messages": ("metadata",),
    "inbox_items": ("payload",),
    "runs": ("payload", "summary"),
    "run_messages": ("content", "result"),
    "events": ("body",),
}
_TABLES = {table.name: table for table in (messages, inbox_items, runs, run_messages, events)}
_SELECT_COPIES = {name: _copies(_TABLES[name], *columns) for name, columns in COPIES.items()}
_REWRITE_COPY = {name: _rewrite(_TABLES[name], *columns) for name, columns in COPIES.items()}


async def select_window(tx: Transaction, table: str, after: Any, limit: int) -> Any:
    """Up to which key the next `limit` rows go. None: there are none left."""
    row = await tx.one(_WINDOWS[table], after=after, limit=limit)
    return None if row is None else row[0]


async def forget_calls(tx: Transaction, target: Target, after: str, upto: str) -> None:
    """Calls of an agent or in a space that is gone; of a person, what they answered."""
    statement = _EMPTY_ANSWERS if target.kind == "person" else _DELETE_CALLS
    await tx.run(statement, id_=target.id, after=after, upto=upto)


async def select_copies(tx: Transaction, table: str, target: Target, after: Any, upto: Any) -> Sequence[Row]:
    """Rows that may hold something of theirs: id, and the columns of COPIES."""
    one, two = target.needles
    return await tx.all(_SELECT_COPIES[table], after=after, upto=upto, one=one, two=two)


async def rewrite_copy(tx: Transaction, table: str, id: Any, values: Mapping[str, Any]) -> None:
    await tx.run(_REWRITE_COPY[table], id_=id, **{f"{column}_": value for column, value in values.items()})


# ── erasure: the index of words ─────────────────────────────────────────────────────────────────────────────────────

# SQLite's index notes that a word is gone and keeps it until it merges what it has; -1 makes everything mergeable.
_MERGE = Statement(text("INSERT INTO message_fts (message_fts, rank) VALUES ('merge', :pages)"))
_CHANGES = Statement(text("SELECT total_changes()"))


async def merge_words(tx: Transaction, pages: int) -> bool:
    """Rewrite some pages of the index; true if there may be more to do."""
    before = await tx.one(_CHANGES)
    await tx.run(_MERGE, pages=pages)
    after = await tx.one(_CHANGES)
    assert before is not None
    assert after is not None
    return bool(after[0] - before[0] >= 2)


# ── erasure: what somebody said and did ─────────────────────────────────────────────────────────────────────────────

_SELECT_SAID = Statement(
    select(messages.c.id).where(
        _inside(messages, "id"), messages.c.author_id == bindparam("author_id"), messages.c.deleted_at.is_(None)
    )
)
_FORGET_CLIENT_IDS = Statement(
    update(messages)
    .where(
        _inside(messages, "id"),
        messages.c.author_id == bindparam("author_id_"),
        messages.c.client_message_id.is_not(None),
    )
    .values(client_message_id=None)
)
_SELECT_REACTED = Statement(
    select(reactions.c.message_id, reactions.c.emoji).where(
        _inside(reactions, "message_id"), reactions.c.member_id == bindparam("member_id")
    )
)
_SELECT_CAUSED = Statement(
    select(runs.c.id).where(
        runs.c.finished_at.is_(None), runs.c.cause_kind == "person", runs.c.cause_id == bindparam("id")
    )
)
_SELECT_UNDER_WAY = Statement(select(runs.c.id).where(runs.c.finished_at.is_(None), runs.c.agent_id == bindparam("id")))
_DELETE_WAITING_OF = Statement(
    delete(inbox_items).where(
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.cause_kind == "person",
        inbox_items.c.cause_id == bindparam("id_"),
    )
)
_ERASE_PERSON = Statement(
    update(people)
    .where(people.c.id == bindparam("id_"))
    .values(
        name=NAMES["person"],
        role="member",
        login=None,
        password=None,
        disabled_at=bindparam("now"),
        erased_at=bindparam("now"),
    )
)
_REVOKE_TOKENS = Statement(
    update(tokens)
    .where(or_(tokens.c.person_id == bindparam("id_"), tokens.c.agent_id == bindparam("id_")))
    .values(name="", revoked_at=func.coalesce(tokens.c.revoked_at, bindparam("now", type_=tokens.c.revoked_at.type)))
    .returning(tokens.c.id)
)
_DELETE_SESSIONS = Statement(delete(sessions).where(sessions.c.person_id == bindparam("id_")))
_SELECT_DMS = Statement(
    select(spaces.c.id)
    .select_from(members.join(spaces, spaces.c.id == members.c.space_id))
    .where(members.c.member_id == bindparam("id"), spaces.c.kind == "dm")
)
_COUNT_PEOPLE = Statement(
    select(func.count()).select_from(members).where(members.c.space_id == bindparam("id"), members.c.kind == "person")
)


async def select_said(tx: Transaction, author_id: str, after: str, upto: str) -> list[str]:
    return [row[0] for row in await tx.all(_SELECT_SAID, author_id=author_id, after=after, upto=upto)]


async def forget_client_ids(tx: Transaction, author_id: str, after: str, upto: str) -> None:
    await tx.run(_FORGET_CLIENT_IDS, author_id_=author_id, after=after, upto=upto)


async def select_reacted(tx: Transaction, member_id: str, after: str, upto: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in await tx.all(_SELECT_REACTED, member_id=member_id, after=after, upto=upto)]


async def select_under_way(tx: Transaction, target: Target) -> list[str]:
    """What must stop before their words can be taken out: it would write them down again."""
    statement = {"person": _SELECT_CAUSED, "agent": _SELECT_UNDER_WAY, "space": _SELECT_UNDER_WAY_IN}[target.kind]
    return [row[0] for row in await tx.all(statement, id=target.id)]


async def erase_person(tx: Transaction, id: str) -> None:
    await tx.run(_ERASE_PERSON, id_=id, now=tx.clock.now())
    await tx.run(_DELETE_SESSIONS, id_=id)
    await tx.run(_DELETE_WAITING_OF, id_=id)


async def revoke_tokens(tx: Transaction, holder_id: str) -> list[tuple[str, str]]:
    """Theirs, and those that were made with them; of these, id and holder."""
    found = await tx.all(_REVOKE_TOKENS, id_=holder_id, now=tx.clock.now())
    return await access_rows.revoke_children(tx, [row[0] for row in found])


async def select_dms_with_agents(tx: Transaction, person_id: str) -> list[str]:
    dms = [row[0] for row in await tx.all(_SELECT_DMS, id=person_id)]
    return [id for id in dms if ((await tx.one(_COUNT_PEOPLE, id=id)) or [0])[0] < 2]


# ── erasure: an agent ───────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_AGENT = Statement(select(agents.c.name, agents.c.deleted_at).where(agents.c.id == bindparam("id")))
_ERASE_AGENT = Statement(
    update(agents)
    .where(agents.c.id == bindparam("id_"))
    .values(
        name=NAMES["agent"],
        definition='{"model":"script:echo","tools":[]}',
        deleted_at=func.coalesce(agents.c.deleted_at, bindparam("now", type_=agents.c.deleted_at.type)),
    )
)
_DELETE_BLOCKS = Statement(delete(blocks).where(blocks.c.agent_id == bindparam("agent_id")))
_DELETE_GROUP_BLOCKS = Statement(
    delete(group_blocks).where(
        or_(group_blocks.c.agent_id == bindparam("whose"), group_blocks.c.space_id == bindparam("whose"))
    )
)
_SELECT_PASSAGES = Statement(
    select(passages.c.id)
    .where(or_(passages.c.agent_id == bindparam("whose"), passages.c.space_id == bindparam("whose")))
    .limit(bindparam("limit"))
)
_DELETE_CHATS = Statement(delete(chats).where(chats.c.space_id == bindparam("space_id")))
_DELETE_PASSAGES = Statement(delete(passages).where(any_of(passages.c.id, "ids")))
_SELECT_RUNS_OF = Statement(
    select(runs.c.id, runs.c.prompt_hash)
    .where(runs.c.agent_id == bindparam("id"), runs.c.id > bindparam("after"))
    .order_by(runs.c.id)
    .limit(bindparam("limit"))
)
_SILENCE_RUNS = Statement(
    update(runs).where(any_of(runs.c.id, "ids")).values(summary=None, error=None, silence_reason=None)
)
# What an agent is made of, and what it did, as followers were told.
_DELETE_AGENT_EVENTS = Statement(
    delete(events).where(
        _inside(events, "id"),
        events.c.agent_id == bindparam("agent_id"),
        or_(any_of(events.c.type, "types"), events.c.type.like("tool.%")),
    )
)


async def select_agent(tx: Transaction, id: str) -> tuple[str, str | None] | None:
    """Name, deleted at: also of one that is deleted."""
    row = await tx.one(_SELECT_AGENT, id=id)
    return None if row is None else (row[0], row[1])


async def erase_agent(tx: Transaction, id: str) -> None:
    await tx.run(_ERASE_AGENT, id_=id, now=tx.clock.now())
    await tx.run(_DELETE_BLOCKS, agent_id=id)


async def delete_group_blocks(tx: Transaction, whose: str) -> None:
    """Of an agent, or of a group."""
    await tx.run(_DELETE_GROUP_BLOCKS, whose=whose)


async def forget_chat(tx: Transaction, space_id: str) -> None:
    """A bridge that sees it again tells of it again."""
    await tx.run(_DELETE_CHATS, space_id=space_id)


async def delete_passages(tx: Transaction, whose: str, limit: int) -> int:
    """Of an agent, or of a group."""
    found = [row[0] for row in await tx.all(_SELECT_PASSAGES, whose=whose, limit=limit)]
    if found:
        await tx.run(_DELETE_PASSAGES, ids=found)
    return len(found)


async def silence_runs_of(tx: Transaction, agent_id: str, after: str, limit: int) -> str | None:
    """Of its next runs, keep that they were, and nothing of what happened in them. None: there are no more."""
    found = await tx.all(_SELECT_RUNS_OF, id=agent_id, after=after, limit=limit)
    if not found:
        return None
    run_ids, hashes = [row[0] for row in found], sorted({row[1] for row in found if row[1] is not None})
    await empty_runs(tx, run_ids)
    await tx.run(_SILENCE_RUNS, ids=run_ids)
    if hashes:  # a prompt begins with the agent's own id, so nobody else was shown it
        await tx.run(_DELETE_PROMPTS, hashes=hashes)
    return str(run_ids[-1])


async def delete_agent_events(tx: Transaction, agent_id: str, after: int, upto: int) -> None:
    types = ["agent_created", "agent_updated"]
    await tx.run(_DELETE_AGENT_EVENTS, agent_id=agent_id, types=types, after=after, upto=upto)


# ── erasure: a space ────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_UNDER_WAY_IN = Statement(
    select(runs.c.id).where(
        runs.c.finished_at.is_(None),
        or_(
            runs.c.space_id == bindparam("id"),
            select(inbox_items.c.id)
            .where(inbox_items.c.claimed_by == runs.c.id, inbox_items.c.space_id == bindparam("id"))
            .exists(),
        ),
    )
)
_HIDE_SPACE = Statement(update(spaces).where(spaces.c.id == bindparam("id_")).values(private=1, name=NAMES["space"]))
_SELECT_MEMBERS = Statement(select(members.c.member_id).where(members.c.space_id == bindparam("id")))
_SELECT_THREADS = Statement(select(threads.c.id).where(threads.c.space_id == bindparam("id")).order_by(threads.c.id))
_LOCK_LEASE = Statement(select(leases.c.thread_id).where(leases.c.thread_id == bindparam("id")).with_for_update())
_SELECT_RUNS_OF_THREAD = Statement(
    select(runs.c.id).where(runs.c.thread_id == bindparam("id")).limit(bindparam("limit"))
)
_DELETE_RUNS = Statement(delete(runs).where(any_of(runs.c.id, "ids")))
_DELETE_ITEMS_OF_THREAD = Statement(delete(inbox_items).where(inbox_items.c.thread_id == bindparam("id_")))
_DELETE_LEASE = Statement(delete(leases).where(leases.c.thread_id == bindparam("id_")))
_DELETE_THREAD = Statement(delete(threads).where(threads.c.id == bindparam("id_")))
_LEAVE = Statement(update(threads).where(threads.c.active_space_id == bindparam("id_")).values(active_space_id=None))
_SELECT_ITEMS_FROM = Statement(
    select(inbox_items.c.id, inbox_items.c.claimed_by).where(
        _inside(inbox_items, "id"), inbox_items.c.space_id == bindparam("space_id")
    )
)
_DELETE_ITEMS = Statement(delete(inbox_items).where(any_of(inbox_items.c.id, "ids")))
_SELECT_MESSAGES_IN = Statement(
    select(messages.c.id, messages.c.chain_id)
    .where(messages.c.space_id == bindparam("space_id"))
    .order_by(messages.c.seq.desc())
    .limit(bindparam("limit"))
)
_DELETE_MESSAGES = Statement(delete(messages).where(any_of(messages.c.id, "ids")))
_DELETE_REACTIONS = Statement(delete(reactions).where(any_of(reactions.c.message_id, "ids")))
_DELETE_CHAIN_STOPS = Statement(delete(chain_stops).where(any_of(chain_stops.c.chain_id, "ids")))
# That somebody is out of it is how they learn that it is gone.
_DELETE_SPACE_EVENTS = Statement(
    delete(events).where(
        _inside(events, "id"), events.c.space_id == bindparam("space_id"), events.c.type != "member_left"
    )
)
_DELETE_SPACE = Statement(delete(spaces).where(spaces.c.id == bindparam("id_")))


async def hide_space(tx: Transaction, id: str) -> None:
    await tx.run(_HIDE_SPACE, id_=id)


async def select_members(tx: Transaction, space_id: str) -> list[str]:
    return [row[0] for row in await tx.all(_SELECT_MEMBERS, id=space_id)]


async def select_threads(tx: Transaction, space_id: str) -> list[str]:
    return [row[0] for row in await tx.all(_SELECT_THREADS, id=space_id)]


async def delete_thread(tx: Transaction, id: str, limit: int) -> int:
    """Some of its runs and their journals; with the last of them the thread itself. Whoever drives it is fenced off."""
    await tx.all(_LOCK_LEASE, id=id)
    found = [row[0] for row in await tx.all(_SELECT_RUNS_OF_THREAD, id=id, limit=limit)]
    if found:
        await empty_runs(tx, found)
        await tx.run(_DELETE_RUNS, ids=found)
    if len(found) < limit:
        await tx.run(_DELETE_ITEMS_OF_THREAD, id_=id)
        await tx.run(_DELETE_LEASE, id_=id)
        await budget_rows.drop_hold(tx, id)
        await tx.run(_DELETE_THREAD, id_=id)
        return 0
    return len(found)


async def forget_items_from(tx: Transaction, space_id: str, after: str, upto: str) -> None:
    """What minds that span spaces were told of this one, and the journals of what they made of it."""
    found = await tx.all(_SELECT_ITEMS_FROM, space_id=space_id, after=after, upto=upto)
    answering = sorted({row[1] for row in found if row[1] is not None})
    if answering:
        await empty_runs(tx, answering)
        await tx.run(_SILENCE_RUNS, ids=answering)
    if waiting := [row[0] for row in found if row[1] is None]:
        await tx.run(_DELETE_ITEMS, ids=waiting)


async def leave_space(tx: Transaction, space_id: str) -> None:
    await tx.run(_LEAVE, id_=space_id)


async def delete_messages_in(tx: Transaction, space_id: str, limit: int) -> int:
    """The newest of them; how many."""
    found = await tx.all(_SELECT_MESSAGES_IN, space_id=space_id, limit=limit)
    if found:
        message_ids = [row[0] for row in found]
        await tx.run(_DELETE_REACTIONS, ids=message_ids)
        await file_rows.forget_messages(tx, message_ids)
        await tx.run(_DELETE_CHAIN_STOPS, ids=sorted({row[1] for row in found if row[1] is not None}))
        await tx.run(_DELETE_MESSAGES, ids=message_ids)
    return len(found)


async def delete_space_events(tx: Transaction, space_id: str, after: int, upto: int) -> None:
    await tx.run(_DELETE_SPACE_EVENTS, space_id=space_id, after=after, upto=upto)


async def delete_space(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_SPACE, id_=id)


# ── export ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_WRITTEN = Statement(
    select(messages.c.id)
    .where(_inside(messages, "id"), messages.c.author_id == bindparam("author_id"))
    .order_by(messages.c.id)
)
_SELECT_SESSIONS = Statement(
    select(sessions.c.id, sessions.c.created_at, sessions.c.ended_at)
    .where(sessions.c.person_id == bindparam("person_id"))
    .order_by(sessions.c.id)
)
_SELECT_GROUP_BLOCKS = Statement(
    select(group_blocks)
    .where(or_(group_blocks.c.agent_id == bindparam("whose"), group_blocks.c.space_id == bindparam("whose")))
    .order_by(group_blocks.c.agent_id, group_blocks.c.space_id, group_blocks.c.label)
)
_SELECT_PASSAGE_PAGE = Statement(
    select(
        passages.c.id,
        passages.c.content,
        passages.c.tags,
        passages.c.metadata,
        passages.c.created_at,
        passages.c.agent_id,
        passages.c.space_id,
    )
    .where(
        or_(passages.c.agent_id == bindparam("whose"), passages.c.space_id == bindparam("whose")),
        passages.c.id > bindparam("after"),
    )
    .order_by(passages.c.id)
    .limit(bindparam("limit"))
)


async def select_written(tx: Transaction, author_id: str, after: str, upto: str) -> list[str]:
    """Ids of what somebody wrote, taken back or not."""
    return [row[0] for row in await tx.all(_SELECT_WRITTEN, author_id=author_id, after=after, upto=upto)]


async def select_sessions(tx: Transaction, person_id: str) -> list[dict[str, Any]]:
    found = await tx.all(_SELECT_SESSIONS, person_id=person_id)
    return [{"id": row[0], "createdAt": row[1], "endedAt": row[2]} for row in found]


async def select_group_blocks(tx: Transaction, whose: str) -> list[dict[str, Any]]:
    """Of an agent, or of a group."""
    found = await tx.all(_SELECT_GROUP_BLOCKS, whose=whose)
    return [
        {"agentId": agent_id, "spaceId": space_id, "label": label, "content": content, "updatedAt": at}
        for agent_id, space_id, label, content, at in found
    ]


async def select_passages(tx: Transaction, whose: str, after: str, limit: int) -> list[dict[str, Any]]:
    """Of an agent, or of a group."""
    found = await tx.all(_SELECT_PASSAGE_PAGE, whose=whose, after=after, limit=limit)
    return [
        {
            "id": id,
            "content": content,
            "tags": orjson.loads(tags),
            "metadata": orjson.loads(metadata),
            "createdAt": created_at,
            "agentId": agent_id,
            **({} if space_id is None else {"spaceId": space_id}),
        }
        for id, content, tags, metadata, created_at, agent_id, space_id in found
    ]
