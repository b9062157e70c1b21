"""Look at runs and cancel one. Who may depends on the space a run is in, which `runs/` must not know how to change."""

from __future__ import annotations

from bullpen.access import rules as access
from bullpen.access.rules import Action
from bullpen.access.types import Principal, Thing
from bullpen.errors import NotFound
from bullpen.runs import actions, rows
from bullpen.runs.types import Run
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction


async def get(tx: Transaction, caller: Principal, id: str, action: Action = "see_run") -> Run:
    """The run, if the caller may do this with it. Unknown and hidden are deliberately the same."""
    run = await rows.select_run(tx, id)
    if run is None:
        raise NotFound(f"There is no run {id!r}, or it is not yours to see.")
    access.authorize(caller, action, await thing_of(tx, caller, run))
    return run


async def cancel(tx: Transaction, caller: Principal, id: str) -> Run:
    """Ask for it to stop. It ends at the next safe place."""
    run = await actions.request_cancel(tx, await get(tx, caller, id, "cancel_run"))
    actions.interrupt(tx, [id])
    return run


async def thing_of(tx: Transaction, caller: Principal, run: Run) -> Thing:
    """Those who may read the space see the runs in it; those in no space are for owners and the agent itself."""
    readable = await spaces.readable(tx, caller, [] if run.space_id is None else [run.space_id])
    return Thing(
        "run", run.id, holder=run.agent_id, member=run.space_id in readable, people=0 if run.space_id is None else 1
    )
