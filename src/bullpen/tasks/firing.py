"""Tasks that are due wake their agents: once for each time, however many processes look and whenever they die.

A round reads what is due by one index and fires it, some at a time. In one transaction: the firing's row, which is the
only one of its task and time, the inbox item, the task's next time, the event and the nudge. Another round counts
what became of the runs. Both are part of the engine's sweep; the moment of the next task is given back, so that
somebody looks then.

The plans of agents are fired by the same rounds: `Kind` says what differs (mind/firing.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from bullpen import ids
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import Forbidden
from bullpen.events.actions import in_turn
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Cause, Item
from bullpen.observe import counts
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Store, Transaction
from bullpen.tasks import actions, items, rows, rules, times
from bullpen.tasks.types import Due, Ended, Firing, Scheduled, Task
from bullpen.threads import actions as threads
from bullpen.threads.rules import SCOPES, scope_in
from bullpen.wire import Agent
from bullpen.wire.nouns import ThreadScope

BATCH = 50  # tasks of one transaction
BATCHES = 20  # transactions of one look
CONNECTIONS = 3  # of those at the same time, where each takes a connection
SHOWN = 5  # tasks that one message names
STILL_WAITING = "The firing before it had not begun yet."


S = TypeVar("S", bound=Scheduled)
# Counts a run that is over, if its firing was of no task.
CountsOthers: TypeAlias = Callable[[Transaction, Ended, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Makers:
    """Who made what one transaction fires, looked up once for all of it; and who may schedule, as asked so far."""

    names: Mapping[str, str]
    kinds: Mapping[str, str]
    may_schedule: dict[Cause, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """A kind of thing that is fired: where it is kept, and what firing it means.

    `fire` gets the times that have come and the next one, the limit of chains, and who made it.
    """

    select_due: Callable[[Transaction, int, int], Awaitable[list[str]]]
    select_next: Callable[[Transaction], Awaitable[int | None]]
    select_these: Callable[[Transaction, Sequence[str]], Awaitable[list[S]]]
    fire: Callable[[Transaction, S, Due, int | None, int, Makers], Awaitable[None]]
    put_to_rest: Callable[[Transaction, S, str], Awaitable[Any]]


async def fire_due(store: Store, chain_limit: int) -> int | None:
    """Fire whatever is due; when the next task is, in milliseconds."""
    return await fire_all(store, TASKS, chain_limit)


async def fire_all(store: Store, kind: Kind[Any], chain_limit: int) -> int | None:
    """Fire what is due of this kind; when the next of it is."""
    while due := await store.read(lambda tx: kind.select_due(tx, tx.clock.millis(), BATCH * BATCHES)):
        # All of them stand in line before the first run begins: what is due at the same time is fired first.
        line = asyncio.Semaphore(CONNECTIONS if store.shared else BATCHES)
        batches = [due[begin : begin + BATCH] for begin in range(0, len(due), BATCH)]
        await asyncio.gather(*(_fire_batch(store, kind, ids, chain_limit, line) for ids in batches))
    return await store.read(kind.select_next)


async def _fire_batch(
    store: Store, kind: Kind[Any], ids: Sequence[str], chain_limit: int, line: asyncio.Semaphore
) -> None:
    async with line:
        await store.transact(partial(fire_these, kind=kind, ids=ids, chain_limit=chain_limit))


async def fire_these(tx: Transaction, kind: Kind[S], ids: Sequence[str], chain_limit: int) -> None:
    await in_turn(tx, *ids)
    now = tx.clock.millis()
    found = await kind.select_these(tx, ids)
    makers = await _look_up(tx, found)
    for task in found:
        if task.next_at is not None and task.next_at <= now:  # else somebody else has fired it meanwhile
            try:
                due = times.due(task.schedule, task.next_at, now)
                next_at = times.next_after(task.schedule, now) if task.schedule.type != "once" else None
            except times.BROKEN as error:  # it must not keep the others from being fired
                await kind.put_to_rest(tx, task, f"Its schedule cannot be read any more ({error}).")
            else:
                await kind.fire(tx, task, due, next_at, chain_limit, makers)


async def _look_up(tx: Transaction, tasks: Sequence[Scheduled]) -> Makers:
    by = sorted({task.created_by for task in tasks})
    return Makers(await agent_rows.select_names(tx, by), await agent_rows.select_kinds(tx, by))


async def _fire(tx: Transaction, task: Task, due: Due, next_at: int | None, chain_limit: int, makers: Makers) -> None:
    agent = await agent_rows.select_definition(tx, task.agent_id)
    if (reason := await actions.lost_right(tx, task, agent, makers.may_schedule)) is not None or agent is None:
        await refuse(tx, task, due, reason := reason or "Its agent is gone.")
        await actions.put_to_rest(tx, task, reason)
        return
    ahead = replace(task, next_at=next_at, status="completed" if next_at is None else "active")
    fired: list[Firing] = []
    for nominal_at, status, missed in rules.plan(task.missed, due, tx.clock.millis()):
        firing = Firing(task.id, nominal_at, status, tx.clock.now(), missed=missed)
        if (firing := await _deliver(tx, ahead, agent, firing, chain_limit, makers)).status == "fired":
            fired.append(firing)
    last_run = fired[-1].fired_at if fired else task.last_run
    ahead = replace(ahead, last_run=last_run, updated_at=tx.clock.now())
    await rows.update_task(tx, ahead)
    _tell(tx, ahead, fired)
    actions.remind(tx, ahead)


def _tell(tx: Transaction, task: Task, fired: Sequence[Firing]) -> None:
    if not fired:
        actions.tell_updated(tx, task)
    for firing in fired:
        actions.tell_fired(tx, task, firing)


async def _deliver(
    tx: Transaction, task: Task, agent: Agent, firing: Firing, chain_limit: int, makers: Makers
) -> Firing:
    """Keep the firing and, if it is the first of its time, wake the agent."""
    link = link_of(task, firing.nominal_at, counted_for=task.id)
    firing = await keep_firing(tx, task, agent, firing, link, chain_limit, one_at_a_time=task.missed != "all")
    if firing.item_id is None:
        return firing
    thread_id = await (
        threads.create_fresh(
            tx,
            agent.id,
            task.space_id,
            cause_kind=task.cause.kind,
            cause_id=task.cause.id,
            grants=task.cause.grants,
        )
        if task.context_mode == "isolated"
        else threads.ensure(tx, agent.id, await scope_of(tx, agent, task.space_id), task.space_id)
    )
    by = task.created_by
    item = Item(
        id=firing.item_id,
        thread_id=thread_id,
        kind="task",
        space_id=task.space_id,
        payload=items.build_payload(tx, task, firing, makers.kinds.get(by, "system"), makers.names.get(by, by)),
        cause=task.cause,
        depth=link.depth,
        chain_id=link.chain_id,
        addressed=True,
    )
    await inbox.deliver_item(tx, item, key=rules.key(firing))
    return firing


class Link(NamedTuple):
    """Where the run of a firing stands in its chain."""

    depth: int
    chain_id: str


def link_of(task: Scheduled, nominal_at: int, *, counted_for: str = "") -> Link:
    if rules.inherits(task, nominal_at) and task.chain_id is not None:
        return Link(task.depth + 1, task.chain_id)
    return Link(0, ids.chain(counted_for))


async def refuse(tx: Transaction, task: Scheduled, due: Due, reason: str) -> Firing:
    """It may not run any more. The caller puts it to rest."""
    refused = Firing(task.id, due.times[-1], "refused", tx.clock.now(), reason=reason, missed=due.count - 1)
    await rows.insert_firing(tx, refused)
    _count_fired(tx, refused)
    return refused


async def keep_firing(
    tx: Transaction,
    task: Scheduled,
    agent: Agent,
    firing: Firing,
    link: Link,
    chain_limit: int,
    *,
    one_at_a_time: bool = True,
) -> Firing:
    """Keep the firing. If it has an item's id then, it is the first of its time, and wakes the agent with that."""
    own_limit = agent.limits.max_chain_depth
    if firing.status == "fired" and link.depth > (chain_limit if own_limit is None else own_limit):
        firing = replace(firing, status="stopped", reason="The agents have answered each other long enough.")
        if task.space_id is not None:
            await spaces.stop_chain(tx, task.space_id, link.chain_id, depth=task.depth, agent_id=agent.id)
    elif firing.status == "fired" and one_at_a_time and not firing.manual and await rows.is_waiting(tx, task.id):
        firing = replace(firing, status="missed", reason=STILL_WAITING)
    if firing.status != "fired":
        await rows.insert_firing(tx, firing)
        _count_fired(tx, firing)
        return firing
    firing = replace(firing, item_id=ids.inbox_item())
    if not await rows.insert_firing(tx, firing):
        return replace(firing, status="missed", item_id=None)  # it has been fired before, and once is enough
    _count_fired(tx, firing)
    return firing


