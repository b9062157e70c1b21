"""Hooks: secret addresses by which somebody outside wakes one agent; made and revoked under /api, rung at /hooks.

Whoever rings shows nothing but the address, so it is judged before a byte of the body is read: guesses are counted
first, and one that leads nowhere is not told whether it ever did.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from bullpen.access import rules as access
from bullpen.access.actions import hashed
from bullpen.api.body import CappedRequest, CappedRoute
from bullpen.api.door import Caller, Office, Store, unless_guessed
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.api.watch import CALLER
from bullpen.errors import NotFound
from bullpen.hooks import actions, rows
from bullpen.hooks.types import Found
from bullpen.storage import Transaction
from bullpen.wire.nouns import Hook, NewHook, Woken
from bullpen.wire.requests import CreateHook, RingHook

router = APIRouter(prefix="/hooks", route_class=CappedRoute, tags=["hooks"])
bell = APIRouter(route_class=CappedRoute, tags=["hooks"])

AgentId = Annotated[str | None, Query(alias="agentId", max_length=200, description="Only those of this agent.")]
Key = Annotated[str | None, Header(max_length=255, description="The same text again under the same key wakes nobody.")]
# Read by hand, after the address was judged; described all the same.
_SAYS = {"requestBody": {"required": True, "content": {"application/json": {"schema": RingHook.model_json_schema()}}}}


@router.get("", response_model=Page[Hook])
async def list_hooks(
    caller: Caller, store: Store, agent_id: AgentId = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Newest first. Their addresses are not kept, so they are not here either."""
    access.authorize(caller, "manage_hooks")
    found = await store.read(lambda tx: rows.select_hooks(tx, agent_id=agent_id, before=cursor or LAST, limit=limit))
    return page(found, limit, lambda hook: hook.id)


@router.post("", status_code=201, response_model=NewHook)
async def create_hook(request: CreateHook, caller: Caller, office: Office, store: Store) -> Response:
    """The answer holds the hook's address, this once."""

    async def body(tx: Transaction) -> NewHook:
        hook, secret = await actions.create(tx, caller, request.agent_id, request.name)
        return NewHook(**hook.model_dump(), url=f"{office.url}/hooks/{secret}")

    return answer(await store.transact(body), 201)


@router.delete("/{id}", status_code=204, response_class=Response)
async def revoke_hook(id: str, caller: Caller, store: Store) -> Response:
    """Its address leads nowhere from now on."""
    await store.transact(lambda tx: actions.revoke(tx, caller, id))
    return Response(status_code=204)


@bell.post("/hooks/{token}", status_code=202, response_model=Woken, openapi_extra=_SAYS)
async def ring_hook(
    token: str, http: Request, office: Office, store: Store, idempotency_key: Key = None, webhook_id: Key = None
) -> Response:
    """Wake the agent of this hook with a text, which it gets as data. A sender's own `webhook-id` is a key as well."""
    # By what the address holds, and without holding back others: whoever rings shows nothing else.
    office.limits.requests.take(hashed(token))
    if await unless_guessed(office, store, http, token, lambda tx: actions.find(tx, token)) is None:
        raise _nowhere()
    assert isinstance(http, CappedRequest)
    request = await http.model(RingHook)

    async def body(tx: Transaction) -> tuple[Found, str]:
        found = await actions.find(tx, token)
        if found is None:  # revoked while the body came in
            raise _nowhere()
        return found, await actions.ring(tx, found, request.text, idempotency_key or webhook_id)

    found, item_id = await store.transact(body)
    http.scope[CALLER] = found.id
    return answer({"itemId": item_id}, 202)


def _nowhere() -> NotFound:
    return NotFound("There is no such hook, or it was revoked.")
