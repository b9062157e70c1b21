"""Set a budget and take it back: for an agent, a space, a person, a task or the office, which must be there.

What a budget had stopped goes on, if it may, when the budget is another one or gone.
"""

from __future__ import annotations

from bullpen.access import actions as people
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.budgets import actions
from bullpen.errors import Invalid, NotFound
from bullpen.runs import holds
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.tasks import rows as task_rows
from bullpen.wire.nouns import Budget
from bullpen.wire.requests import PutBudget


async def put(tx: Transaction, caller: Principal, request: PutBudget) -> Budget:
    """Instead of the one for the same period and unit."""
    access.authorize(caller, access.BUDGET_ACTIONS[request.kind])
    subject_id = await _find_subject(tx, caller, request)
    made = await actions.put(
        tx,
        caller,
        kind=request.kind,
        subject_id=subject_id,
        period=request.period,
        unit=request.unit,
        amount=request.amount,
    )
    await holds.release_budgets(tx, [made.id])
    return actions.on_the_wire(made)


async def delete(tx: Transaction, caller: Principal, id: str) -> None:
    access.authorize(caller, "set_budget")
    access.authorize(caller, access.BUDGET_ACTIONS[(await actions.get(tx, id)).kind])
    await actions.delete(tx, caller, id)
    await holds.release_budgets(tx, [id])


async def _find_subject(tx: Transaction, caller: Principal, request: PutBudget) -> str:
    """A budget for a misspelt name would limit nobody."""
    if request.kind == "office":
        if request.subject_id:
            raise Invalid("The office has no id. Leave subjectId out.", fields={"subjectId": "must be left out"})
        return ""
    if not request.subject_id:
        raise Invalid("Say whose budget it is.", fields={"subjectId": "is needed"})
    if request.kind == "agent":
        return (await agents.get(tx, request.subject_id)).id
    if request.kind == "space":
        return (await spaces.room_for(tx, caller, "see_space", request.subject_id)).id
    if request.kind == "person":
        return (await people.get_person(tx, request.subject_id)).id
    return await _find_task(tx, caller, request.subject_id)


async def _find_task(tx: Transaction, caller: Principal, id: str) -> str:
    """Who knows of its space may say what it may spend; they need not see what it does."""
    task = await task_rows.select_task(tx, id)
    room, thing = (None, None) if task is None else await spaces.standing(tx, caller, task.space_id)
    if room is None or thing is None or not access.allows(caller, "see_space", thing):
        raise NotFound(f"There is no task {id!r}, or it is not yours to see.")
    return id
