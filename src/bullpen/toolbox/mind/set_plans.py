"""set_plans: have oneself woken later, once or again and again."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bullpen.errors import ToolFailed
from bullpen.mind import actions as mind
from bullpen.mind import rules
from bullpen.mind.actions import Planner
from bullpen.mind.rules import Timing
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.threads.rules import SCOPES
from bullpen.toolbox.mind import own
from bullpen.tools import ToolContext, tool
from bullpen.wire.requests import MOST_AT_ONCE, SetPlan


@tool(effect="tx", grant="schedule", wary=True, keeps=("plans",))
async def set_plans(
    context: ToolContext,
    plans: Annotated[
        list[SetPlan],
        Field(
            min_length=1,
            max_length=MOST_AT_ONCE,
            description="Each with exactly one of runAfter, scheduledAt and cron.",
        ),
    ],
) -> dict[str, Any]:
    """Plan what you will do later: at its time each plan wakes you with its instruction, in the space you plan it in.

    A plan with a single time is over then; one with cron comes again and again. The result says when each is due.
    """
    found = await own.find_mind(context)
    made = await mind.set_plans(context.tx, found, plans, await _planner(context, found.place))
    return {"plans": [own.shown(plan) for plan in made]}


async def _planner(context: ToolContext, place: str) -> Planner:
    """The plan works for whoever its run works for, and may what this run may."""
    run = context.run
    room = await _room(context, place)
    if room is not None:
        spaces.refuse_archived(room)
    timing = Timing(
        now=context.tx.clock.millis(),
        zone=await _zone(context, room),
        ahead=rules.LEAST_AHEAD_OF_PLANS if run.is_plan else rules.LEAST_AHEAD,
        min_interval=context.means.tasks.min_interval,
    )
    return Planner(context.agent.id, run.cause, None if room is None else room.id, timing, run.depth, run.chain_id)


async def _room(context: ToolContext, place: str) -> Room | None:
    """Where the plan is carried out: where it stays, else where the run was woken, else where the agent is now."""
    if place != rules.EVERYWHERE:
        return await space_rows.select_room(context.tx, place)
    if context.run.home is not None:
        return context.run.home
    room = None if context.space_id is None else await space_rows.select_room(context.tx, context.space_id)
    if room is None and not SCOPES[context.agent.scope].spans_spaces:
        raise ToolFailed("You are in no space, and a plan is carried out in one. Call enter_space first.")
    return room


async def _zone(context: ToolContext, room: Room | None) -> str:
    """Whose clocks its times are meant by: the space's, else the office's."""
    of_space = None if room is None else await space_rows.select_timezone(context.tx, room.id)
    return of_space or context.means.tasks.timezone
