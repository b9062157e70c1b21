"""SQL for blocks and passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from bullpen.ids import Whose
from bullpen.memory.types import Block
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import JSON, TUPLE_OR_NULL, Codec, Mapped
from bullpen.storage.statements import contains, insert_or_ignore, upsert
from bullpen.storage.tables import blocks, group_blocks, passages
from bullpen.wire.nouns import Passage

# Where its writer had read text from, if from outside the office.
_SOURCES = Codec(orjson.loads, lambda sources: orjson.dumps(sources).decode() if sources else None, empty=[])
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
_INSERT_PASSAGE = insert_or_ignore(passages)
_PASSAGES = Mapped(Passage, passages, given=("score",), tags=JSON, metadata=JSON, outside=_SOURCES)
_SELECT_BY_HASH = Statement(
    select(*_PASSAGES.columns).where(passages.c.agent_id == bindparam("agent_id"), passages.c.hash == bindparam("hash"))
)
_CLEAR_SOURCES = Statement(
    update(passages)
    .where(passages.c.id == bindparam("id_"))
    .values(outside=None, tags=bindparam("tags_"), folded=bindparam("folded_"))
)
# More keywords than this in a query are dropped: each is one more scan of the agent's passages.
KEYWORDS = 8


# '' is no group: what a group was told is found in that group alone.
_WHERE_LEARNED = func.coalesce(passages.c.space_id, "") == bindparam("space_id")


def _search(keywords: int) -> Statement:
    found = [contains(passages.c.folded, f"word{n}") for n in range(keywords)]
    return Statement(
        select(*_PASSAGES.columns)
        .where(and_(passages.c.agent_id == bindparam("agent_id"), _WHERE_LEARNED, *found))
        .order_by(passages.c.id.desc())
        .limit(bindparam("limit"))
    )


_SEARCHES = [_search(n) for n in range(KEYWORDS + 1)]


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


async def insert_passage(
    tx: Transaction, agent_id: str, passage: Passage, *, folded: str, hash: str, group_id: str | None
) -> bool:
    kept = _PASSAGES.write(passage)
    return await tx.run(_INSERT_PASSAGE, **kept, agent_id=agent_id, folded=folded, hash=hash, space_id=group_id) > 0


async def select_by_hash(tx: Transaction, agent_id: str, hash: str) -> Passage | None:
    return _PASSAGES.read_one(await tx.one(_SELECT_BY_HASH, agent_id=agent_id, hash=hash))


async def clear_sources(tx: Transaction, id: str, tags: list[str], folded: str) -> None:
    """Somebody who had read nothing outside has stored the same words: they are not those of a page. Its tags were."""
    await tx.run(_CLEAR_SOURCES, id_=id, tags_=orjson.dumps(tags).decode(), folded_=folded)


async def search_passages(
    tx: Transaction, agent_id: str, words: list[str], limit: int, *, group_id: str | None
) -> list[Passage]:
    """Those that contain every word, newest first; with no words, the newest."""
    words = words[:KEYWORDS]
    named = {f"word{n}": word for n, word in enumerate(words)}
    found = await tx.all(_SEARCHES[len(words)], agent_id=agent_id, space_id=group_id or "", limit=limit, **named)
    return _PASSAGES.read_all(found)


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_IN_GROUP_BLOCKS = or_(
    group_blocks.c.agent_id == bindparam("member_id"), group_blocks.c.space_id == bindparam("space_id")
)
_IN_PASSAGES = or_(passages.c.agent_id == bindparam("member_id"), passages.c.space_id == bindparam("space_id"))
_DELETE_BLOCKS = Statement(delete(blocks).where(blocks.c.agent_id == bindparam("agent_id")))
_DELETE_GROUP_BLOCKS = Statement(delete(group_blocks).where(_IN_GROUP_BLOCKS))
_SELECT_SOME_PASSAGES = Statement(select(passages.c.id).where(_IN_PASSAGES).limit(bindparam("limit")))
_DELETE_PASSAGES = Statement(delete(passages).where(any_of(passages.c.id, "ids")))
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
    select(
        passages.c.id,
        passages.c.content,
        passages.c.tags,
        passages.c.metadata,
        passages.c.created_at,
        passages.c.agent_id,
        passages.c.space_id,
        passages.c.outside,
    )
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
    """Some of an agent's or of a group's; how many."""
    found = await tx.values(_SELECT_SOME_PASSAGES, member_id=whose.member, space_id=whose.space, limit=limit)
    if found:
        await tx.run(_DELETE_PASSAGES, ids=found)
    return len(found)


async def export_group_blocks(tx: Transaction, whose: Whose) -> list[dict[str, Any]]:
    """Of an agent, or of a group."""
    found = await tx.all(_EXPORT_GROUP_BLOCKS, member_id=whose.member, space_id=whose.space)
    return [
        {"agentId": agent_id, "spaceId": space_id, "label": label, "content": content, "updatedAt": at}
        | ({"outside": orjson.loads(outside)} if outside else {})
        for agent_id, space_id, label, content, at, outside in found
    ]


async def export_passages(tx: Transaction, whose: Whose, after: str, limit: int) -> list[dict[str, Any]]:
    """Of an agent, or of a group."""
    return [
        {
            "id": id,
            "content": content,
            "tags": orjson.loads(tags),
            "metadata": orjson.loads(metadata),
            "createdAt": created_at,
            "agentId": agent_id,
            **({} if space_id is None else {"spaceId": space_id}),
            **({"outside": orjson.loads(outside)} if outside else {}),
        }
        for id, content, tags, metadata, created_at, agent_id, space_id, outside in await tx.all(
            _EXPORT_PASSAGES, member_id=whose.member, space_id=whose.space, after=after, limit=limit
        )
    ]
