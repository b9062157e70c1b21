"""What the tools for tasks share: which space is meant, and which tasks are there for an agent.

A group has its own tasks and no others. A run in the main group, on behalf of somebody who may register groups, manages
those of all groups: that is in its grants, which only such a run holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.errors import ToolFailed
from bullpen.events.actions import in_turn
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.tasks import rows, times
from bullpen.tasks.types import Task
from bullpen.toolbox.messaging.spaces import manages_groups, member_room
from bullpen.tools import ToolContext


async def own_room(context: ToolContext) -> Room:
    """The space whose tasks are the agent's business: the group it was woken in, else the space it is in."""
    room = await _own_room(context)
    context.check_judged(room.id)
    return room


async def _own_room(context: ToolContext) -> Room:
    room = context.run.home
    if room is not None and room.kind == "group" and await space_rows.is_member(context.tx, room.id, context.agent.id):
        return room
    return await member_room(context, None)


async def other_group(context: ToolContext, name: str) -> Room:
    """A group by its folder or its id, of which the agent is a member."""
    for room, options in await space_rows.select_group_options(context.tx):
        named = name in (room.id, options.get("folder"))
        if named and await space_rows.is_member(context.tx, room.id, context.agent.id):
            context.check_judged(room.id)
            return room
    raise ToolFailed(f"You are not a member of a group {name!r}.")


async def target_room(context: ToolContext, target_group: str | None) -> tuple[Room, bool]:
    """Whose task it is to be, and whether a group was named in vain."""
    if target_group is None or not manages_groups(context):
        return await own_room(context), target_group is not None
    return await other_group(context, target_group), False


# Which spaces a call touches: see tools/types.py.


async def target_space(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    room, _ = await target_room(context, args["target_group"])
    return [room.id]


async def space_of_task(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    task = await rows.select_task(context.tx, args["task_id"])
    return [] if task is None else [task.space_id]


async def listed_spaces(context: ToolContext, args: Mapping[str, Any]) -> list[str]:
    return await own_spaces(context)


async def own_task(context: ToolContext, id: str) -> Task:
    """A task that the agent may see from where it is; its turn is taken."""
    await in_turn(context.tx, id)
    task = await rows.select_task(context.tx, id)
    if task is None or task.space_id not in await own_spaces(context):
        raise ToolFailed(f"There is no task {id!r} here. list_tasks shows those there are.")
    context.check_judged(task.space_id)
    return task


async def own_spaces(context: ToolContext) -> list[str]:
    room = await _own_room(context)
    if not manages_groups(context):
        return [room.id]
    return sorted({room.id, *await space_rows.select_groups(context.tx)})


def actor(context: ToolContext) -> Principal:
    """Who is named in the audit log."""
    agent = context.agent
    return Principal("agent", agent.id, agent.name, access.parsed(context.run.grants))


def shown(task: Task) -> dict[str, Any]:
    """What an agent is told of a task."""
    zone = task.schedule.timezone
    told: dict[str, Any] = {
        "taskId": task.id,
        "spaceId": task.space_id,
        "prompt": task.prompt,
        "scheduleType": task.schedule.type,
        "scheduleValue": task.schedule.value,
        "contextMode": task.context_mode,
        "status": task.status,
        "timezone": zone,
        "nextRuns": [times.local(at, zone) for at in times.upcoming(task.schedule, task.next_at)],
    }
    if task.reason is not None:
        told["reason"] = task.reason
    if task.last_run is not None:
        told["lastRun"] = task.last_run
    return told
