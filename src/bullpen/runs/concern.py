"""Whose secrets are masked in what a run reads and says (docs/decisions/0027-whose-secrets-are-masked.md).

The office's always; those of its thread and the threads above, its agent, its space and the people who woke it; and the
same of the runs whose text it is shown. What only an owner without secrets would add is not even asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bullpen.inbox import rows as inbox_rows
from bullpen.observe.redact import REDACTOR, Concern, owner
from bullpen.runs import rows
from bullpen.runs.types import Concerned, Run
from bullpen.storage import Transaction
from bullpen.tools.registry import listed_by
from bullpen.variables import rows as variable_rows
from bullpen.wire import Agent


def of_row(run: Run | Concerned) -> Concern:
    """As far as the run's own row tells."""
    return of(run.thread_id, run.agent_id, [run.space_id], [(run.cause_kind, run.cause_id)])


def of(thread_id: str, agent_id: str, space_ids: Iterable[str | None], causes: Iterable[tuple[str, str]]) -> Concern:
    spaces = {id for id in space_ids if id is not None}
    people = {id for kind, id in causes if kind == "person"}
    owners = {owner("thread", thread_id), owner("agent", agent_id)}
    owners |= {owner("space", id) for id in spaces} | {owner("person", id) for id in people}
    return Concern(owners, {agent_id, *spaces, *people})


async def add_line(tx: Transaction, concern: Concern, thread_id: str) -> None:
    """What a thread was given flows down to those below it."""
    if REDACTOR.owns("thread"):
        concern.owners |= {owner("thread", id) for id in await variable_rows.select_line(tx, thread_id)}


async def load(tx: Transaction, concern: Concern, run: Run, agent: Agent | None, space_id: str | None) -> None:
    """What more there is to know of a run that is driven."""
    if space_id is not None:
        concern.owners.add(owner("space", space_id))
        concern.kept.add(space_id)
    if agent is not None:
        concern.kept |= set(listed_by(agent))
    await add_line(tx, concern, run.thread_id)
    if REDACTOR.owns("person") and run.trigger.get("items", 1) != 1:
        concern.owners |= {owner("person", id) for id in await inbox_rows.select_people(tx, run.id)}


async def add_shown(tx: Transaction, concern: Concern, run_ids: Collection[str]) -> None:
    """The runs whose words are shown: in the space, in summaries and in journals."""
    if not run_ids or not any(map(REDACTOR.owns, ("person", "thread", "space"))):
        return
    for each in await rows.select_concerned(tx, sorted(run_ids)):
        concern.owners |= of_row(each).owners
