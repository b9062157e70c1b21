"""Trying a model out before an agent depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from fastapi import APIRouter, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import answer
from bullpen.llm.check import check
from bullpen.observe.redact import REDACTOR
from bullpen.runs.steps import name_of
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value
from bullpen.wire.nouns import ModelCheck
from bullpen.wire.requests import CheckModel

router = APIRouter(prefix="/models", route_class=CappedRoute, tags=["models"])


@router.post("/check", response_model=ModelCheck)
async def check_model(request: CheckModel, caller: Caller, office: Office, store: Store) -> Response:
    """Ask a model one question. Whoever may define agents may: it costs what a short answer costs."""
    access.authorize(caller, "manage_agents")
    spec = _with_key(request.model, request.api_key_variable)
    values = await _values(office, store, caller, spec, request.api_key)
    # A provider may repeat the key in its answer. It is kept nowhere, so it is masked no longer than it is tried.
    with nullcontext() if request.api_key is None else REDACTOR.meanwhile(request.api_key, "apiKey"):
        found = await check(office.models.resolve(spec, values), name_of(spec))
    return answer(
        {
            "reached": found.reached,
            "accepted": found.accepted,
            "answered": found.answered,
            "message": found.message,
        }
    )


async def _values(office: Office, store: Store, caller: Principal, spec: Any, key: str | None) -> Mapping[str, Value]:
    needed = office.models.variables(spec)
    if key is not None:
        return {definition.name: key for definition in needed}
    place = _place_of(caller)
    return await store.read(lambda tx: variables.resolve(tx, place, needed, office.vault.settings))


def _with_key(spec: Any, variable: str | None) -> Any:
    if variable is None:
        return spec
    if isinstance(spec, str):
        provider, _, name = spec.partition(":")
        spec = {"provider": provider, "name": name}
    return {**spec, "apiKeyVariable": variable} if isinstance(spec, dict) else spec  # which nobody can build


def _place_of(caller: Principal) -> Place:
    """What a person has set for themselves counts for them, as it would in a run of theirs."""
    return Place("", "", person_id=caller.id if caller.kind == "person" else None)
