"""Plans that are due wake their agents: once for each time, by the rounds in which tasks are fired (tasks/firing.py).

What was due while nobody looked is made up for once. A plan with a single time is over then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bullpen.agents import rows as agent_rows
from bullpen.events.actions import in_turn
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Item
from bullpen.mind import actions, items, rows
from bullpen.mind.types import Plan
from bullpen.storage import Store, Transaction
from bullpen.tasks import firing as clock
from bullpen.tasks import rules, times
from bullpen.tasks.actions import lost_right
from bullpen.tasks.firing import Kind, Makers
from bullpen.tasks.types import Due, Ended, Firing
from bullpen.threads import actions as threads
from bullpen.threads.rules import SCOPES
from bullpen.wire import Agent

NOWHERE = "It was set in no space, and its agent works in one space at a time now."


async def fire_due(store: Store, chain_limit: int) -> int | None:
    """Fire whatever is due; when the next plan is, in milliseconds."""
    return await clock.fire_all(store, PLANS, chain_limit)


async def _fire(tx: Transaction, plan: Plan, due: Due, next_at: int | None, chain_limit: int, makers: Makers) -> None:
    agent = await agent_rows.select_definition(tx, plan.agent_id)
    reason = await lost_right(tx, plan, agent, makers.may_schedule)
    if reason is None and agent is not None and plan.space_id is None and not SCOPES[agent.scope].spans_spaces:
        reason = NOWHERE
    if reason is not None or agent is None:
        reason = reason or "Its agent is gone."
        refused = await clock.refuse(tx, plan, due, reason)
        actions.tell_fired(tx, await actions.put_to_rest(tx, plan, reason), refused)
        return
    ahead = replace(plan, next_at=next_at, status="completed" if next_at is None else "active")
    for nominal_at, status, missed in rules.plan("once", due, tx.clock.millis()):
        firing = Firing(plan.id, nominal_at, status, tx.clock.now(), missed=missed)
        firing = await _deliver(tx, ahead, agent, firing, chain_limit, makers)
        if firing.item_id is not None:
            ahead = replace(ahead, last_run=firing.fired_at)
        await actions.keep_fired(tx, ahead, firing)


async def _deliver(
    tx: Transaction, plan: Plan, agent: Agent, firing: Firing, chain_limit: int, makers: Makers
) -> Firing:
    """Keep the firing and, if it is the first of its time, wake the agent."""
    link = clock.link_of(plan, firing.nominal_at)
    firing = await clock.keep_firing(tx, plan, agent, firing, link, chain_limit)
    if firing.item_id is None:
        return firing
    by = plan.created_by
    item = Item(
        id=firing.item_id,
        thread_id=await _thread(tx, agent, plan.space_id),
        kind="plan",
        space_id=plan.space_id,
        payload=items.build_payload(tx, plan, firing, makers.kinds.get(by, "system"), makers.names.get(by, by)),
        cause=plan.cause,
        depth=link.depth,
        chain_id=link.chain_id,
    )
    await inbox.deliver_item(tx, item, key=f"plan:{plan.id}:{firing.nominal_at}")
    return firing


async def _thread(tx: Transaction, agent: Agent, space_id: str | None) -> str:
    scope = agent.scope if space_id is None else await clock.scope_of(tx, agent, space_id)
    return await threads.ensure(tx, agent.id, scope, space_id)


PLANS: Kind[Plan] = Kind(rows.select_due, rows.select_next, rows.select_these, _fire, actions.put_to_rest)


# ── after the clock was put back, and what became of it ─────────────────────────────────────────────────────────────


async def bring_forward(tx: Transaction, ids: Sequence[str]) -> int:
    """As for tasks: plans whose next time is later than their schedule says get the right one."""
    await in_turn(tx, *ids)
    now = tx.clock.millis()
    moved = 0
    for plan in await rows.select_these(tx, ids):
        try:
            next_at = times.next_after(plan.schedule, now)
        except times.BROKEN:  # the round that fires it says so
            continue
        if next_at is not None and plan.next_at is not None and next_at < plan.next_at:
            await actions.move(tx, plan, next_at)
            moved += 1
    return moved


async def count_ended(tx: Transaction, ended: Ended, most: int) -> None:
    """A run of a plan is over: after some that failed in a row the plan is paused. The caller has its turn."""
    plan = await rows.select_plan(tx, ended.task_id)
    if plan is None:
        return
    if ended.stop_reason == "no_rights" and plan.status == "active":
        await actions.put_to_rest(tx, plan, ended.error or "Whoever it works for may not do this any more.")
    elif ended.run_status == "completed" and plan.failures:
        await actions.keep_failures(tx, plan, 0)
    elif ended.run_status == "failed":
        plan = await actions.keep_failures(tx, plan, plan.failures + 1)
        if most and plan.failures >= most and plan.status == "active":
            error = ended.error or ended.stop_reason or "no reason is known"
            await actions.put_to_rest(tx, plan, f"It failed {plan.failures} times in a row; the last time: {error}")