def _count_fired(tx: Transaction, firing: Firing) -> None:
    tx.after_commit(partial(counts.FIRINGS.add, firing.status))
    if firing.status == "fired" and not firing.manual and not firing.missed:
        tx.after_commit(partial(counts.FIRING_LAG.observe, (tx.clock.millis() - firing.nominal_at) / 1000))


async def scope_of(tx: Transaction, agent: Agent, space_id: str) -> ThreadScope:
    room = await space_rows.select_room(tx, space_id) if SCOPES[agent.scope].spans_spaces else None
    return scope_in(agent.scope, stays=room is not None and room.stays)


async def run_now(tx: Transaction, by: Principal, task: Task, chain_limit: int) -> Firing:
    """Fire it now, because somebody wants that; its schedule stays as it is. The caller has its turn."""
    agent = await agent_rows.select_definition(tx, task.agent_id)
    if (reason := await actions.lost_right(tx, task, agent)) is not None or agent is None:
        raise Forbidden(f"The task cannot run. {reason or ''}".strip())
    nominal_at = times.by_hand(task.schedule, tx.clock.millis())
    firing = Firing(task.id, nominal_at, "fired", tx.clock.now(), manual=True)
    makers = await _look_up(tx, [task])
    while (done := await _deliver(tx, task, agent, firing, chain_limit, makers)).status == "missed":
        firing = replace(firing, nominal_at=firing.nominal_at + 1)  # somebody else wanted it in the same moment
    if done.status == "fired":
        task = replace(task, last_run=done.fired_at, updated_at=tx.clock.now())
        await rows.update_task(tx, task)
    _tell(tx, task, [done] if done.status == "fired" else [])
    note(tx, by, "task.run", "task", task.id)
    return done


