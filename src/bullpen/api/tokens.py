"""Tokens: what programs show instead of a password."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from bullpen.access import actions as access
from bullpen.access import rows
from bullpen.access import rules as access_rules
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.api.body import CappedRoute
from bullpen.api.door import LOCAL, Caller, Office, principal_of
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Forbidden
from bullpen.events.actions import access_changed
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire import Token
from bullpen.wire.nouns import NewToken
from bullpen.wire.requests import CreateToken

router = APIRouter(route_class=CappedRoute, tags=["access"])


async def _issuer(http: Request) -> Principal | None:
    """Who makes a token. None: whoever holds the machine, who may claim an office that has no owner yet."""
    return None if http.scope.get(LOCAL) else await principal_of(http)


@router.post("/tokens", status_code=201, response_model=NewToken)
async def create_token(
    request: CreateToken, issuer: Annotated[Principal | None, Depends(_issuer)], office: Office
) -> Response:
    """The answer holds the token's value, this once. Everybody may make tokens for themselves, owners for anybody."""
    if request.owner and issuer is not None:
        raise Forbidden("Owner tokens are made on the machine itself: `bullpen token create --owner`.")
    if issuer is not None:
        own = request.agent_id is None and request.tools is None and request.person_id in (None, issuer.id)
        access_rules.authorize(issuer, "make_token" if own else "make_any_token")
    caller = issuer or await _holder_of_the_machine(office, request)

    async def body(tx: Transaction) -> dict[str, Any]:
        if request.agent_id is not None:
            await agents.get(tx, request.agent_id)
        token, value = await access.create_token(
            tx,
            request.name,
            person_id=request.person_id or (None if request.agent_id is not None else caller.id),
            agent_id=request.agent_id,
            tools=request.tools,
            scopes=_scopes(request, caller),
            days=request.days,
            created_by=caller,
        )
        return {"id": token.id, "token": value}

    return answer(await office.store.transact(body), 201)


def _scopes(request: CreateToken, caller: Principal) -> list[str] | None:
    """A token never holds more than the one it was made with."""
    whole = any(caller.grants == grants for grants in access_rules.ROLES.values())
    if whole:
        return request.scopes
    if request.scopes is not None:
        access_rules.check_scopes(request.scopes)
    return sorted(access_rules.limited(caller.grants, request.scopes))


async def _holder_of_the_machine(office: Any, request: CreateToken) -> Principal:
    if not request.owner:
        return await office.local_owner()  # type: ignore[no-any-return]

    async def body(tx: Transaction) -> None:
        if not await access.is_claimed(tx):
            owner = await access.claim(tx, request.name, None)
            await spaces.join_owner(tx, owner, access_rules.SYSTEM.id)

    await office.store.transact(body)
    office.forget_local_owner()
    return await office.local_owner()  # type: ignore[no-any-return]


@router.get("/tokens", response_model=Page[Token])
async def list_tokens(caller: Caller, office: Office, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Owners see all, everybody else their own."""
    access_rules.authorize(caller, "list_people")
    person_id = None if access_rules.allows(caller, "make_any_token") else caller.id
    found = await office.store.read(
        lambda tx: rows.select_tokens(tx, before=cursor or LAST, limit=limit, person_id=person_id)
    )
    return page(found, limit, lambda token: token.id)


@router.delete("/tokens/{id}", status_code=204, response_class=Response)
async def revoke_token(id: str, caller: Caller, office: Office) -> Response:
    """It stops working at once, on open streams too, and so do all tokens that were made with it."""

    async def body(tx: Transaction) -> None:
        for token_id, holder_id in await access.revoke_token(tx, caller, id):
            access_changed(tx, holder_id, token_id)

    await office.store.transact(body)
    return Response(status_code=204)
