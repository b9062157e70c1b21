"""leave_space: be nowhere, until you enter a space or are woken again."""

from __future__ import annotations

from typing import Any

from bullpen.threads import actions as threads
from bullpen.tools import ToolContext, tool


@tool(effect="tx", act=None)
async def leave_space(context: ToolContext) -> dict[str, Any]:
    """Leave the space you are in. You stay a member; you are only not in it any more."""
    threads.enter(context.tx, context.run.thread_id, None)
    context.effects.moved = True
    return {"success": True, "left": context.space_id}
