"""What goes with a run when its journal goes: the items that it answered, and perhaps what was said of it.

Retention takes journals that are old, erasure those of an agent or a space. Runs keep their rows, their outcomes and
their costs, except in a thread that is deleted.
"""

from __future__ import annotations

from bullpen.budgets import rows as budget_rows
from bullpen.engine import leases
from bullpen.inbox import rows as inbox_rows
from bullpen.runs import rows as run_rows
from bullpen.storage import Transaction
from bullpen.threads import rows as thread_rows


async def forget_old(tx: Transaction, before: str, limit: int) -> int:
    """Journals of some of the oldest finished runs from before this id; how many."""
    run_ids = await run_rows.select_old(tx, before, limit)
    if run_ids:
        await forget(tx, run_ids)
        await run_rows.note_forgotten(tx, run_ids[-1])
    return len(run_ids)


async def forget(tx: Transaction, run_ids: list[str]) -> None:
    await run_rows.delete_journals(tx, run_ids)
    await inbox_rows.delete_claimed(tx, run_ids)


async def silence(tx: Transaction, run_ids: list[str]) -> None:
    """Keep that they were, and nothing of what happened in them."""
    await forget(tx, run_ids)
    await run_rows.silence(tx, run_ids)


async def silence_agent(tx: Transaction, agent_id: str, after: str, limit: int) -> str | None:
    """Silence its next runs; the last of them. None: there are no more."""
    found = await run_rows.select_of_agent(tx, agent_id, after, limit)
    if not found:
        return None
    run_ids = [id for id, _ in found]
    await silence(tx, run_ids)
    if hashes := sorted({hash for _, hash in found if hash is not None}):
        # A prompt begins with the agent's own id, so no other agent was shown it.
        await run_rows.delete_prompts(tx, hashes)
    return run_ids[-1]


async def silence_told(tx: Transaction, space_id: str, after: str, upto: str) -> None:
    """What minds that span spaces were told of this one, and the journals of what they made of it."""
    found = await inbox_rows.select_from_space(tx, space_id, after, upto)
    if answering := sorted({run_id for _, run_id in found if run_id is not None}):
        await silence(tx, answering)
    if waiting := [id for id, run_id in found if run_id is None]:
        await inbox_rows.delete_items(tx, waiting)


async def delete_thread(tx: Transaction, id: str, limit: int) -> int:
    """Some of its runs; with the last of them the thread itself, and then 0. Its driver is fenced off."""
    await leases.lock(tx, id)
    run_ids = await run_rows.select_of_thread(tx, id, limit)
    if run_ids:
        await forget(tx, run_ids)
        await run_rows.delete_runs(tx, run_ids)
    if len(run_ids) == limit:
        return limit
    await inbox_rows.delete_of_thread(tx, id)
    await leases.delete_lease(tx, id)
    await budget_rows.drop_hold(tx, id)
    await thread_rows.delete_thread(tx, id)
    return 0
