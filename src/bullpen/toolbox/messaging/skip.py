"""skip: silence with a reason, and the end of the run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.tools import ToolContext, tool


@tool(effect="tx", act="silence")
async def skip(
    context: ToolContext,
    reason: Annotated[str | None, Field(max_length=1000, description="Why, for the people who look after you.")] = None,
) -> dict[str, Any]:
    """Stop here: there is nothing for you to do now. The room sees nothing; the reason is kept in the run's log."""
    reason = (reason or "").replace("\x00", "").strip() or None
    context.effects.end_run = True
    context.effects.silence_reason = reason
    return {"action": "skipped", **({"reason": reason} if reason else {})}
