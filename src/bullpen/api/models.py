"""Connections, what they offer, and trying a model out before an agent depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Page, answer
from bullpen.connections import actions as connected
from bullpen.connections.types import Resolved
from bullpen.errors import ModelError
from bullpen.llm.check import check, problem_of
from bullpen.llm.models import USE, name_of
from bullpen.observe.redact import REDACTOR
from bullpen.operations import connections
from bullpen.storage import Transaction
from bullpen.variables import actions as variables
from bullpen.variables.types import Place, Value
from bullpen.wire.nouns import ConnectionModel, ModelCheck, ModelConnection, ModelPrice, ModelProblem, OfferedModel
from bullpen.wire.requests import CheckModel, CreateConnection, UpdateConnection

router = APIRouter(prefix="/models", route_class=CappedRoute, tags=["models"])

Fresh = Annotated[bool, Query(description="Ask its server now, also if it was asked a moment ago.")]


class OfferedPage(Page[OfferedModel]):
    """`problem` and `message`: its server could not be asked, so these are the models that somebody spoke of."""

    problem: ModelProblem | None = None
    message: str | None = None


# ── connections ─────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("", response_model=Page[ModelConnection])
async def list_connections(caller: Caller, office: Office, store: Store) -> Response:
    """Where models are asked, oldest first. A key is never shown, only the name of its variable."""
    found = await store.read(lambda tx: connections.list_connections(tx, caller, office.vault))
    return answer({"items": [_opened(office, each) for each in found]})


@router.post("", status_code=201, response_model=ModelConnection)
async def create_connection(request: CreateConnection, caller: Caller, office: Office, store: Store) -> Response:
    """Connect a provider, or a server at an address. Agents are left as they are."""
    access.authorize(caller, "manage_agents")
    async with office.vault.setting(store, _secrets(request.api_key)):
        made = await store.transact(lambda tx: connections.create(tx, caller, office.vault, request))
    return answer(_opened(office, made), 201)


@router.patch("/{id}", response_model=ModelConnection)
async def update_connection(
    id: str, request: UpdateConnection, caller: Caller, office: Office, store: Store
) -> Response:
    """Change what is said. Agents that use it ask with the new values from their next question on."""
    access.authorize(caller, "manage_agents")
    async with office.vault.setting(store, _secrets(request.api_key)):
        made = await store.transact(lambda tx: connections.change(tx, caller, office.vault, id, request))
    return answer(_opened(office, made))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_connection(id: str, caller: Caller, store: Store) -> Response:
    """Refused while agents use it. Its address is closed again, and the key that was given with it is gone."""
    await store.transact(lambda tx: connections.delete(tx, caller, id))
    return Response(status_code=204)


@router.get("/{id}/list", response_model=OfferedPage)
async def list_offered(id: str, caller: Caller, office: Office, store: Store, fresh: Fresh = False) -> Response:
    """The models that its server offers now, and those that somebody has set a price for."""

    async def body(tx: Transaction) -> tuple[ModelConnection, Resolved, list[str], Mapping[str, Value]]:
        connection = await connections.get(tx, caller, office.vault, id)
        resolved = await connected.resolve(tx, {"connection": id, "name": connection.default_model or "its models"})
        needed = office.models.variables(resolved.spec)
        values = await variables.resolve(tx, _place_of(caller), needed, office.vault.settings)
        return connection, resolved, await connected.confirmed(tx), values

    connection, resolved, confirmed, values = await store.read(body)
    office.world.means.egress().allowance.confirm(USE, confirmed)
    model = office.models.resolve(resolved.spec, values)
    more: dict[str, Any] = {}
    offers: Mapping[str, int | None] = {}
    try:
        key = (id, connection.updated_at, caller.id)
        found = await office.offers.list(key, model, fresh=fresh)
        offers = {each.name: each.context_tokens for each in found}
    except ModelError as error:
        more = {"problem": problem_of(error), "message": error.message}
    return answer({"items": _offered(office, connection, offers), **more})


def _offered(office: Office, connection: ModelConnection, offers: Mapping[str, int | None]) -> list[OfferedModel]:
    own = {each.name: each for each in connection.models}
    named = list(dict.fromkeys([*own, *offers, *filter(None, [connection.default_model])]))
    return [_priced(office, connection, name, own.get(name), offers) for name in named]


def _priced(
    office: Office,
    connection: ModelConnection,
    name: str,
    own: ConnectionModel | None,
    offers: Mapping[str, int | None],
) -> OfferedModel:
    listed = office.world.prices.find(f"{connection.provider}:{name}")
    price = None if own is None else own.price
    if price is None and listed is not None:
        price = ModelPrice(input=listed.input, output=listed.output, cached=listed.cached, written=listed.written)
    return OfferedModel(
        name=name,
        offered=name in offers,
        price=price,
        own_price=own is not None and own.price is not None,
        context_tokens=(None if own is None else own.context_tokens) or offers.get(name),
    )


def _opened(office: Office, connection: ModelConnection) -> ModelConnection:
    """An address that the operator lists needs no owner to open it."""
    if not connection.needs_confirming or connection.base_url is None:
        return connection
    allowance = office.world.means.egress().allowance
    return connection.model_copy(update={"needs_confirming": not allowance.lists_url(USE, connection.base_url)})


def _secrets(key: str | None) -> list[tuple[str, str]]:
    return [] if key is None else [("apiKey", key)]


# ── trying one out ──────────────────────────────────────────────────────────────────────────────────────────────────


@router.post("/check", response_model=ModelCheck)
async def check_model(request: CheckModel, caller: Caller, office: Office, store: Store) -> Response:
    """Ask a model one question. Whoever may define agents may: it costs what a short answer costs."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> tuple[Any, list[str], Mapping[str, Value]]:
        model = await connected.canonical(tx, request.model)
        spec = _with_key((await connected.resolve(tx, model)).spec, request.api_key_variable)
        needed = office.models.variables(spec)
        if request.api_key is not None:
            return spec, await connected.confirmed(tx), {each.name: request.api_key for each in needed}
        values = await variables.resolve(tx, _place_of(caller), needed, office.vault.settings)
        return spec, await connected.confirmed(tx), values

    spec, confirmed, values = await store.read(body)
    if connected.is_elsewhere(spec):
        office.world.means.egress().allowance.confirm(USE, confirmed)
    # A provider may repeat the key in its answer. It is kept nowhere, so it is masked no longer than it is tried.
    with nullcontext() if request.api_key is None else REDACTOR.meanwhile(request.api_key, "apiKey"):
        found = await check(office.models.resolve(spec, values), name_of(spec))
    said = ModelCheck(
        reached=found.reached,
        accepted=found.accepted,
        answered=found.answered,
        message=found.message,
        problem=found.problem,
    )
    return answer(said)


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
