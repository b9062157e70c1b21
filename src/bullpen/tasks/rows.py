"""SQL for tasks and for their firings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import BigInteger, Text, bindparam, delete, func, literal_column, or_, select, update

from bullpen.access import rules as access
from bullpen.clock import Clock
from bullpen.ids import Whose
from bullpen.inbox.rows import cause_in
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, JSON, MILLIS, TUPLE_OR_NULL, Mapped
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import inbox_items, runs, task_firings, tasks, threads
from bullpen.tasks import times
from bullpen.tasks.types import Ended, Firing, Schedule, Task
from bullpen.wire import nouns
from bullpen.wire.nouns import TaskStatus

_SCHEDULE = Mapped(Schedule, tasks, others={"type": tasks.c.schedule_type, "value": tasks.c.schedule_value})
_TASKS = Mapped(
    Task, tasks, schedule=_SCHEDULE, cause=cause_in(tasks), precheck=JSON, member=FLAG, outside=TUPLE_OR_NULL
)
_INSERT = insert_or_ignore(tasks)
_SELECT = Statement(select(*_TASKS.columns).where(tasks.c.id == bindparam("id")))
_SELECT_THESE = Statement(select(*_TASKS.columns).where(any_of(tasks.c.id, "ids")).order_by(tasks.c.id))
_PAGE = (
    select(*_TASKS.columns)
    .where(
        tasks.c.id < bindparam("before"),
        any_of(tasks.c.status, "statuses"),
        or_(bindparam("agent_id", type_=Text).is_(None), tasks.c.agent_id == bindparam("agent_id", type_=Text)),
    )
    .order_by(tasks.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_OF_SPACE = Statement(_PAGE.where(tasks.c.space_id == bindparam("space_id")))
_SELECT_OF_SPACES = Statement(_PAGE.where(any_of(tasks.c.space_id, "space_ids")))
_SELECT_OF_CAUSE = Statement(
    select(*_TASKS.columns).where(tasks.c.cause_id == bindparam("cause_id")).order_by(tasks.c.id)
)
_COUNT = Statement(
    select(func.count()).where(
        tasks.c.space_id == bindparam("space_id"), tasks.c.status != literal_column("'completed'")
    )
)
_write_changes = _TASKS.writer([name for name in _TASKS.names if name != "id"])
_UPDATE = Statement(
    update(tasks)
    .where(tasks.c.id == bindparam("id_"))
    .values(**{column.name: bindparam(column.name) for column in _TASKS.columns if column.name != "id"})
)
_DELETE = Statement(delete(tasks).where(tasks.c.id == bindparam("id_")))
_DELETE_FIRINGS = Statement(delete(task_firings).where(task_firings.c.task_id == bindparam("id_")))
# The one question of every sweep: answered by the index on what is scheduled, in the order in which it is due.
_SELECT_DUE = Statement(
    select(tasks.c.id)
    .where(tasks.c.next_at <= bindparam("now"))
    .order_by(tasks.c.next_at, tasks.c.id)
    .limit(bindparam("limit"))
)
_SELECT_NEXT = Statement(select(func.min(tasks.c.next_at)).where(tasks.c.next_at.is_not(None)))
# Times that were computed by a clock that is ahead of ours: whatever changes `next_at` says when it did.
_SELECT_AHEAD = Statement(
    select(tasks.c.id)
    .where(tasks.c.next_at > bindparam("now"), tasks.c.updated_at > bindparam("at"), tasks.c.id > bindparam("after"))
    .order_by(tasks.c.id)
    .limit(bindparam("limit"))
)
_SELECT_WHOSE = Statement(
    select(tasks.c.id).where(
        or_(
            tasks.c.space_id == bindparam("space_id"),
            tasks.c.agent_id == bindparam("member_id"),
            tasks.c.cause_id == bindparam("member_id"),
            tasks.c.created_by == bindparam("member_id"),
        )
    )
)
_SELECT_TROUBLED = Statement(
    select(tasks.c.id, tasks.c.reason)
    .where(tasks.c.status == "paused", tasks.c.reason.is_not(None))
    .order_by(tasks.c.id)
    .limit(bindparam("limit"))
)


def on_the_wire(task: Task, firing: Firing | None = None) -> nouns.Task:
    upcoming = times.upcoming(task.schedule, task.next_at)
    return nouns.Task(
        id=task.id,
        space_id=task.space_id,
        agent_id=task.agent_id,
        prompt=task.prompt,
        schedule_type=task.schedule.type,
        schedule_value=task.schedule.value,
        timezone=task.schedule.timezone,
        context_mode=task.context_mode,
        missed=task.missed,
        precheck=None if task.precheck is None else nouns.Precheck(**task.precheck),
        may_schedule="schedule" in access.parsed(task.cause.grants),
        status=task.status,
        reason=task.reason,
        next_run=None if task.next_at is None else Clock.at(task.next_at),
        next_runs=[Clock.at(at) for at in upcoming],
        last_run=task.last_run,
        failures=task.failures,
        on_behalf_of=task.cause.id,
        created_by=task.created_by,
        created_at=task.created_at,
        updated_at=task.updated_at,
        firing=None if firing is None else firing_on_the_wire(firing),
    )


async def insert_task(tx: Transaction, task: Task) -> bool:
    return await tx.run(_INSERT, **_TASKS.write(task)) > 0


async def update_task(tx: Transaction, task: Task) -> None:
    await tx.run(_UPDATE, id_=task.id, **_write_changes(task))


async def delete_task(tx: Transaction, id: str) -> None:
    await tx.run(_DELETE_FIRINGS, id_=id)
    await tx.run(_DELETE, id_=id)


async def select_whose(tx: Transaction, whose: Whose) -> list[str]:
    """Those of a space or an agent, and those that somebody made or that work for them."""
    return await tx.values(_SELECT_WHOSE, member_id=whose.member, space_id=whose.space)


async def select_task(tx: Transaction, id: str) -> Task | None:
    return _TASKS.read_one(await tx.one(_SELECT, id=id))


async def select_these(tx: Transaction, ids: Sequence[str]) -> list[Task]:
    return _TASKS.read_all(await tx.all(_SELECT_THESE, ids=list(ids)))


async def select_of_cause(tx: Transaction, cause_id: str) -> list[Task]:
    return _TASKS.read_all(await tx.all(_SELECT_OF_CAUSE, cause_id=cause_id))


async def select_tasks(
    tx: Transaction,
    *,
    space_ids: Sequence[str],
    statuses: Sequence[TaskStatus],
    agent_id: str | None = None,
    before: str = "\U0010ffff",
    limit: int,
) -> list[Task]:
    """Newest first. Of one space it is one look at an index."""
    where = {"statuses": list(statuses), "agent_id": agent_id, "before": before, "limit": limit}
    if len(space_ids) == 1:
        found = await tx.all(_SELECT_OF_SPACE, space_id=space_ids[0], **where)
    else:
        found = await tx.all(_SELECT_OF_SPACES, space_ids=list(space_ids), **where)
    return _TASKS.read_all(found)


async def count_tasks(tx: Transaction, space_id: str) -> int:
    return int(await tx.value(_COUNT, space_id=space_id))


async def select_due(tx: Transaction, now: int, limit: int) -> list[str]:
    return await tx.values(_SELECT_DUE, now=now, limit=limit)


async def select_next(tx: Transaction) -> int | None:
    """When the next task is due, of all there are."""
    next_at: int | None = await tx.value(_SELECT_NEXT)
    return next_at


async def select_ahead(tx: Transaction, now: int, after: str, limit: int) -> list[str]:
    """Tasks to come that were changed later than now, so by a clock that was ahead."""
    return await tx.values(_SELECT_AHEAD, now=now, at=Clock.at(now), after=after, limit=limit)


async def select_troubled(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """Tasks that the office has paused by itself, and why."""
    return [(id, reason) for id, reason in await tx.all(_SELECT_TROUBLED, limit=limit)]


# ── firings ─────────────────────────────────────────────────────────────────────────────────────────────────────────

AGENT_GONE = "Its agent was deleted before this had begun."
_FIRINGS = Mapped(Firing, task_firings, manual=FLAG)
# As it is shown: with what has become of its run.
_SHOWN = Mapped(
    nouns.Firing,
    task_firings,
    others={"run_status": runs.c.status, "outcome": runs.c.outcome, "error": runs.c.error},
    nominal_at=MILLIS,
    manual=FLAG,
)
_ENDED = Mapped(
    Ended,
    task_firings,
    others={"run_status": runs.c.status, "stop_reason": runs.c.stop_reason, "error": runs.c.error},
)
_INSERT_FIRING = insert_or_ignore(task_firings)
_OF_FIRING = (
    task_firings.c.task_id == bindparam("task_id_"),
    task_firings.c.nominal_at == bindparam("nominal_at_", type_=BigInteger),
)
_SET_RUN = Statement(update(task_firings).where(*_OF_FIRING).values(run_id=bindparam("run_id_")))
_SET_ENDED = Statement(update(task_firings).where(*_OF_FIRING).values(ended_at=bindparam("now")))
_PAGE_OF_FIRINGS = Statement(
    select(*_SHOWN.columns)
    .select_from(task_firings.outerjoin(runs, runs.c.id == task_firings.c.run_id))
    .where(
        task_firings.c.task_id == bindparam("task_id"),
        task_firings.c.nominal_at < bindparam("before", type_=BigInteger),
    )
    .order_by(task_firings.c.nominal_at.desc())
    .limit(bindparam("limit"))
)
# Written out, not bound: only then is it seen to be the condition of the index on what has not ended.
_UNENDED = (task_firings.c.status == literal_column("'fired'"), task_firings.c.ended_at.is_(None))
_WAITING = task_firings.join(inbox_items, inbox_items.c.id == task_firings.c.item_id)
_SELECT_WAITING = Statement(
    select(task_firings.c.nominal_at, inbox_items.c.id)
    .select_from(_WAITING)
    .where(task_firings.c.task_id == bindparam("task_id"), *_UNENDED, inbox_items.c.claimed_by.is_(None))
    .order_by(task_firings.c.nominal_at)
)
_SELECT_WAITING_OF = Statement(
    select(task_firings.c.task_id, task_firings.c.nominal_at, inbox_items.c.id)
    .select_from(_WAITING.join(threads, threads.c.id == inbox_items.c.thread_id))
    .where(threads.c.agent_id == bindparam("agent_id"), *_UNENDED, inbox_items.c.claimed_by.is_(None))
    .order_by(task_firings.c.task_id, task_firings.c.nominal_at)
)
_DROP_ITEM = Statement(
    delete(inbox_items).where(inbox_items.c.id == bindparam("id_"), inbox_items.c.claimed_by.is_(None))
)
_SET_DROPPED = Statement(
    update(task_firings)
    .where(*_OF_FIRING)
    .values(status="dropped", reason=bindparam("reason"), ended_at=bindparam("now"))
)
_SELECT_ENDED = Statement(
    select(*_ENDED.columns)
    .select_from(task_firings.join(runs, runs.c.id == task_firings.c.run_id))
    .where(*_UNENDED, runs.c.finished_at.is_not(None))
    .order_by(task_firings.c.task_id, task_firings.c.nominal_at)
    .limit(bindparam("limit"))
)
_SELECT_OVER = Statement(
    select(tasks.c.id)
    .where(tasks.c.status == "completed", tasks.c.updated_at < bindparam("before"))
    .order_by(tasks.c.id)
    .limit(bindparam("limit"))
)
_SELECT_OLD = Statement(
    select(task_firings.c.task_id, task_firings.c.nominal_at)
    .where(
        task_firings.c.fired_at < bindparam("before"),
        or_(task_firings.c.status != "fired", task_firings.c.ended_at.is_not(None)),
    )
    .limit(bindparam("limit"))
)
_DELETE_FIRING = Statement(delete(task_firings).where(*_OF_FIRING))


async def insert_firing(tx: Transaction, firing: Firing) -> bool:
    """False: it is there already. Whatever else went wrong, nothing fires twice."""
    return await tx.run(_INSERT_FIRING, **_FIRINGS.write(firing), ended_at=None) > 0


async def update_run(tx: Transaction, task_id: str, nominal_at: int, run_id: str) -> None:
    """Which run a firing became."""
    await tx.run(_SET_RUN, task_id_=task_id, nominal_at_=nominal_at, run_id_=run_id)


async def update_ended(tx: Transaction, task_id: str, nominal_at: int) -> None:
    await tx.run(_SET_ENDED, task_id_=task_id, nominal_at_=nominal_at, now=tx.clock.now())


async def is_waiting(tx: Transaction, task_id: str) -> bool:
    """Has an earlier firing not even begun?"""
    return await tx.one(_SELECT_WAITING, task_id=task_id) is not None


async def drop_waiting(tx: Transaction, task_id: str, reason: str | None = None) -> None:
    """What was fired and has not begun does not begin any more."""
    for nominal_at, item_id in await tx.all(_SELECT_WAITING, task_id=task_id):
        await _drop(tx, task_id, nominal_at, item_id, reason)


async def drop_waiting_of(tx: Transaction, agent_id: str) -> None:
    """The agent is gone: what was fired for it and has not begun never will."""
    for task_id, nominal_at, item_id in await tx.all(_SELECT_WAITING_OF, agent_id=agent_id):
        await _drop(tx, task_id, nominal_at, item_id, AGENT_GONE)


async def _drop(tx: Transaction, task_id: str, nominal_at: int, item_id: str, reason: str | None) -> None:
    if await tx.run(_DROP_ITEM, id_=item_id):
        await tx.run(_SET_DROPPED, task_id_=task_id, nominal_at_=nominal_at, reason=reason, now=tx.clock.now())


async def select_ended(tx: Transaction, limit: int) -> list[Ended]:
    return _ENDED.read_all(await tx.all(_SELECT_ENDED, limit=limit))


async def select_firings(tx: Transaction, task_id: str, *, before: int, limit: int) -> list[nouns.Firing]:
    """Newest first."""
    return _SHOWN.read_all(await tx.all(_PAGE_OF_FIRINGS, task_id=task_id, before=before, limit=limit))


def firing_on_the_wire(firing: Firing) -> nouns.Firing:
    return nouns.Firing(
        task_id=firing.task_id,
        nominal_at=Clock.at(firing.nominal_at),
        fired_at=firing.fired_at,
        status=firing.status,
        reason=firing.reason,
        missed=firing.missed,
        manual=firing.manual,
        run_id=firing.run_id,
    )


async def select_over(tx: Transaction, before: str, limit: int) -> list[str]:
    """Tasks that are over, and have been since before then."""
    return await tx.values(_SELECT_OVER, before=before, limit=limit)


async def delete_old_firings(tx: Transaction, before: str, limit: int) -> int:
    found = await tx.all(_SELECT_OLD, before=before, limit=limit)
    for task_id, nominal_at in found:
        await tx.run(_DELETE_FIRING, task_id_=task_id, nominal_at_=nominal_at)
    return len(found)


def millis_of(nominal_at: str) -> int:
    """The place of a firing among those of its task, from what people read."""
    return round(datetime.fromisoformat(nominal_at).timestamp() * 1000)
