"""Tokens and people, as far as a token holder needs them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from bullpen.access import actions as access
from bullpen.access import rows
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.api.body import CappedRoute
from bullpen.api.door import LOCAL, Caller, Office, Owner, owner_of, principal_of
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Forbidden, NotFound
from bullpen.storage import Transaction
from bullpen.wire import Token
from bullpen.wire.nouns import Me, NewToken, Person
from bullpen.wire.requests import CreateToken

router = APIRouter(route_class=CappedRoute, tags=["access"])


@router.get("/me", response_model=Me)
async def me(caller: Caller) -> Response:
    return answer({"id": caller.id, "kind": caller.kind, "name": caller.name, "grants": sorted(caller.grants)})


@router.get("/people", response_model=Page[Person])
async def list_people(caller: Caller, office: Office) -> Response:
    if caller.kind != "person":
        raise Forbidden("Only people may list people.")
    return answer({"items": await office.store.read(rows.select_people)})


async def _issuer(http: Request) -> Principal | None:
    """Tokens are made by owners. None: whoever holds the machine, who may claim an office that has no owner yet."""
    return None if http.scope.get(LOCAL) else await owner_of(await principal_of(http))


@router.post("/tokens", status_code=201, response_model=NewToken)
async def create_token(
    request: CreateToken, issuer: Annotated[Principal | None, Depends(_issuer)], office: Office
) -> Response:
    """The answer holds the token's value, this once."""
    if request.owner and issuer is not None:
        raise Forbidden("Owner tokens are made on the machine itself: `bullpen token create --owner`.")
    caller = issuer or await office.local_owner(request.name if request.owner else None)

    async def body(tx: Transaction) -> dict[str, Any]:
        if request.agent_id is not None:
            await agents.get(tx, request.agent_id)
        person_id = request.person_id or (None if request.agent_id is not None else caller.id)
        token, value = await access.create_token(
            tx, request.name, person_id=person_id, agent_id=request.agent_id, tools=request.tools
        )
        return {"id": token.id, "token": value}

    return answer(await office.store.transact(body), 201)


@router.get("/tokens", response_model=Page[Token])
async def list_tokens(caller: Owner, office: Office, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await office.store.read(lambda tx: rows.select_tokens(tx, before=cursor or LAST, limit=limit))
    return page(found, limit, lambda token: token.id)


@router.delete("/tokens/{id}", status_code=204, response_class=Response)
async def revoke_token(id: str, caller: Owner, office: Office) -> Response:
    async def body(tx: Transaction) -> None:
        if not await rows.revoke_token(tx, id):
            raise NotFound(f"There is no token {id!r}.")

    await office.store.transact(body)
    return Response(status_code=204)
