"""Remember and look up, and tell of blocks that changed.

Exact duplicates are kept once; a query is keywords, and nothing in it is a wildcard.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from bullpen import ids
from bullpen.events.actions import record
from bullpen.memory import rows
from bullpen.memory.types import Block, Writer
from bullpen.storage import Transaction
from bullpen.wire.events import BlockUpdated, ChangedBlock
from bullpen.wire.nouns import Passage


def tell_change(tx: Transaction, block: Block, writer: Writer) -> None:
    """That a block is another now, without its words: followers who may see them ask for them."""
    changed = ChangedBlock(
        label=block.label,
        version=block.version,
        by=writer.id,
        deleted=block.deleted or None,
        characters=len(block.content),
        limit=block.size_limit,
    )
    place = block.space_id or None
    event = BlockUpdated(space_id=place, agent_id=block.agent_id, run_id=writer.run_id, block=changed)
    record(tx, event, audience="owners")


async def store(
    tx: Transaction,
    agent_id: str,
    content: str,
    tags: list[str],
    metadata: dict[str, Any] | None = None,
    *,
    group_id: str | None = None,
    outside: Sequence[str] = (),
) -> tuple[Passage, bool]:
    """The passage, and whether it is new. `outside`: what its writer had read from outside the office."""
    # What two groups were told in the same words is known to both, and each has its own.
    hash = sha256((content if group_id is None else f"{group_id}\n{content}").encode()).hexdigest()
    passage = Passage(
        id=ids.passage(),
        content=content,
        tags=tags,
        metadata=metadata or {},
        created_at=tx.clock.now(),
        outside=list(outside),
    )
    folded = "\n".join([content, *tags]).casefold().replace("\x00", "")
    if await rows.insert_passage(tx, agent_id, passage, folded=folded, hash=hash, group_id=group_id):
        return passage, True
    first = await rows.select_by_hash(tx, agent_id, hash)
    assert first is not None
    if first.outside and not outside:
        await rows.clear_sources(tx, first.id, tags, folded)
        first = first.model_copy(update={"outside": [], "tags": tags})
    return first, False


async def search(
    tx: Transaction, agent_id: str, query: str, limit: int = 20, *, group_id: str | None = None
) -> list[Passage]:
    """The newest passages in which every word of the query occurs, in any case: of a group, or of no group."""
    return await rows.search_passages(tx, agent_id, query.casefold().split(), limit, group_id=group_id)
