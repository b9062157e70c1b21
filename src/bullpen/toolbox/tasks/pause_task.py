"""pause_task: a task rests until it is resumed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.tasks import actions as tasks
from bullpen.toolbox.tasks import own
from bullpen.tools import ToolContext, tool


@tool(effect="tx", touches=own.space_of_task, grant="post", camel=False)
async def pause_task(
    context: ToolContext, task_id: Annotated[str, Field(max_length=200, description="The id of the task.")]
) -> dict[str, Any]:
    """Pause a task. It does not run until it is resumed."""
    task = await own.own_task(context, task_id)
    context.effects.outside = task.outside
    return own.shown(await tasks.pause(context.tx, own.actor(context), task))
