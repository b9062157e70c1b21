"""SQL for blocks and passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import and_, bindparam, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from bullpen.ids import Whose
from bullpen.memory import rules
from bullpen.memory.types import Block, Stored
from bullpen.storage import Statement, Transaction, any_of, fragments
from bullpen.storage.mapped import JSON, TUPLE, TUPLE_OR_NULL, Mapped
from bullpen.storage.statements import insert_or_ignore, upsert
from bullpen.storage.tables import blocks, group_blocks, passage_scopes, passage_words, passages

_UPSERT_BLOCK = upsert(blocks, ["agent_id", "label"], ["content", "updated_at", "outside"])
_BLOCKS = Mapped(Block, blocks, outside=TUPLE_OR_NULL)
_SELECT_BLOCKS = Statement(
    select(*_BLOCKS.columns).where(blocks.c.agent_id == bindparam("agent_id")).order_by(blocks.c.label)
)
_UPSERT_GROUP_BLOCK = upsert(group_blocks, ["agent_id", "space_id", "label"], ["content", "updated_at", "outside"])
_GROUP_BLOCKS = Mapped(Block, group_blocks, outside=TUPLE_OR_NULL)
_SELECT_GROUP_BLOCKS = Statement(
    select(*_GROUP_BLOCKS.columns)
    .where(group_blocks.c.agent_id == bindparam("agent_id"), group_blocks.c.space_id == bindparam("space_id"))
    .order_by(group_blocks.c.label)
)
_DELETE_BLOCK = Statement(
    delete(blocks).where(blocks.c.agent_id == bindparam("agent_id"), blocks.c.label == bindparam("label"))
)


async def upsert_block(tx: Transaction, agent_id: str, label: str, content: str, outside: Sequence[str] = ()) -> None:
    kept = _BLOCKS.write(Block(label, content, tx.clock.now(), tuple(outside)))
    await tx.run(_UPSERT_BLOCK, agent_id=agent_id, version=1, **kept)


async def select_blocks(tx: Transaction, agent_id: str) -> list[Block]:
    return _BLOCKS.read_all(await tx.all(_SELECT_BLOCKS, agent_id=agent_id))


async def upsert_group_block(
    tx: Transaction, agent_id: str, space_id: str, label: str, content: str, outside: Sequence[str] = ()
) -> None:
    kept = _GROUP_BLOCKS.write(Block(label, content, tx.clock.now(), tuple(outside)))
    await tx.run(_UPSERT_GROUP_BLOCK, agent_id=agent_id, space_id=space_id, **kept)


async def select_shown(tx: Transaction, agent_id: str, group_id: str | None) -> list[Block]:
    """The blocks that a prompt shows: a group's own stand in place of others of the same label."""
    shown = {block.label: block for block in await select_blocks(tx, agent_id)}
    if group_id is not None:
        own = _GROUP_BLOCKS.read_all(await tx.all(_SELECT_GROUP_BLOCKS, agent_id=agent_id, space_id=group_id))
        shown |= {block.label: block for block in own}
    return [shown[label] for label in sorted(shown)]


async def delete_block(tx: Transaction, agent_id: str, label: str) -> bool:
    return await tx.run(_DELETE_BLOCK, agent_id=agent_id, label=label) > 0


