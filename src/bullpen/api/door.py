"""Who is asking. One dependency for all routes: a bearer token, the page's cookie, or the local socket.

The local socket's holder is the owner: whoever may open a file that only this user can open holds the machine. Rights
never come from an address or a header. Wrong secrets are counted before they are looked up.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from bullpen.access import actions as access
from bullpen.access import rules
from bullpen.access.types import Principal
from bullpen.api import limits
from bullpen.api.timely import TimelyOffice
from bullpen.api.watch import CALLER
from bullpen.errors import TooManyRequests, Unauthenticated
from bullpen.storage.store import Body

T = TypeVar("T")

LOCAL = "bullpen.local"
KNOWN = 10_000


# Async although it waits for nothing: FastAPI sends dependencies that are plain functions to a thread.
async def office_of(request: Request) -> Any:
    return TimelyOffice(request.app.state.office, request)


async def principal_of(request: Request) -> Principal:
    principal = await _principal_of(request)
    request.scope[CALLER] = principal.id  # for the log
    return principal


async def _principal_of(request: Request) -> Principal:
    office = await office_of(request)
    if request.scope.get(LOCAL):
        return await office.local_owner()  # type: ignore[no-any-return]
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return await _by_token(office, request, token.strip())
    cookie = request.cookies.get(cookie_name(office))
    if cookie:
        return await _by_cookie(office, request, cookie)
    office.limits.requests.take(limits.address_of(request.scope))
    raise Unauthenticated("Sign in, or send `Authorization: Bearer <token>`; `bullpen token create` makes one.")


def address_of(request: Request) -> str:
    """Whom guesses are counted against. The edge has put the client's own address there, if a proxy told it."""
    return limits.address_of(request.scope)


async def _by_token(office: Any, request: Request, token: str) -> Principal:
    # Before anything is looked up: a flood must cost the others nothing.
    office.limits.take_request(access.hashed(token), request.scope)
    principal = await unless_guessed(office, request, token, lambda tx: access.principal_of(tx, token))
    if principal is None:
        raise Unauthenticated("This token is not known here, or was revoked.")
    return principal


async def unless_guessed(office: Any, request: Request, secret: str, look: Body[T | None]) -> T | None:
    """What a secret leads to. Whoever has guessed too often gets no answer, right or wrong."""
    hash = access.hashed(secret)
    address = address_of(request)
    # One that has worked before is let through, or somebody's guesses would shut out everybody behind one address.
    if hash not in office.known_tokens and office.guesses.exhausted(address):
        raise TooManyRequests("Too many unknown tokens came from here. Wait a minute.", retry_after=60)
    found: T | None = await office.store.read(look)
    if found is None:
        office.known_tokens.discard(hash)
        if office.settings.limits.guesses_per_minute:
            office.guesses.spend(address)
    elif len(office.known_tokens) < KNOWN:
        office.known_tokens.add(hash)
    return found


async def _by_cookie(office: Any, request: Request, cookie: str) -> Principal:
    office.limits.take_request(access.hashed(cookie), request.scope)
    principal: Principal | None = await office.store.read(lambda tx: access.principal_of_session(tx, cookie))
    if principal is None:
        raise Unauthenticated("You are signed out. Sign in again.")
    return principal


def cookie_name(office: Any) -> str:
    # The prefix makes browsers insist on https and this very host; over plain http they would refuse it.
    return "__Host-bullpen" if office.settings.public_url.startswith("https:") else "bullpen"


async def owner_of(principal: Annotated[Principal, Depends(principal_of)]) -> Principal:
    rules.authorize(principal, "operate")
    return principal


Office = Annotated[Any, Depends(office_of)]
Caller = Annotated[Principal, Depends(principal_of)]
Owner = Annotated[Principal, Depends(owner_of)]
