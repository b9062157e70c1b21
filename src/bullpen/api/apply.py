"""Projects: agents, spaces, tools, variables and skills as files describe them, applied in one go."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Office, Owner, Store
from bullpen.api.pages import answer
from bullpen.operations import projects, variables
from bullpen.operations.projects import Change
from bullpen.storage import Transaction
from bullpen.wire.nouns import Applied
from bullpen.wire.requests import ApplyProject

router = APIRouter(route_class=CappedRoute, tags=["apply"])


@router.post("/apply", response_model=Applied)
async def apply(request: ApplyProject, caller: Owner, office: Office, store: Store) -> Response:
    await projects.check(store, caller, office.models, office.registry, request)
    most = office.settings.skills.per_space

    async def body(tx: Transaction) -> dict[str, list[Change]]:
        return await projects.apply(tx, caller, request, office.vault, office.registry, skills_per_space=most)

    async with office.vault.setting(store, variables.list_secrets(request.variables)):
        return answer(await store.transact(body))
