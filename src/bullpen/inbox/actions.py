"""Deliver to threads, claim for a run, and let the next of a group have its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bullpen import ids
from bullpen.engine import nudges
from bullpen.inbox import rows, rules
from bullpen.inbox.types import Cause, Item, Recipient
from bullpen.storage import Topic, Transaction
from bullpen.threads import actions as threads
from bullpen.threads.rules import SCOPES
from bullpen.wire.nouns import ThreadScope

# One run takes at most this many items; the rest make the next one.
DRAIN = 100

# A run should look at its rows again; its id is told.
INTERRUPTED: Final = Topic[str]("a run is interrupted")


async def deliver(
    tx: Transaction,
    recipients: Sequence[tuple[Recipient, bool]],
    *,
    space_id: str,
    message_id: str,
    payload: dict[str, Any],
    cause: Cause,
    depth: int,
    chain_id: str,
    group_wait_ms: int,
) -> None:
    """One item per recipient (with whether it was addressed directly), in join order.

    Several agents woken by one message answer one after another: only the first is woken now. The others are woken by
    the run that ends before them, or when their item is due. One that is paused has its turn and keeps it; nobody
    waits for it.
    """
    now = tx.clock.millis()
    has_turn = True
    for rank, (recipient, addressed) in enumerate(recipients):
        thread_id = recipient.thread_id or await threads.ensure(tx, recipient.agent_id, recipient.scope, space_id)
        item = Item(
            id=ids.inbox_item(),
            thread_id=thread_id,
            kind="message",
            space_id=space_id,
            payload=payload,
            cause=cause,
            depth=depth,
            chain_id=chain_id,
            addressed=addressed,
            batch=message_id if len(recipients) > 1 else None,
        )
        due_at = now + rank * group_wait_ms
        if not await rows.insert_item(tx, item, key=f"message:{message_id}", rank=rank, due_at=due_at):
            continue
        # What others say is not taken into the run, so that breaking it off for them would only cost.
        if recipient.interrupts and (run_id := await rows.select_under_way(tx, thread_id, cause)) is not None:
            tx.tell(INTERRUPTED, run_id)
        if has_turn:
            threads.wake(tx, thread_id)
        else:
            nudges.remind(tx, due_at)
        has_turn = has_turn and recipient.paused


async def deliver_trigger(
    tx: Transaction, agent_id: str, scope: ThreadScope, payload: dict[str, Any], cause: Cause, *, id: str | None = None
) -> str:
    """Wake an agent with something that no message says: its one mind, or a thread made for this alone."""
    thread_id = await (
        threads.ensure(tx, agent_id, scope, None)
        if SCOPES[scope].spans_spaces
        else threads.create_fresh(tx, agent_id, None, cause_kind=cause.kind, cause_id=cause.id, grants=cause.grants)
    )
    item = Item(id or ids.inbox_item(), thread_id, "trigger", None, payload, cause, depth=0, chain_id=ids.chain())
    await deliver_item(tx, item, key=f"trigger:{item.id}")
    return item.id


async def deliver_item(tx: Transaction, item: Item, *, key: str) -> None:
    """One thing for one thread, which is woken. Delivering it twice under its key keeps one."""
    if await rows.insert_item(tx, item, key=key, rank=0, due_at=tx.clock.millis()):
        threads.wake(tx, item.thread_id)


async def deliver_retry(tx: Transaction, items: Sequence[Item], key: str) -> None:
    """All that an earlier run was told, once more."""
    for number, item in enumerate(items):
        await deliver_item(tx, item, key=f"retry:{key}:{number}")


async def claim(tx: Transaction, thread_id: str, run_id: str) -> Sequence[Item]:
    """The items that this run answers; one that does another once more has its id from them. None: nothing to do,
    whatever the nudge said."""
    items = rules.drained(await rows.select_unclaimed(tx, thread_id, DRAIN))
    if items:
        retry = items[0].retry
        await rows.claim(tx, [item.id for item in items], run_id if retry is None else retry["id"])
    return items


async def pass_turn(tx: Transaction, run_id: str) -> None:
    """A run ended or its agent was paused: wake the next of each group it was part of, unless another is still at it.

    Those who are paused have their turn and keep it, and the first who is not goes on.
    """
    for batch in await rows.select_batches(tx, run_id):
        if not await rows.batch_is_busy(tx, batch, but_for=run_id):
            await _wake_next(tx, batch)


async def step_aside(tx: Transaction, agent_id: str) -> None:
    """An agent was paused before its turn was over, or had begun: the others of its groups do not wait for it."""
    for batch in await rows.select_batches_of(tx, agent_id):
        if not await rows.batch_is_busy(tx, batch, but_for=""):
            await _wake_next(tx, batch)


async def _wake_next(tx: Transaction, batch: str) -> None:
    for thread_id, paused in await rows.select_waiting(tx, batch):
        threads.wake(tx, thread_id)
        if not paused:
            break


async def go_on(tx: Transaction, agent_id: str) -> None:
    """An agent is not paused any more: what waited for it begins at once."""
    await threads.go_on(tx, agent_id)
    for thread_id in await rows.select_due(tx, agent_id, tx.clock.millis()):
        threads.wake(tx, thread_id)


async def go_on_all(tx: Transaction, group_wait_ms: int) -> None:
    """Nobody was late while all were paused: whoever waits for a turn waits for it as long as ever."""
    await threads.go_on(tx, None)
    await rows.update_due(tx, now=tx.clock.millis(), wait=group_wait_ms)
