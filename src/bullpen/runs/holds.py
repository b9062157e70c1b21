"""What becomes of runs when a budget is used up: they are put aside, and go on when it is not used up any more.

`check` is asked before every question to a model. A run that is put aside keeps its place: nobody drives its thread
until the period is over, the budget is raised or taken back, or somebody resumes the agent. If others wait in the
thread whom the budget does not concern, the run is ended instead, with its reason: nobody waits for tomorrow because of
what somebody else has spent.
"""

from __future__ import annotations

from collections.abc import Sequence

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.agents import rows as agent_rows
from bullpen.budgets import actions as budgets
from bullpen.budgets import rows, rules
from bullpen.budgets.types import Hold, Standing
from bullpen.engine import leases
from bullpen.engine.leases import Lease
from bullpen.events.actions import in_turn
from bullpen.runs import actions, steps
from bullpen.runs import rows as run_rows
from bullpen.runs.types import Entry, Run
from bullpen.spaces import rows as spaces
from bullpen.storage import Store, Transaction
from bullpen.threads import actions as threads


async def check(store: Store, run: Run) -> list[Standing]:
    """The budgets of the run that are used up. Warns of those that nearly are; of all, once the run is over: whoever
    holds nothing back tells of nothing either, and its last answer may have used one up."""
    standings = await store.read(lambda tx: rows.select_standings_of(tx, steps.subject_of(run)))
    reached = [each for each in standings if rules.is_reached(each)]
    told = standings if run.finished_at is not None else [each for each in standings if each not in reached]
    near = [each for each in told if rules.is_near(each) and each.warned_at is None]
    if near:
        await store.transact(lambda tx: budgets.warn(tx, near))
    return reached


async def hold(
    tx: Transaction, lease: Lease, run: Run, entries: list[Entry], reached: Sequence[Standing], say: actions.Say | None
) -> Run:
    """Put the run aside, or end it. Looks once more: a budget that was raised meanwhile holds nobody back."""
    await in_turn(tx, *(each.id for each in reached))
    await in_turn(tx, run.agent_id, run.space_id or run.agent_id)
    await leases.check(tx, lease)
    used_up = [each for each in await rows.select_standings_of(tx, steps.subject_of(run)) if rules.is_reached(each)]
    known = {each.id for each in reached}
    holding = rules.holding([each for each in used_up if each.id in known], rows.today(tx))
    if holding is None:
        return run
    first = await budgets.tell_reached(tx, holding)
    said = rules.paused_sentence(holding, await _name(tx, holding))
    if await _others_wait(tx, run, holding):
        run = await actions.stop(tx, lease, run, entries, "max_cost", said)
    else:
        run = await _put_aside(tx, lease, run, holding, said)
    if first and say is not None and run.space_id is not None:
        await say(tx, run.space_id, f"{said} Work that falls under it waits.")
    return run


async def _name(tx: Transaction, standing: Standing) -> str:
    """Whose budget it is, as people call them."""
    id = standing.subject_id
    if standing.kind == "space":
        room = await spaces.select_room(tx, id)
        # Everybody reads on the agent's card why it is paused.
        return f"#{room.name}" if room is not None and not room.private else "a private room"
    return (await agent_rows.select_names(tx, [id])).get(id, id)


async def _put_aside(tx: Transaction, lease: Lease, run: Run, holding: Standing, reason: str) -> Run:
    run = await actions.pause(tx, lease, run, reason)
    if run.cancel_requested:
        return run  # it will not be asked anything any more
    until = rules.ends(holding.period, rows.today(tx))
    await rows.put_hold(
        tx,
        Hold(
            run.thread_id,
            run.id,
            run.agent_id,
            holding.id,
            holding.kind,
            holding.subject_id,
            until,
            reason,
            tx.clock.now(),
        ),
    )
    await agents.tell(tx, run.agent_id)
    return run


async def _others_wait(tx: Transaction, run: Run, holding: Standing) -> bool:
    waiting = await rows.select_waiting(tx, run.thread_id, run.agent_id)
    return any(not rules.falls_under(holding.kind, holding.subject_id, each) for each in waiting)


# ── going on ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def release(tx: Transaction, held: Sequence[Hold]) -> None:
    """Let these go on. Each is checked again before it asks its model."""
    threads.nudge_again(tx, await budgets.release(tx, held))
    await actions.unpause(tx, [hold.run_id for hold in held])
    for agent_id in sorted({hold.agent_id for hold in held}):
        await agents.tell(tx, agent_id)


async def release_budgets(tx: Transaction, ids: Sequence[str]) -> None:
    """These budgets are others now, or gone."""
    await release(tx, await rows.select_holds_of_budgets(tx, ids))


async def take_turns(tx: Transaction, agent_id: str) -> None:
    """Of all that resuming the agent will change."""
    used_up = await _used_up_by(tx, await rows.select_holds_of_agent(tx, agent_id))
    await budgets.take_turns(tx, [each.id for each in used_up], agents.PAUSING, agent_id)


async def resume(tx: Transaction, by: Principal, agent_id: str) -> bool:
    """Let the agent's work go on, although budgets are used up: each may be used once more. False: nothing was held.

    Not only those that hold it back, or it would be stopped by the next. The turns have been taken.
    """
    held = await rows.select_holds_of_agent(tx, agent_id)
    used_up = await _used_up_by(tx, held)
    for each in used_up:
        access.authorize(by, access.BUDGET_ACTIONS[each.kind])
        await budgets.extend(tx, by, each.id)
    if held:
        await release_budgets(tx, sorted({hold.budget_id for hold in held} | {each.id for each in used_up}))
    return bool(held)


async def _used_up_by(tx: Transaction, held: Sequence[Hold]) -> list[Standing]:
    """The budgets of held runs that are used up, each once."""
    runs = [await run_rows.select_run(tx, hold.run_id) for hold in held]
    subjects = {steps.subject_of(run) for run in runs if run is not None}
    found = {each.id: each for subject in subjects for each in await rows.select_standings_of(tx, subject)}
    return [found[id] for id in sorted(found) if rules.is_reached(found[id])]


async def lapse(store: Store) -> None:
    """With every sweep of the engine: whose time has come goes on, and who stands in others' way is looked at again."""
    if not await store.read(rows.select_lapsed):
        return

    async def body(tx: Transaction) -> None:
        await in_turn(tx, *{hold.agent_id for hold in await rows.select_lapsed(tx)})
        await release(tx, await rows.select_lapsed(tx))

    await store.transact(body)