# ── after the clock was put back ────────────────────────────────────────────────────────────────────────────────────


async def bring_forward(tx: Transaction, ids: Sequence[str]) -> int:
    """Tasks whose next time is later than their schedule says, because the clock was ahead when it was computed, get
    the right one. Their spaces are told. A time that was fired meanwhile stays fired, and does not come again.
    """
    await in_turn(tx, *ids)
    now = tx.clock.millis()
    sooner: dict[str, list[str]] = {}
    for task in await rows.select_these(tx, ids):
        try:
            next_at = times.next_after(task.schedule, now)
        except times.BROKEN:  # the round that fires it says so
            continue
        if next_at is not None and task.next_at is not None and next_at < task.next_at:
            await actions.move(tx, task, next_at)
            local = times.local(next_at, task.schedule.timezone)
            sooner.setdefault(task.space_id, []).append(f"{task.id} ({actions.excerpt(task)}) is next due at {local}.")
    for space_id, said in sooner.items():
        shown = " ".join([*said[:SHOWN], *([f"So are {len(said) - SHOWN} more."] if len(said) > SHOWN else [])])
        await spaces.announce(tx, space_id, f"The server's clock was ahead and was put back. {shown}")
    return sum(map(len, sooner.values()))


# ── what became of it ───────────────────────────────────────────────────────────────────────────────────────────────


async def count_ended(store: Store, most_failures: int, others: CountsOthers) -> None:
    """Runs of tasks that are over: one that fails is told of, and after some in a row its task is paused."""
    while ended := await store.read(lambda tx: rows.select_ended(tx, BATCH)):
        await store.transact(partial(_count_these, ended=ended, most=most_failures, others=others))
        await asyncio.sleep(0)


async def _count_these(tx: Transaction, ended: Sequence[Ended], most: int, others: CountsOthers) -> None:
    await in_turn(tx, *{each.task_id for each in ended})
    still = {(each.task_id, each.nominal_at) for each in await rows.select_ended(tx, 10 * BATCH)}
    for each in ended:
        if (each.task_id, each.nominal_at) in still:
            await rows.update_ended(tx, each.task_id, each.nominal_at)
            task = await rows.select_task(tx, each.task_id)
            await (others(tx, each, most) if task is None else _count(tx, task, each, most))


async def _count(tx: Transaction, task: Task, ended: Ended, most: int) -> None:
    if ended.stop_reason == "no_rights":
        if task.status == "active":
            await actions.put_to_rest(tx, task, ended.error or "Whoever it works for may not do this any more.")
        return
    if ended.run_status == "completed" and task.failures:
        await _keep_failures(tx, task, 0)
    if ended.run_status != "failed":
        return
    failures = task.failures + 1
    task = await _keep_failures(tx, task, failures)
    error = ended.error or ended.stop_reason or "no reason is known"
    if most and failures >= most and task.status == "active":
        await actions.put_to_rest(tx, task, f"It failed {failures} times in a row; the last time: {error}")
    elif failures == 1:
        await spaces.announce(tx, task.space_id, f"The task {task.id} ({actions.excerpt(task)}) failed: {error}")


async def _keep_failures(tx: Transaction, task: Task, failures: int) -> Task:
    task = replace(task, failures=failures, updated_at=tx.clock.now())
    await rows.update_task(tx, task)
    actions.tell_updated(tx, task)
    return task


TASKS: Kind[Task] = Kind(rows.select_due, rows.select_next, rows.select_these, _fire, actions.put_to_rest)
