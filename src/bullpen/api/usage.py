"""What was used: tokens and money, by agent, space, person, day or model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Store
from bullpen.api.pages import Page, answer
from bullpen.budgets import rows, rules
from bullpen.budgets.types import DOLLAR
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.wire.nouns import UsageRow

router = APIRouter(route_class=CappedRoute, tags=["usage"])

# What the budget of a row is a budget of.
_KINDS = {"agent": "agent", "space": "space", "person": "person", "day": "office"}


@router.get("/usage", response_model=Page[UsageRow])
async def get_usage(
    caller: Caller,
    store: Store,
    by: Literal["agent", "space", "person", "day", "model"] = "agent",
    days: Annotated[int, Query(ge=1, le=366, description="How far back, today included.")] = 30,
) -> Response:
    """The dearest first; days in order. A row carries what may be spent a day, and what was spent today."""
    access.authorize(caller, "see_usage")

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        today = rows.today(tx)
        since = tx.clock.at(tx.clock.midnight() - (days - 1) * rules.DAY)[:10]
        found = await rows.select_usage(tx, by, since)
        spent_today = {row["id"]: row["nanodollars"] for row in await rows.select_usage(tx, by, today)}
        budgets = await _budgets(tx, by)
        names = await _names(tx, caller, by, [row["id"] for row in found])
        return [_row(row, names, spent_today, budgets, by) for row in found]

    return answer({"items": await store.read(body)})


async def _names(tx: Transaction, caller: Principal, by: str, ids: list[str]) -> dict[str, str]:
    """Of rooms only those that the caller may look into."""
    if by in ("agent", "person"):
        return await agent_rows.select_names(tx, ids)
    if by != "space":
        return {}
    return await space_rows.select_names(tx, sorted(await spaces.readable(tx, caller, ids)))


async def _budgets(tx: Transaction, by: str) -> dict[str, float]:
    """The smallest for a day, in dollars, of each."""
    found: dict[str, float] = {}
    for each in await rows.select_standings(tx):
        if each.kind == _KINDS.get(by) and each.period == "day" and each.unit == "USD":
            amount = rules.shown(each.ceiling, "USD")
            found[each.subject_id] = min(amount, found.get(each.subject_id, amount))
    return found


def _row(
    row: dict[str, Any], names: dict[str, str], spent_today: dict[str, int], budgets: dict[str, float], by: str
) -> dict[str, Any]:
    id = row["id"]
    made: dict[str, Any] = {
        "id": id,
        "runs": row["runs"],
        "steps": row["steps"],
        "inputTokens": row["input_tokens"],
        "outputTokens": row["output_tokens"],
        "cachedTokens": row["cached_tokens"],
        "writtenTokens": row["written_tokens"],
        "unpriced": row["unpriced"],
        "cost": row["nanodollars"] / DOLLAR,
        "costToday": spent_today.get(id, 0) / DOLLAR,
    }
    if id in names:
        made["name"] = names[id]
    budget = budgets.get("" if by == "day" else id)
    if budget is not None:
        made["budget"] = budget
    return made
