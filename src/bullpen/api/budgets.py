"""Budgets: how much may be spent in a day or a month, by whom, and how far that is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Store
from bullpen.api.pages import Page, answer
from bullpen.budgets import actions, rows
from bullpen.operations import budgets
from bullpen.wire.nouns import Budget, BudgetKind
from bullpen.wire.requests import PutBudget

router = APIRouter(prefix="/budgets", route_class=CappedRoute, tags=["budgets"])

Kind = Annotated[BudgetKind | None, Query(description="Only those of agents, spaces, people, tasks, or the office.")]
SubjectId = Annotated[str | None, Query(alias="subjectId", max_length=200, description="Only those of this one.")]


@router.get("", response_model=Page[Budget])
async def list_budgets(caller: Caller, store: Store, kind: Kind = None, subject_id: SubjectId = None) -> Response:
    """All of them, with what was spent of each until now; also those that stand in agents' definitions."""
    access.authorize(caller, "see_usage")
    found = [actions.on_the_wire(each) for each in await store.read(rows.select_standings)]
    wanted = [each for each in found if kind in (None, each.kind) and subject_id in (None, each.subject_id)]
    return answer({"items": wanted})


@router.put("", response_model=Budget)
async def put_budget(request: PutBudget, caller: Caller, store: Store) -> Response:
    """Set a budget, instead of the one for the same period and unit. What that had stopped goes on, if it may."""
    return answer(await store.transact(lambda tx: budgets.put(tx, caller, request)))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_budget(id: str, caller: Caller, store: Store) -> Response:
    """Take it back: what it had stopped goes on."""
    await store.transact(lambda tx: budgets.delete(tx, caller, id))
    return Response(status_code=204)
