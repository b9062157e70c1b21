"""Look at runs, stop one, and have one done once more. Who may depends on the space a run is in, which `runs/` must not
know how to change.

A retry tells the thread once more what the run was told, as its messages are by now, on behalf of the same cause and
with no more than the cause holds now and whoever asks holds too. Its id is known before it begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal, Thing
from bullpen.agents import rows as agent_rows
from bullpen.errors import Conflict, NotFound, RunAlreadyFinished
from bullpen.events.actions import in_turn
from bullpen.inbox import actions as inbox
from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import RETRY, Cause, Item
from bullpen.replacing import replace
from bullpen.runs import actions, rows, steps
from bullpen.runs.types import Run
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.threads import rows as thread_rows
from bullpen.wire.nouns import PromptBlock


async def get(tx: Transaction, caller: Principal, id: str, action: Action = "see_run") -> Run:
    """The run, if the caller may do this with it. Unknown and hidden are deliberately the same."""
    run = await rows.select_run(tx, id) or await _find_promised(tx, id)
    if run is None:
        raise NotFound(f"There is no run {id!r}, or it is not yours to see.")
    access.authorize(caller, action, await thing_of(tx, caller, run))
    return run


async def cancel(tx: Transaction, caller: Principal, id: str) -> Run:
    """Ask for it to stop. It ends at the next safe place; the people of its space are told who stopped it."""
    seen = await get(tx, caller, id, "cancel_run")
    await in_turn(tx, seen.space_id or seen.agent_id)
    if seen.status == "queued" and await _take_back(tx, seen):
        return replace(seen, status="cancelled", stop_reason="cancelled", stopped_by=caller.id)
    asked_before = await rows.is_cancel_requested(tx, id)
    run = await actions.request_cancel(tx, seen, caller.id)
    actions.interrupt(tx, [id])
    if run.space_id is not None and not asked_before:
        names = await agent_rows.select_names(tx, [run.agent_id])
        await spaces.announce(tx, run.space_id, f"{caller.name} stopped {names.get(run.agent_id, run.agent_id)}.")
    return run


async def thing_of(tx: Transaction, caller: Principal, run: Run) -> Thing:
    """Those who may read the space see the runs in it; those in no space are for owners and the agent itself."""
    readable = await spaces.readable(tx, caller, [] if run.space_id is None else [run.space_id])
    return Thing(
        "run",
        run.id,
        holder=run.agent_id,
        causer=run.cause_id if run.cause_kind == "person" else None,
        member=run.space_id in readable,
        people=0 if run.space_id is None else 1,
    )


async def read_blocks(tx: Transaction, caller: Principal, run: Run) -> list[PromptBlock] | None:
    """The blocks of memory that it was shown. None: there were none, or that is not the caller's to know, or nobody
    knows it any more."""
    if not access.allows(caller, "see_inside_run", await thing_of(tx, caller, run)):
        return None
    entries = await rows.select_entry_page(tx, run.id, after=-1, limit=1)
    return (steps.read_blocks(entries[0]) or None) if entries else None


# ── once more ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def retry(tx: Transaction, caller: Principal, id: str, client_retry_id: str | None) -> tuple[Run, bool]:
    """Have a run done once more, and whether this made that so. While a retry of it is to come or under way, asking
    again finds that one; so does asking again with the same `client_retry_id`, whenever."""
    run = await get(tx, caller, id, "retry_run")
    await in_turn(tx, f"retry {id}")
    run = await rows.select_run(tx, id) or run
    key = f"{id}:{caller.id}:{client_retry_id}"
    if (there := await _find_retry(tx, run, None if client_retry_id is None else key)) is not None:
        return there, False
    if run.finished_at is None:
        raise Conflict(f"Run {id} is not over yet. Stop it first, or wait for it.", fields={"id": "is under way"})
    if await agent_rows.select_definition(tx, run.agent_id) is None:
        raise Conflict("Its agent was deleted.", fields={"id": "has no agent"})
    if run.space_id is not None and (room := await space_rows.select_room(tx, run.space_id)) is not None:
        spaces.refuse_archived(room)
    items = await _tell_again(tx, caller, run)
    await inbox.deliver_retry(tx, items, key if client_retry_id is not None else items[0].id)
    return _promised(run, items[0]), True


async def _find_retry(tx: Transaction, run: Run, key: str | None) -> Run | None:
    if key is not None:
        item = await inbox_rows.select_by_key(tx, run.thread_id, f"retry:{key}:0")
        if item is not None and item.retry is not None:
            return await rows.select_run(tx, item.retry["id"]) or _promised(run, item)
    for item in await inbox_rows.select_unclaimed(tx, run.thread_id, inbox.DRAIN):
        if item.retry is not None and item.retry["of"] == run.id:
            return _promised(run, item)
    under_way = await rows.select_under_way(tx, run.thread_id)
    return under_way if under_way is not None and under_way.retry_of == run.id else None


async def _tell_again(tx: Transaction, caller: Principal, run: Run) -> list[Item]:
    """What the run was told, for a run that is promised by it."""
    told = (await inbox_rows.select_claimed(tx, run.id))[-inbox.DRAIN :]
    if not told or await thread_rows.select_thread(tx, run.thread_id) is None:
        raise Conflict("What woke this run is not kept any more. Ask again in a message.", fields={"id": "is too old"})
    grants = frozenset.intersection(*(access.parsed(item.cause.grants) for item in told)) & caller.grants
    new_id = ids.run()
    mark = {"of": run.id, "id": new_id, "by": caller.id}
    again: list[Item] = []
    for item in told:
        payload = await spaces.tell_again(tx, item.payload) if item.kind == "message" else item.payload
        if payload is not None:
            id = ids.inbox_item() if again else ids.item_for(new_id)
            cause = Cause(item.cause.kind, item.cause.id, access.written(grants))
            again.append(replace(item, id=id, payload={**payload, RETRY: mark}, cause=cause, batch=None))
    if not again:
        raise Conflict("The message that woke this run was deleted.", fields={"id": "has no message any more"})
    return again


async def _find_promised(tx: Transaction, id: str) -> Run | None:
    """A retry that has not begun."""
    item = await inbox_rows.select_waiting_item(tx, ids.item_for(id))
    if item is None or item.retry is None or item.retry["id"] != id:
        return None
    run = await rows.select_run(tx, item.retry["of"])
    return None if run is None else _promised(run, item)


def _promised(run: Run, item: Item) -> Run:
    """As it is shown until it begins."""
    assert item.retry is not None
    return replace(
        run,
        id=item.retry["id"],
        retry_of=run.id,
        status="queued",
        outcome=None,
        stop_reason=None,
        silence_reason=None,
        stopped_by=None,
        error=None,
        message_ids=(),
        outside=(),
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
        cost=0.0,
        retry_at=None,
        paused_reason=None,
        started_at=item.created_at or run.started_at,
        finished_at=None,
    )


async def _take_back(tx: Transaction, run: Run) -> bool:
    """False: it has begun just now."""
    waiting: Sequence[Item] = await inbox_rows.select_unclaimed(tx, run.thread_id, inbox.DRAIN)
    theirs = [item.id for item in waiting if item.retry is not None and item.retry["id"] == run.id]
    if theirs and await inbox_rows.delete_waiting_items(tx, theirs):
        return True
    if await rows.select_run(tx, run.id) is None:
        raise RunAlreadyFinished(run.id)
    return False
