"""Remember and look up. Exact duplicates are kept once; a query is keywords, and nothing in it is a wildcard."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from bullpen import ids
from bullpen.memory import rows
from bullpen.storage import Transaction


async def store(
    tx: Transaction, agent_id: str, content: str, tags: list[str], metadata: dict[str, Any] | None = None
) -> tuple[dict[str, Any], bool]:
    """The passage, and whether it is new."""
    hash = sha256(content.encode()).hexdigest()
    passage = {
        "id": ids.passage(),
        "content": content,
        "tags": tags,
        "metadata": metadata or {},
        "createdAt": tx.clock.now(),
    }
    folded = "\n".join([content, *tags]).casefold().replace("\x00", "")
    if await rows.insert_passage(tx, agent_id, passage, folded=folded, hash=hash):
        return passage, True
    first = await rows.select_by_hash(tx, agent_id, hash)
    assert first is not None
    return first, False


async def search(tx: Transaction, agent_id: str, query: str, limit: int = 20) -> list[dict[str, Any]]:
    """The newest passages in which every word of the query occurs, in any case."""
    return await rows.search_passages(tx, agent_id, query.casefold().split(), limit)