# ── passages ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_PASSAGE = insert_or_ignore(passages)
_STORED = Mapped(Stored, passages, tags=TUPLE, metadata=JSON, outside=TUPLE_OR_NULL)
_SELECT = Statement(select(*_STORED.columns).where(passages.c.id == bindparam("id")))
_SELECT_THESE = Statement(select(*_STORED.columns).where(any_of(passages.c.id, "ids")))
_SELECT_BY_HASH = Statement(
    select(*_STORED.columns).where(passages.c.scope == bindparam("scope"), passages.c.hash == bindparam("hash"))
)
_CLEAR_SOURCES = Statement(
    update(passages)
    .where(passages.c.id == bindparam("id_"))
    .values(outside=None, tags=bindparam("tags_"), folded=bindparam("folded_"))
)
_CORRECTED = ("content", "tags", "metadata", "outside", "expires_at", "updated_at", "updated_by")
_CORRECT = Statement(
    update(passages)
    .where(passages.c.id == bindparam("id_"))
    .values({name: bindparam(name) for name in (*_CORRECTED, "folded", "hash")})
)
_SUPERSEDE = Statement(
    update(passages).where(passages.c.id == bindparam("id_")).values(superseded_by=bindparam("superseded_by_"))
)
_REVIVE = Statement(
    update(passages)
    .where(passages.c.id == bindparam("id_"))
    .values(superseded_by=None, expires_at=bindparam("expires_at_"))
)
_SET_SUPERSEDES = Statement(
    update(passages).where(passages.c.id == bindparam("id_")).values(supersedes=bindparam("supersedes_"))
)
_DELETE = Statement(delete(passages).where(any_of(passages.c.id, "ids")))
_INSERT_WORDS = Statement(insert(passage_words).values(passage_id=bindparam("passage_id"), words=bindparam("words")))
_DELETE_WORDS = Statement(delete(passage_words).where(passage_words.c.passage_id == bindparam("passage_id_")))
_SELECT_COUNT = Statement(select(passage_scopes.c.count).where(passage_scopes.c.scope == bindparam("scope")))
_ADD_TO_COUNT = Statement(
    update(passage_scopes)
    .where(passage_scopes.c.scope == bindparam("scope_"))
    .values(count=passage_scopes.c.count + bindparam("more"))
)
_MORE = {"count": passage_scopes.c.count + 1}
_ONE_MORE = Statement(
    sqlite.insert(passage_scopes).on_conflict_do_update(index_elements=["scope"], set_=_MORE),
    postgresql=postgresql.insert(passage_scopes).on_conflict_do_update(index_elements=["scope"], set_=_MORE),
)
_FORGET_EMPTY = Statement(
    delete(passage_scopes).where(passage_scopes.c.scope == bindparam("scope_"), passage_scopes.c.count <= 0)
)
_SELECT_SCOPES = Statement(
    select(passage_scopes.c.scope)
    .where(passage_scopes.c.scope >= bindparam("first"), passage_scopes.c.scope < bindparam("last"))
    .order_by(passage_scopes.c.scope)
    .limit(bindparam("limit"))
)
_SELECT_EXPIRED = Statement(
    select(passages.c.id, passages.c.scope)
    .where(passages.c.expires_at <= bindparam("now"))
    .order_by(passages.c.expires_at)
    .limit(bindparam("limit"))
)


async def insert_passage(tx: Transaction, stored: Stored, *, folded: str, hash: str) -> bool:
    """False: its scope has the same words already."""
    if not await tx.run(_INSERT_PASSAGE, **_STORED.write(stored), folded=folded, hash=hash):
        return False
    await add_words(tx, stored, folded)
    await tx.run(_ONE_MORE, scope=stored.scope, count=1)
    return True


async def add_words(tx: Transaction, stored: Stored, folded: str) -> None:
    """Let searches find it."""
    if kept := fragments.indexed(stored.scope, folded):
        await tx.run(_INSERT_WORDS, passage_id=stored.id, words=kept)


async def delete_words(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_WORDS, passage_id_=id)


async def select_passage(tx: Transaction, id: str) -> Stored | None:
    return _STORED.read_one(await tx.one(_SELECT, id=id))


async def select_passages(tx: Transaction, ids: Sequence[str]) -> list[Stored]:
    """In the order of the ids, as far as they are there."""
    found = {stored.id: stored for stored in _STORED.read_all(await tx.all(_SELECT_THESE, ids=list(ids)))}
    return [found[id] for id in ids if id in found]


async def select_by_hash(tx: Transaction, scope: str, hash: str) -> Stored | None:
    return _STORED.read_one(await tx.one(_SELECT_BY_HASH, scope=scope, hash=hash))


async def clear_sources(tx: Transaction, stored: Stored, tags: Sequence[str], folded: str) -> None:
    """Somebody who had read nothing outside has stored the same words: they are not those of a page. Its tags were."""
    await tx.run(_CLEAR_SOURCES, id_=stored.id, tags_=TUPLE.encode(tuple(tags)), folded_=folded)
    await delete_words(tx, stored.id)
    await add_words(tx, stored, folded)


async def correct_passage(tx: Transaction, stored: Stored, *, folded: str, hash: str) -> None:
    await tx.run(_CORRECT, id_=stored.id, folded=folded, hash=hash, **_write_correction(stored))
    await delete_words(tx, stored.id)
    if stored.superseded_by is None:
        await add_words(tx, stored, folded)


_write_correction = _STORED.writer(_CORRECTED)


async def supersede(tx: Transaction, id: str, by: str | None) -> None:
    """`by` stands in its place from now on. None: it is found again, once its words are added."""
    await tx.run(_SUPERSEDE, id_=id, superseded_by_=by)
    await delete_words(tx, id)


async def revive(tx: Transaction, stored: Stored, folded: str) -> None:
    """Nothing stands in its place any more."""
    await tx.run(_REVIVE, id_=stored.id, expires_at_=stored.expires_at)
    await delete_words(tx, stored.id)
    await add_words(tx, stored, folded)


