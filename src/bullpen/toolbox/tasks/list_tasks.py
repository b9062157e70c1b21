"""list_tasks: what is scheduled here."""

from __future__ import annotations

from typing import Any

from bullpen.tasks import rows
from bullpen.toolbox.tasks import own
from bullpen.tools import ToolContext, tool

MOST = 200


@tool(effect="tx", act=None, touches=own.listed_spaces, grant="read_space")
async def list_tasks(context: ToolContext) -> dict[str, Any]:
    """List the tasks of this space, newest first; in the main group, those of all groups. At most 200, and if there
    are more the result says so."""
    spaces = await own.own_spaces(context)
    found = await rows.select_tasks(context.tx, space_ids=spaces, statuses=("active", "paused"), limit=MOST + 1)
    found, more = found[:MOST], len(found) > MOST
    context.effects.outside = tuple(sorted({source for task in found for source in task.outside}))
    return {"tasks": [own.shown(task) for task in found], **({"more": True} if more else {})}
