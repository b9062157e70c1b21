"""resume_task: a task that rested goes on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.tasks import actions as tasks
from bullpen.toolbox.tasks import own
from bullpen.tools import ToolContext, tool


@tool(effect="tx", touches=own.space_of_task, grant="schedule", camel=False)
async def resume_task(
    context: ToolContext, task_id: Annotated[str, Field(max_length=200, description="The id of the task.")]
) -> dict[str, Any]:
    """Resume a paused task. It goes on with its next time; what it missed meanwhile is not made up for."""
    task = await own.own_task(context, task_id)
    context.effects.outside = task.outside
    return own.shown(await tasks.resume(context.tx, own.actor(context), task))