async def set_supersedes(tx: Transaction, id: str, earlier: str) -> None:
    await tx.run(_SET_SUPERSEDES, id_=id, supersedes_=earlier)


async def delete_these(tx: Transaction, found: Sequence[tuple[str, str]]) -> None:
    """Passages, each with its scope. A trigger takes their words out of the index."""
    await tx.run(_DELETE, ids=[id for id, _ in found])
    gone = Counter(scope for _, scope in found)
    for scope in sorted(gone):  # in one order, so that two who delete do not wait for each other
        await tx.run(_ADD_TO_COUNT, scope_=scope, more=-gone[scope])
        await tx.run(_FORGET_EMPTY, scope_=scope)


async def count_passages(tx: Transaction, scope: str) -> int:
    return int(await tx.value(_SELECT_COUNT, scope=scope) or 0)


async def select_scopes(tx: Transaction, prefix: str, limit: int) -> list[str]:
    """The scopes that begin so and hold something."""
    first, last = rules.scopes_below(prefix)
    return await tx.values(_SELECT_SCOPES, first=first, last=last, limit=limit)


async def delete_expired(tx: Transaction, limit: int) -> int:
    found = [(id, scope) for id, scope in await tx.all(_SELECT_EXPIRED, now=tx.clock.millis(), limit=limit)]
    if found:
        await delete_these(tx, found)
    return len(found)


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_IN_GROUP_BLOCKS = or_(
    group_blocks.c.agent_id == bindparam("member_id"), group_blocks.c.space_id == bindparam("space_id")
)
# Of an agent; for a space, or learned there; and what a person wrote. What an agent learned in a run that worked for
# somebody is its own.
_IN_PASSAGES = or_(
    passages.c.agent_id == bindparam("member_id"),
    and_(passages.c.person_id == bindparam("member_id"), passages.c.run_id.is_(None)),
    passages.c.space_id == bindparam("space_id"),
    passages.c.learned_in == bindparam("space_id"),
)
_DELETE_BLOCKS = Statement(delete(blocks).where(blocks.c.agent_id == bindparam("agent_id")))
_DELETE_GROUP_BLOCKS = Statement(delete(group_blocks).where(_IN_GROUP_BLOCKS))
_SELECT_SOME_PASSAGES = Statement(
    select(passages.c.id, passages.c.scope).where(_IN_PASSAGES).order_by(passages.c.id).limit(bindparam("limit"))
)
_EXPORT_GROUP_BLOCKS = Statement(
    select(
        group_blocks.c.agent_id,
        group_blocks.c.space_id,
        group_blocks.c.label,
        group_blocks.c.content,
        group_blocks.c.updated_at,
        group_blocks.c.outside,
    )
    .where(_IN_GROUP_BLOCKS)
    .order_by(group_blocks.c.agent_id, group_blocks.c.space_id, group_blocks.c.label)
)
_EXPORT_PASSAGES = Statement(
    select(*_STORED.columns)
    .where(_IN_PASSAGES, passages.c.id > bindparam("after"))
    .order_by(passages.c.id)
    .limit(bindparam("limit"))
)


async def delete_blocks(tx: Transaction, agent_id: str) -> None:
    await tx.run(_DELETE_BLOCKS, agent_id=agent_id)


async def delete_group_blocks(tx: Transaction, whose: Whose) -> None:
    """Of an agent, or of a group."""
    await tx.run(_DELETE_GROUP_BLOCKS, member_id=whose.member, space_id=whose.space)


async def delete_passages(tx: Transaction, whose: Whose, limit: int) -> int:
    """Some of those of an agent, of a space or written by somebody; how many."""
    some = await tx.all(_SELECT_SOME_PASSAGES, member_id=whose.member, space_id=whose.space, limit=limit)
    if some:
        await delete_these(tx, [(id, scope) for id, scope in some])
    return len(some)


async def export_group_blocks(tx: Transaction, whose: Whose) -> list[dict[str, Any]]:
    """Of an agent, or of a group."""
    found = await tx.all(_EXPORT_GROUP_BLOCKS, member_id=whose.member, space_id=whose.space)
    return [
        {"agentId": agent_id, "spaceId": space_id, "label": label, "content": content, "updatedAt": at}
        | ({"outside": orjson.loads(outside)} if outside else {})
        for agent_id, space_id, label, content, at, outside in found
    ]


async def export_passages(tx: Transaction, whose: Whose, after: str, limit: int) -> list[Stored]:
    """Of an agent, of a space, or written by somebody."""
    named = {"member_id": whose.member, "space_id": whose.space}
    return _STORED.read_all(await tx.all(_EXPORT_PASSAGES, **named, after=after, limit=limit))
