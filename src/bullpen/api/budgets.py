"""Budgets: how much may be spent in a day or a month, by whom, and how far that is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import actions as people
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office
from bullpen.api.pages import Page, answer
from bullpen.budgets import actions, rows
from bullpen.errors import Invalid, NotFound
from bullpen.runs import holds
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.tasks import rows as tasks
from bullpen.wire.nouns import Budget, BudgetKind
from bullpen.wire.requests import PutBudget

router = APIRouter(prefix="/budgets", route_class=CappedRoute, tags=["budgets"])

Kind = Annotated[BudgetKind | None, Query(description="Only those of agents, spaces, people, tasks, or the office.")]
SubjectId = Annotated[str | None, Query(alias="subjectId", max_length=200, description="Only those of this one.")]


@router.get("", response_model=Page[Budget])
async def list_budgets(caller: Caller, office: Office, kind: Kind = None, subject_id: SubjectId = None) -> Response:
    """All of them, with what was spent of each until now; also those that stand in agents' definitions."""
    access.authorize(caller, "see_usage")
    found = [actions.on_the_wire(each) for each in await office.store.read(rows.select_standings)]
    wanted = [each for each in found if kind in (None, each.kind) and subject_id in (None, each.subject_id)]
    return answer({"items": wanted})


@router.put("", response_model=Budget)
async def put_budget(request: PutBudget, caller: Caller, office: Office) -> Response:
    """Set a budget, instead of the one for the same period and unit. What that had stopped goes on, if it may."""
    access.authorize(caller, access.BUDGET_ACTIONS[request.kind])

    async def body(tx: Transaction) -> Budget:
        subject_id = await _subject(tx, request, caller)
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

    return answer(await office.store.transact(body))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_budget(id: str, caller: Caller, office: Office) -> Response:
    """Take it back: what it had stopped goes on."""
    access.authorize(caller, "set_budget")

    async def body(tx: Transaction) -> None:
        access.authorize(caller, access.BUDGET_ACTIONS[(await actions.get(tx, id)).kind])
        await actions.delete(tx, caller, id)
        await holds.release_budgets(tx, [id])

    await office.store.transact(body)
    return Response(status_code=204)


async def _subject(tx: Transaction, request: PutBudget, caller: Principal) -> str:
    """Whom it is for, who must be there: a budget for a misspelt name would limit nobody."""
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
    return await _task(tx, caller, request.subject_id)


async def _task(tx: Transaction, caller: Principal, id: str) -> str:
    """What it may spend is for whoever knows of its space; what it does need not be."""
    task = await tasks.select_task(tx, id)
    room, thing = (None, None) if task is None else await spaces.standing(tx, caller, task.space_id)
    if room is None or thing is None or not access.allows(caller, "see_space", thing):
        raise NotFound(f"There is no task {id!r}, or it is not yours to see.")
    return id
