"""do_nothing: silence, chosen."""

from __future__ import annotations

from typing import Any

from bullpen.tools import ToolContext, tool


@tool(effect="tx", act="silence")
async def do_nothing(context: ToolContext) -> dict[str, Any]:
    """Choose not to respond. Nothing happens and nobody is told. Use it when a message does not concern you."""
    return {"action": "none"}
