"""When an agent is paused, as a condition: every statement that asks must ask alike.

An agent is paused by itself (`agents.paused_at`), or because all are (a row of `meta`): agents that are made later are
paused then, too, and letting all go on leaves those paused that were paused singly. Who may pause, and what follows
from it, is said elsewhere.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, and_, exists, not_, or_

from bullpen.storage.tables import agents, holds, meta, runs, threads

ALL_PAUSED_KEY: Final = "agents_paused"

all_paused: ColumnElement[bool] = exists().where(meta.c.key == ALL_PAUSED_KEY)


def is_paused(agent_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """A deleted agent is not: what it left behind has to be tidied away."""
    return exists().where(
        agents.c.id == agent_id, agents.c.deleted_at.is_(None), or_(agents.c.paused_at.is_not(None), all_paused)
    )


# A budget is used up, and the run in the thread is put aside until it is not.
is_held: ColumnElement[bool] = exists().where(holds.c.thread_id == threads.c.id)

# Nobody may drive the thread now. A run that somebody wants to end is let through: it will not think nor act again.
held_back: ColumnElement[bool] = and_(
    or_(is_paused(threads.c.agent_id), is_held),
    not_(exists().where(runs.c.thread_id == threads.c.id, runs.c.finished_at.is_(None), runs.c.cancel_requested == 1)),
)
