"""cancel_task: a task is over, and gone."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.tasks import actions as tasks
from bullpen.toolbox.tasks import own
from bullpen.tools import ToolContext, tool


@tool(effect="tx", touches=own.space_of_task, grant="post", camel=False)
async def cancel_task(
    context: ToolContext, task_id: Annotated[str, Field(max_length=200, description="The id of the task.")]
) -> dict[str, Any]:
    """Cancel a task and delete it, with its history."""
    task = await own.own_task(context, task_id)
    await tasks.cancel(context.tx, own.actor(context), task)
    return {"taskId": task.id, "status": "cancelled"}
