"""SQL for what runs have used. Adds up the runs themselves, so that it is right whatever became of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, case, func, select

from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import runs

_SUMS = (
    func.count(),
    func.sum(runs.c.input_tokens),
    func.sum(runs.c.output_tokens),
    func.sum(runs.c.cached_tokens),
    func.sum(runs.c.cost),
)
# Runs that no space or no person caused still cost something: they stand under ''.
_KEYS: Mapping[str, Any] = {
    "agent": runs.c.agent_id,
    "space": func.coalesce(runs.c.space_id, ""),
    "person": case((runs.c.cause_kind == "person", runs.c.cause_id), else_=""),
    "day": func.substr(runs.c.started_at, 1, 10),
}
# Runs are found by when they were made through their ids, so that old ones cost nothing.
_SELECT = {
    by: Statement(
        select(key.label("key"), *_SUMS)
        .where(runs.c.id >= bindparam("since"))
        .group_by(key)
        .order_by(key if by == "day" else func.sum(runs.c.cost).desc(), key)
    )
    for by, key in _KEYS.items()
}


async def select_usage(tx: Transaction, by: str, since: str) -> list[dict[str, Any]]:
    return [
        {
            "id": key,
            "runs": count,
            "inputTokens": int(input_tokens),
            "outputTokens": int(output_tokens),
            "cachedTokens": int(cached_tokens),
            "cost": cost,
        }
        for key, count, input_tokens, output_tokens, cached_tokens, cost in await tx.all(_SELECT[by], since=since)
    ]
