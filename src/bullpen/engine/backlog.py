"""How much waits to be done, over all processes: read from the rows, for metrics and for `bullpen doctor`.

Items of paused agents wait on purpose and are not counted. Nothing here changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, literal_column, select

from bullpen.storage import Statement, Transaction
from bullpen.storage.statements import now_millis
from bullpen.storage.tables import agents, inbox_items, leases, threads

# Written out, not bound: only then is it seen to be the condition of the index on threads that are not idle.
_NOT_IDLE = threads.c.state != literal_column("'idle'")
_COUNT = Statement(
    select(func.count(), func.count(leases.c.owner))
    .select_from(threads.join(leases, leases.c.thread_id == threads.c.id))
    .where(_NOT_IDLE)
)
_COUNT_STUCK = Statement(
    select(func.count())
    .select_from(threads.join(leases, leases.c.thread_id == threads.c.id))
    .where(
        _NOT_IDLE,
        leases.c.owner.is_not(None),
        leases.c.until < now_millis() - bindparam("millis", type_=leases.c.until.type),
    )
)
_OLDEST = Statement(
    select(func.count(), func.min(inbox_items.c.created_at))
    .select_from(
        inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id).join(
            agents, agents.c.id == threads.c.agent_id
        )
    )
    .where(
        inbox_items.c.claimed_by.is_(None),
        inbox_items.c.due_at <= bindparam("now"),
        agents.c.paused_at.is_(None),
        agents.c.deleted_at.is_(None),
    )
)


@dataclass(frozen=True, slots=True)
class Backlog:
    awake: int  # threads that have something to do
    driven: int  # those of them that somebody drives
    items: int  # due, and looked at by nobody yet
    oldest_seconds: float  # how long the oldest of them has waited

    @property
    def queued(self) -> int:
        return self.awake - self.driven


async def select_backlog(tx: Transaction) -> Backlog:
    awake, driven = await tx.one(_COUNT) or (0, 0)
    now = tx.clock.millis()
    items, oldest = await tx.one(_OLDEST, now=now) or (0, None)
    waited = 0.0 if oldest is None else now / 1000 - datetime.fromisoformat(oldest).timestamp()
    return Backlog(awake, driven, items, max(0.0, waited))


async def count_stuck(tx: Transaction, millis: int) -> int:
    """Threads whose driver has been silent for so long after its lease ran out that nobody can be driving them."""
    row = await tx.one(_COUNT_STUCK, millis=millis)
    return 0 if row is None else int(row[0])
