"""SQL for passages. That of blocks stands in block_rows.py."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import and_, bindparam, delete, func, or_, select, update

from bullpen.ids import Whose
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import JSON, Codec, Mapped
from bullpen.storage.statements import contains, insert_or_ignore
from bullpen.storage.tables import passages
from bullpen.wire.nouns import Passage

# Where its writer had read text from, if from outside the office.
_SOURCES = Codec(orjson.loads, lambda sources: orjson.dumps(sources).decode() if sources else None, empty=[])
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

_IN_PASSAGES = or_(passages.c.agent_id == bindparam("member_id"), passages.c.space_id == bindparam("space_id"))
_SELECT_SOME_PASSAGES = Statement(select(passages.c.id).where(_IN_PASSAGES).limit(bindparam("limit")))
_DELETE_PASSAGES = Statement(delete(passages).where(any_of(passages.c.id, "ids")))
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


async def delete_passages(tx: Transaction, whose: Whose, limit: int) -> int:
    """Some of an agent's or of a group's; how many."""
    found = await tx.values(_SELECT_SOME_PASSAGES, member_id=whose.member, space_id=whose.space, limit=limit)
    if found:
        await tx.run(_DELETE_PASSAGES, ids=found)
    return len(found)


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
