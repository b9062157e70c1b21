"""Tokens: what programs show instead of a password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from bullpen.access import rows
from bullpen.access import rules as access_rules
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import LOCAL, Caller, Office, Store, principal_of
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Forbidden
from bullpen.operations import people
from bullpen.wire import Token
from bullpen.wire.nouns import NewToken
from bullpen.wire.requests import CreateToken

router = APIRouter(route_class=CappedRoute, tags=["access"])


async def _issuer(http: Request) -> Principal | None:
    """Who makes a token. None: whoever holds the machine, who may claim an office that has no owner yet."""
    return None if http.scope.get(LOCAL) else await principal_of(http)


@router.post("/tokens", status_code=201, response_model=NewToken)
async def create_token(
    request: CreateToken, issuer: Annotated[Principal | None, Depends(_issuer)], office: Office, store: Store
) -> Response:
    """The answer holds the token's value, this once. Everybody may make tokens for themselves, owners for anybody."""
    if request.owner and issuer is not None:
        raise Forbidden("Owner tokens are made on the machine itself: `bullpen token create --owner`.")
    caller = issuer or await _holder_of_the_machine(office, store, request)
    token, value = await store.transact(lambda tx: people.create_token(tx, caller, request))
    return answer({"id": token.id, "token": value}, 201)


async def _holder_of_the_machine(office: Office, store: Store, request: CreateToken) -> Principal:
    if not request.owner:
        return await office.local_owner()
    await store.transact(lambda tx: people.claim_by_machine(tx, request.name))
    office.forget_local_owner()
    return await office.local_owner()


@router.get("/tokens", response_model=Page[Token])
async def list_tokens(caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Owners see all, everybody else their own."""
    access_rules.authorize(caller, "list_people")
    person_id = None if access_rules.allows(caller, "make_any_token") else caller.id
    found = await store.read(lambda tx: rows.select_tokens(tx, before=cursor or LAST, limit=limit, person_id=person_id))
    return page(found, limit, lambda token: token.id)


@router.delete("/tokens/{id}", status_code=204, response_class=Response)
async def revoke_token(id: str, caller: Caller, store: Store) -> Response:
    """It stops working at once, on open streams too, and so do all tokens that were made with it."""
    await store.transact(lambda tx: people.revoke_token(tx, caller, id))
    return Response(status_code=204)
