"""schedule_task: do something later, once or again and again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field

from bullpen import ids
from bullpen.access import rules as access
from bullpen.audit.actions import note
from bullpen.errors import BadArguments, ToolFailed
from bullpen.tasks import actions as tasks
from bullpen.tasks.actions import Maker, Wish
from bullpen.toolbox.tasks import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.nouns import ContextMode, ScheduleType
from bullpen.wire.requests import MAX_TEXT

IGNORED = "target_group was ignored: only the main group schedules for others. The task is for this space."


class Asked(BaseModel):
    """A call of one of your own tools, made before you are woken."""

    tool: Annotated[str, Field(min_length=1, max_length=200, description="The name of the tool.")]
    args: Annotated[dict[str, Any], Field(description="Its arguments.")] = {}


@tool(
    effect="tx",
    touches=own.target_space,
    grant="schedule",
    wary=True,
    keeps=("prompt", "precheck", "target_group"),
    camel=False,
)
async def schedule_task(
    context: ToolContext,
    prompt: Annotated[
        str,
        Field(description="What to do then, as the person who asked has put it. If isolated, all you have to know."),
    ],
    schedule_type: Annotated[
        ScheduleType, Field(description="cron: at certain times; interval: every so often; once: one time.")
    ],
    schedule_value: Annotated[
        str,
        Field(
            max_length=200,
            description=(
                "cron: five fields, as in 0 9 * * *. interval: milliseconds, as in 300000, or 10m, 1h. "
                "once: local time without Z, as in 2026-02-01T15:30:00."
            ),
        ),
    ],
    context_mode: Annotated[
        ContextMode,
        Field(description="group: with the history of this space and your memory. isolated: with neither."),
    ] = "group",
    target_group: Annotated[
        str | None, Field(max_length=200, description="Folder of another group. Only the main group may name one.")
    ] = None,
    precheck: Annotated[
        Asked | None,
        Field(description="A call that is made first: if it gives nothing, or {wake: false}, you are not woken."),
    ] = None,
) -> dict[str, Any]:
    """Schedule a task: at its times you are woken in this space with the prompt, and may use all your tools.

    Times are local to the space's time zone. The result says when the task will be due next.
    """
    if context.run.is_plan:
        raise ToolFailed("A plan woke you, and no plan schedules tasks. Set another plan with set_plans instead.")
    if not prompt.strip() or len(prompt) > MAX_TEXT or "\x00" in prompt:
        raise BadArguments(f"prompt must have 1 to {MAX_TEXT} characters and say something.")
    room, ignored = await own.target_room(context, target_group)
    run = context.run
    held = access.parsed(run.grants)
    cause = replace(run.cause, grants=tasks.grants(held, may_schedule=False))
    wish = Wish(
        prompt=prompt,
        schedule_type=schedule_type,
        schedule_value=schedule_value,
        context_mode=context_mode,
        precheck=None if precheck is None else precheck.model_dump(),
    )
    kept = (prompt, "" if precheck is None else str(precheck.model_dump()), target_group or "")
    maker = Maker(context.agent.id, cause, run.depth, run.chain_id, context.sources_of(*kept))
    task = await tasks.make(
        context.tx, room, context.agent.id, wish, maker, context.means.tasks, id=ids.task_for(context.call_id)
    )
    note(context.tx, own.actor(context), "task.created", "task", task.id, spaceId=room.id, agentId=context.agent.id)
    return {**own.shown(task), **({"note": IGNORED} if ignored else {})}
