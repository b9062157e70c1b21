"""What somebody has done to stored rows, found when a run could not go on: named, and mended so far that it can end.

Nothing goes on from a row that was mended. A run that such rows belong to is ended, and says which they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, func, or_, select, update

from bullpen.inbox.rows import ITEMS
from bullpen.runs.rows import ENTRIES, RUNS
from bullpen.runs.rules import FINISHED
from bullpen.storage import Row, Statement, Transaction
from bullpen.storage.checked import Checked
from bullpen.storage.tables import inbox_items, leases, pending_calls, run_messages, runs, threads
from bullpen.threads.rows import THREADS
from bullpen.tools.rows import PENDING

TAMPERED = "Somebody has changed it in the database."
SET_ASIDE = "unreadable"  # in place of the run that claimed an item

_UNDER_WAY = select(runs.c.id).where(runs.c.thread_id == bindparam("id"), runs.c.finished_at.is_(None))
_SELECT_THREADS = Statement(select(*THREADS.columns).where(threads.c.id == bindparam("id")))
_SELECT_RUNS = Statement(select(*RUNS.columns).where(runs.c.thread_id == bindparam("id"), runs.c.finished_at.is_(None)))
_SELECT_ENTRIES = Statement(select(*ENTRIES.columns).where(run_messages.c.run_id.in_(_UNDER_WAY)))
_SELECT_PENDING = Statement(
    select(*PENDING.columns).where(
        pending_calls.c.thread_id == bindparam("id"),
        or_(pending_calls.c.run_id.in_(_UNDER_WAY), pending_calls.c.delivered_via.is_(None)),
    )
)
_OPEN = (inbox_items.c.thread_id == bindparam("id"), inbox_items.c.claimed_by.is_(None))
_SELECT_ITEMS = Statement(select(*ITEMS.columns).where(*_OPEN))
CHECKED: Sequence[Checked[Any]] = (RUNS, ENTRIES, THREADS, ITEMS, PENDING)
_PAGES = {
    each.table.name: Statement(
        select(*each.columns)
        .where(each.columns[0] > bindparam("after"))
        .order_by(each.columns[0])
        .limit(bindparam("limit"))
    )
    for each in CHECKED
}
_SELECT_BROKEN = Statement(
    select(runs.c.id)
    .where(runs.c.stop_reason == "broken", func.instr(runs.c.error, TAMPERED) > 0)
    .order_by(runs.c.id.desc())
    .limit(bindparam("limit")),
    postgresql=select(runs.c.id)
    .where(runs.c.stop_reason == "broken", func.strpos(runs.c.error, TAMPERED) > 0)
    .order_by(runs.c.id.desc())
    .limit(bindparam("limit")),
)
_SELECT_SET_ASIDE = Statement(
    select(inbox_items.c.id).where(inbox_items.c.claimed_by == SET_ASIDE).limit(bindparam("limit"))
)
_COUNT_RUNS = Statement(_UNDER_WAY)
_END_RUNS = Statement(
    update(runs)
    .where(runs.c.thread_id == bindparam("id_"), runs.c.finished_at.is_(None))
    .values(
        status="failed",
        stop_reason="broken",
        outcome=None,
        error=bindparam("error_"),
        finished_at=bindparam("at_"),
        summary=None,
        retry_at=None,
        mark=None,
        streamed=None,
        paused_reason=None,
    )
)
_CANCEL_CALLS = Statement(
    update(pending_calls)
    .where(pending_calls.c.run_id.in_(select(runs.c.id).where(runs.c.thread_id == bindparam("id_"))))
    .where(pending_calls.c.resolved_at.is_(None))
    .values(status="cancelled", resolved_at=bindparam("at_"))
)
_SET_ITEMS_ASIDE = Statement(
    update(inbox_items)
    .where(inbox_items.c.thread_id == bindparam("id_"), inbox_items.c.claimed_by.is_(None))
    .values(claimed_by=SET_ASIDE)
)
_REST = Statement(
    update(threads).where(threads.c.id == bindparam("id_")).values(state="idle", epoch=threads.c.epoch + 1)
)
_RELEASE = Statement(update(leases).where(leases.c.thread_id == bindparam("id_")).values(owner=None, until=0))


async def mend(tx: Transaction, thread_id: str) -> list[str]:
    """What cannot be read of a thread and of the run under way in it, in sentences. From here on it can be read."""
    told = [
        await THREADS.mend(tx, row, faults, **({"anchor": thread_id} if "scope" in faults else {}))
        for row in await tx.all(_SELECT_THREADS, id=thread_id)
        if (faults := THREADS.faults(row))
    ]
    for row in await tx.all(_SELECT_RUNS, id=thread_id):
        faults = [*RUNS.faults(row), *_misplaced(row)]
        told += [await RUNS.mend(tx, row, faults)] if faults else []
    told += await _mend_all(tx, ENTRIES, await tx.all(_SELECT_ENTRIES, id=thread_id))
    told += await _mend_all(tx, PENDING, await tx.all(_SELECT_PENDING, id=thread_id))
    return told + await _mend_all(tx, ITEMS, await tx.all(_SELECT_ITEMS, id=thread_id))


def _misplaced(row: Row) -> list[str]:
    """A run that is under way and says that it is over, or that it has yet to be begun."""
    status = row[RUNS.place_of("status")]
    return ["status"] if status in FINISHED or status == "queued" else []


async def _mend_all(tx: Transaction, checked: Checked[Any], rows: Sequence[Row]) -> list[str]:
    return [await checked.mend(tx, row, faults) for row in rows if (faults := checked.faults(row))]


async def find(tx: Transaction, checked: Checked[Any], after: str, limit: int) -> tuple[list[str], str | None]:
    """The next rows of a table of which something cannot be read, and where to go on. None: that was all."""
    rows = await tx.all(_PAGES[checked.table.name], after=after, limit=limit)
    told = [checked.describe(row, faults) for row in rows if (faults := checked.faults(row))]
    return told, checked.key(rows[-1]) if len(rows) == limit else None


async def select_broken(tx: Transaction, limit: int) -> list[str]:
    """The newest runs that were ended because somebody had changed their rows, and what waited for a run that could
    not even begin."""
    runs_, items = await tx.values(_SELECT_BROKEN, limit=limit), await tx.values(_SELECT_SET_ASIDE, limit=limit)
    return [f"run {id}" for id in runs_] + [f"inbox item {id}" for id in items]


async def break_off(tx: Transaction, thread_id: str, why: str) -> None:
    """End what a thread does without reading it: nothing else has helped. What it was to do next is left for the next
    drive; if there was no run to end, it is that which cannot be read, and it is set aside."""
    now = tx.clock.now()
    was_under_way = bool(await tx.values(_COUNT_RUNS, id=thread_id))
    await tx.run(_CANCEL_CALLS, id_=thread_id, at_=now)
    await tx.run(_END_RUNS, id_=thread_id, error_=why, at_=now)
    if not was_under_way:
        await tx.run(_SET_ITEMS_ASIDE, id_=thread_id)
        await tx.run(_REST, id_=thread_id)
    await tx.run(_RELEASE, id_=thread_id)
