"""What runs have used: tokens and money, by agent, space, person or day."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from bullpen import ids
from bullpen.access import rules as access
from bullpen.agents import rows as agent_rows
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office
from bullpen.api.pages import Page, answer
from bullpen.runs import usage
from bullpen.storage import Transaction
from bullpen.wire.nouns import UsageRow

router = APIRouter(route_class=CappedRoute, tags=["usage"])

DAY = 86_400_000


@router.get("/usage", response_model=Page[UsageRow])
async def get_usage(
    caller: Caller,
    office: Office,
    by: Literal["agent", "space", "person", "day"] = "agent",
    days: Annotated[int, Query(ge=1, le=366, description="How far back, today included.")] = 30,
) -> Response:
    """The dearest first; days in order. An agent's row carries what it may spend a day, and what it spent today."""
    access.authorize(caller, "see_usage")

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        found = await usage.select_usage(tx, by, ids.runs_since(tx.clock.midnight() - (days - 1) * DAY))
        names = await agent_rows.select_names(tx, [row["id"] for row in found]) if by in ("agent", "person") else {}
        for row in found:
            if row["id"] in names:
                row["name"] = names[row["id"]]
            if by == "agent" and (agent := await agent_rows.select_agent(tx, row["id"])) is not None:
                row["costToday"] = agent.cost_today
                row["budget"] = agent.limits.max_cost_per_day
        return found

    return answer({"items": await office.store.read(body)})
