"""What the tools for goals, memories and plans share: whose they are, and in which place they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bullpen.errors import ToolFailed
from bullpen.mind import rows, rules
from bullpen.mind.actions import Mind
from bullpen.mind.types import Plan
from bullpen.tasks import times
from bullpen.tools import ToolContext
from bullpen.tools.remembering import situate_call


async def find_mind(context: ToolContext) -> Mind:
    """Whose goals, memories and plans a call means, and where what it says is kept."""
    situation = await situate_call(context)
    place = rules.place_of(context.agent, situation)
    if place is None:
        raise ToolFailed(
            "You have read several private spaces, and what you learned there stays there. Enter the one that this "
            "belongs to with enter_space, and call this then."
        )
    shown = await rows.select_places(context.tx, context.agent, situation)
    return Mind(context.agent.id, place, context.sources_of, tuple(shown))


def told_of(deleted: Sequence[str], unknown: Sequence[str]) -> dict[str, Any]:
    """What came of a deletion. What is not there is no failure: it is gone, as was wanted."""
    return {"deleted": list(deleted), **({"notFound": list(unknown)} if unknown else {})}


def shown(plan: Plan) -> dict[str, Any]:
    """What an agent is told of a plan."""
    zone = plan.shown_zone
    told: dict[str, Any] = {
        "id": plan.ref,
        "name": plan.name,
        "instruction": plan.instruction,
        "status": plan.status,
        "timezone": zone,
    }
    if plan.schedule.type == "cron":
        told["cron"] = plan.schedule.value
    if plan.next_at is not None:
        told["nextRun"] = times.local(plan.next_at, zone)
    if plan.space_id is not None:
        told["spaceId"] = plan.space_id
    if plan.reason is not None:
        told["reason"] = plan.reason
    if plan.last_run is not None:
        told["lastRun"] = plan.last_run
    return told
