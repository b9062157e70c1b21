"""Who is asking. One dependency for all routes: a bearer token, or the local socket, whose holder is the owner."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from bullpen.access import actions as access
from bullpen.access import rules
from bullpen.access.types import Principal
from bullpen.errors import Unauthenticated

LOCAL = "bullpen.local"


# Async although it waits for nothing: FastAPI sends dependencies that are plain functions to a thread.
async def office_of(request: Request) -> Any:
    return request.app.state.office


async def principal_of(request: Request) -> Principal:
    office = await office_of(request)
    if request.scope.get(LOCAL):
        return await office.local_owner()  # type: ignore[no-any-return]
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthenticated("Send `Authorization: Bearer <token>`; `bullpen token create` makes one.")
    principal = await office.store.read(lambda tx: access.principal_of(tx, token.strip()))
    if principal is None:
        raise Unauthenticated("This token is not known here, or was revoked.")
    return principal  # type: ignore[no-any-return]


async def owner_of(principal: Annotated[Principal, Depends(principal_of)]) -> Principal:
    rules.authorize(principal, "owner")
    return principal


Office = Annotated[Any, Depends(office_of)]
Caller = Annotated[Principal, Depends(principal_of)]
Owner = Annotated[Principal, Depends(owner_of)]
