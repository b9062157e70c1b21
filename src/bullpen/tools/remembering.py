"""In which situation a run remembers: what memory/rules.py has to know to say where its memory is kept, and what it
may read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bullpen.errors import ToolFailed
from bullpen.memory import rows as memory_rows
from bullpen.memory import rules
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.tools.outward import MEMORY, MORE
from bullpen.tools.types import ToolContext
from bullpen.wire import Agent

MOST_SCOPES: Final = 64  # private spaces that one search reads


async def situate(
    tx: Transaction, agent: Agent, *, stays_in: str | None, active: str | None, seen_in: Iterable[str] = ()
) -> rules.Situation:
    """`seen_in`: whose text the run was shown, as tools/outward.py keeps it."""
    places = {*seen_in, *([] if active is None else [active])} - {MEMORY}
    private = set() if stays_in is not None else await _select_private(tx, places)
    return rules.Situation(agent.id, agent.memory.across_spaces, stays_in, active, frozenset(private))


def situate_in(agent: Agent, room: Room | None) -> rules.Situation:
    """As a run begins that is woken in this space, and was shown nothing yet."""
    if room is None:
        return rules.Situation(agent.id, agent.memory.across_spaces)
    is_free = room.main if room.kind == "group" else room.kind == "channel" and not room.private
    private = frozenset() if is_free or room.stays else frozenset([room.id])
    stays_in = room.id if room.stays else None
    return rules.Situation(agent.id, agent.memory.across_spaces, stays_in, room.id, private)


async def _select_private(tx: Transaction, places: set[str]) -> set[str]:
    """All but public channels and the main group, those that are gone too. `MORE` stands for several."""
    free = await space_rows.select_free(tx, sorted(places - {MORE})) if places else set()
    return {rules.UNCOUNTED if place == MORE else place for place in places - free}


async def situate_call(context: ToolContext) -> rules.Situation:
    run = context.run
    return await situate(context.tx, run.agent, stays_in=run.stays_in, active=context.space_id, seen_in=run.seen_in)


async def find_place(context: ToolContext) -> rules.Place:
    """Where the call's words are kept."""
    place = rules.keep(await situate_call(context))
    if place is None:
        raise ToolFailed(_SEVERAL)
    return place


async def find_block_places(context: ToolContext) -> tuple[str, str]:
    """The space that a block is kept for which the call writes, and the one whose blocks stand in its prompt there."""
    situation = await situate_call(context)
    kept_for = rules.keep_block(situation)
    if kept_for is None:
        raise ToolFailed(_SEVERAL)
    return kept_for, rules.shown_for(situation)


_SEVERAL: Final = (
    "You have read several private spaces, and what you learned there stays there. Enter the one that this "
    "belongs to with enter_space, and store it then."
)


async def find_scopes(context: ToolContext) -> list[str]:
    """What the call may search."""
    situation = await situate_call(context)
    scopes = list(rules.read_scopes(situation))
    if rules.reads_across(situation):
        below = await memory_rows.select_scopes(context.tx, rules.private_scope(context.agent.id, ""), MOST_SCOPES)
        scopes = list(dict.fromkeys([*scopes, *below]))
    return scopes


# ── the store of a space ────────────────────────────────────────────────────────────────────────────────────────────


def active_space(context: ToolContext) -> str:
    """The space whose memory is meant."""
    if context.space_id is None:
        raise ToolFailed("You are in no space now, so there is no memory to look into. Call enter_space first.")
    return context.space_id


async def find_store(context: ToolContext) -> rules.Place:
    """Where the call's words are kept for all agents of the space that it is in."""
    space_id = active_space(context)
    situation = await situate_call(context)
    if not situation.across and not situation.private <= {space_id}:
        raise ToolFailed(
            f"You have read a private space, and what you learned there stays there: it cannot be saved for {space_id}."
        )
    return rules.Place(rules.space_scope(space_id), space_id, space_id)
