"""How much waits to be done, over all processes: read from the rows, for metrics and for `bullpen doctor`.

Items of paused agents wait on purpose and are not counted. Nothing here changes anything.

A run is stalled if it should be moving and is not: nobody has driven it for two leases, or somebody holds it and it has
written nothing for longer than a model or a tool may take. A live lease alone proves nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, bindparam, func, literal_column, select

from bullpen.storage import Statement, Transaction
from bullpen.storage.mapped import Mapped
from bullpen.storage.paused import held_back
from bullpen.storage.statements import now_millis
from bullpen.storage.tables import agents, inbox_items, leases, run_messages, runs, threads, tools

# No step is thought to take less than this may, whatever the limits are.
LONG_STEP_SECONDS = 600.0

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


# The tools that a run has called. Those that we ship take less than a step.
_SELECT_CALLED = Statement(
    select(tools.c.definition).where(
        tools.c.name.in_(select(run_messages.c.tool_name).where(run_messages.c.run_id == bindparam("run_id")))
    )
)


@dataclass(frozen=True, slots=True)
class Quiet:
    """A run under way that has not been heard of for a while."""

    run_id: str
    agent_id: str
    owner: str | None
    until: int
    since: int
    queued_at: int
    wrote_at: str
    definition: str  # of its agent
    now: int  # by the database's clock


# Under other names: what `held_back` asks of runs and agents is another question.
_run, _agent = runs.alias("under_way"), agents.alias("its_agent")
_wrote_at = func.coalesce(run_messages.c.at, _run.c.started_at)
_QUIET = Mapped(
    Quiet,
    leases,
    others={
        "run_id": _run.c.id,
        "agent_id": _run.c.agent_id,
        "queued_at": threads.c.queued_at,
        "wrote_at": _wrote_at,
        "definition": _agent.c.definition,
        "now": now_millis(),
    },
)
# Runs under way whose newest entry, waking and driver are all older than so many milliseconds.
_SELECT_QUIET = Statement(
    select(*_QUIET.columns)
    .select_from(
        threads.join(leases, leases.c.thread_id == threads.c.id)
        .join(_run, and_(_run.c.thread_id == threads.c.id, _run.c.finished_at.is_(None)))
        .join(_agent, _agent.c.id == threads.c.agent_id)
        .outerjoin(
            run_messages, and_(run_messages.c.run_id == _run.c.id, run_messages.c.position == _run.c.position - 1)
        )
    )
    .where(
        _NOT_IDLE,
        threads.c.state == literal_column("'queued'"),
        threads.c.queued_at < now_millis() - bindparam("millis", type_=leases.c.until.type),
        leases.c.since < now_millis() - bindparam("millis", type_=leases.c.until.type),
        _wrote_at < bindparam("before"),
        ~held_back,
    )
    .order_by(_run.c.id)
)


@dataclass(frozen=True, slots=True)
class Stalled:
    """A run that should be moving and is not."""

    run_id: str
    agent_id: str
    owner: str | None  # the process that holds it, if any does
    seconds: float  # since anything was heard of it


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
    return int(await tx.value(_COUNT_STUCK, millis=millis))


async def select_stalled(tx: Transaction, lease_seconds: float) -> list[Stalled]:
    patience = int(lease_seconds * 2000)
    before = tx.clock.at(tx.clock.millis() - patience)
    found = []
    for run in _QUIET.read_all(await tx.all(_SELECT_QUIET, millis=patience, before=before)):
        # One process owns a SQLite file and does not renew its leases: there a holder is a driver.
        driven = run.owner is not None and (run.until > run.now or not tx.store.shared)
        heard = max(run.since, run.queued_at, int(datetime.fromisoformat(run.wrote_at).timestamp() * 1000))
        quiet = (run.now - heard) / 1000
        allowed = patience / 1000 + (await _longest_step(tx, run) if driven else 0)
        if quiet > allowed:
            found.append(Stalled(run.run_id, run.agent_id, run.owner if driven else None, quiet))
    return found


async def _longest_step(tx: Transaction, run: Quiet) -> float:
    """How long the run may be silent: its model may think until its time is up, its tools take what they may."""
    thinking = float(json.loads(run.definition).get("limits", {}).get("max_seconds", 0))
    called = await tx.values(_SELECT_CALLED, run_id=run.run_id)
    timeouts = [float(json.loads(definition).get("timeout", 0)) / 1000 for definition in called]
    return max(thinking, LONG_STEP_SECONDS, *timeouts)
