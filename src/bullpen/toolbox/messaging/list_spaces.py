"""list_spaces: where you can speak, and with whom."""

from __future__ import annotations

from typing import Any

from bullpen.spaces.places import Asking, Place, select_places
from bullpen.toolbox.messaging.spaces import manages_groups
from bullpen.tools import ToolContext, tool

MOST = 100


@tool(effect="tx", act=None, grant="read_space")
async def list_spaces(context: ToolContext) -> dict[str, Any]:
    """List the spaces you are a member of: who is in each, and what wakes you there. `active` is the one you are in."""
    run = context.run
    asking = Asking(
        agent_id=context.agent.id,
        home=None if run.home is None else run.home.id,
        stays_in=run.stays_in,
        manages=manages_groups(context),
        run_id=run.id,
        cause_id=run.cause.id,
    )
    found, more = await select_places(context.tx, asking, MOST)
    return {"spaces": [_shown(place, context.space_id) for place in found], **({"more": True} if more else {})}


def _shown(place: Place, active: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "spaceId": place.id,
        "kind": place.kind,
        "name": place.name,
        "members": [{"id": each.id, "name": each.name, "kind": each.kind} for each in place.members],
        "wakes": place.wakes,
    }
    if place.more:
        shown["moreMembers"] = True
    if place.timezone:
        shown["timezone"] = place.timezone
    if place.id == active:
        shown["active"] = True
    return shown
