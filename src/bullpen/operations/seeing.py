"""See what an agent sees: who may, and what of the past is not theirs to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.errors import Gone, NotFound
from bullpen.operations import agents, runs
from bullpen.runs import actions, seeing
from bullpen.runs.loop import World
from bullpen.runs.seeing import Seen
from bullpen.runs.types import Run
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Room
from bullpen.storage import Transaction
from bullpen.threads import rows as thread_rows
from bullpen.threads.rules import anchor_of, home_of, scope_in
from bullpen.tools.outward import MEMORY
from bullpen.wire import Agent

# What an agent did, and in which private spaces it is: for owners and for the agent itself, as journals are.
INSIDE: Final = frozenset({"earlier", "lately", "journals", "spaces"})
PAST: Final = INSIDE | {"messages"}


async def see_now(tx: Transaction, world: World, caller: Principal, agent_id: str, space_id: str | None) -> Seen:
    """What the agent would be shown if it were woken now, in this space."""
    agent = await agents.get(tx, agent_id)
    access.authorize(caller, "see_inside_agent", Thing("agent", agent.id, holder=agent.id))
    room = None if space_id is None else await spaces.readable_room(tx, caller, space_id)
    if room is not None and not await space_rows.is_member(tx, room.id, agent.id):
        raise NotFound(f"{agent.name} is not in {room.id!r}.")
    run = await _begin_nothing(tx, caller, agent, room)

    async def hides(seen_in: Sequence[str]) -> frozenset[str]:
        if not await _reads_all(tx, caller, agent.id, seen_in):
            return PAST
        return frozenset() if caller.is_owner or caller.id == agent.id else INSIDE

    scope = scope_in(agent.scope, stays=room is not None and room.stays)
    system = await actions.read_system(tx, agent, room, home_of(scope, space_id), world.teaching)
    return await seeing.see_now(tx, world, run, system, hides)


async def see_step(tx: Transaction, world: World, caller: Principal, run_id: str, step: int, *, body: bool) -> Seen:
    """What the model was shown before the answer of this step."""
    run = await runs.get(tx, caller, run_id, "see_inside_run")
    if run.prompt_hash is None:
        raise Gone(f"The journal of {run_id} was forgotten, so nobody knows any more what it was shown.")

    async def hides(seen_in: Sequence[str]) -> frozenset[str]:
        return frozenset() if await _reads_all(tx, caller, run.agent_id, seen_in) else PAST

    seen = await seeing.see_step(tx, world, run, step, hides, body=body)
    if seen is None:
        raise NotFound(f"{run_id} has no step {step} for which its model was asked.")
    return seen


async def _reads_all(tx: Transaction, caller: Principal, agent_id: str, seen_in: Sequence[str]) -> bool:
    """A mind that spans spaces is shown what it did in all of them, and not all of them may be the caller's to read."""
    asked = sorted(set(seen_in) - {MEMORY})
    return caller.id == agent_id or not asked or set(asked) <= await spaces.readable(tx, caller, asked)


async def _begin_nothing(tx: Transaction, caller: Principal, agent: Agent, room: Room | None) -> Run:
    """A run as the next one would be, for whoever looks. It has no row, and never gets one."""
    space_id = None if room is None else room.id
    scope = scope_in(agent.scope, stays=room is not None and room.stays)
    anchor = anchor_of(scope, id="", space_id=space_id)
    thread_id = await thread_rows.select_id(tx, agent_id=agent.id, scope=scope, anchor=anchor)
    thread = None if thread_id is None else await thread_rows.select_thread(tx, thread_id)
    return Run(
        id=ids.run(),
        thread_id=thread_id or "",
        agent_id=agent.id,
        space_id=space_id,
        status="thinking",
        outcome=None,
        stop_reason=None,
        silence_reason=None,
        error=None,
        cause_kind=caller.kind,
        cause_id=caller.id,
        grants="",
        trigger={},
        payload={},
        chain_id="",
        depth=0,
        addressed=False,
        corrected=False,
        cancel_requested=False,
        ordinal=1 if thread is None else thread.run_count + 1,
        step=0,
        position=0,
        message_ids=(),
        acts=frozenset(),
        active_ms=0,
        window_seq=0 if room is None else room.last_seq,
        prompt_hash=None,
        summary=None,
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
        cost=0.0,
        started_at=tx.clock.now(),
        finished_at=None,
    )
