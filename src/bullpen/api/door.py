"""What every route is given: who is asking, the office, and the store as this request may use it.

Who is asking is one dependency for all routes: a bearer token, the page's cookie, or the local socket.

The local socket's holder is the owner: whoever may open a file that only this user can open holds the machine. Rights
never come from an address or a header. Wrong secrets are counted before they are looked up.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import Depends, Request

from bullpen.access import actions as access
from bullpen.access import rules
from bullpen.access.types import Principal
from bullpen.api import limits, office
from bullpen.api.timely import RequestStore
from bullpen.api.watch import CALLER
from bullpen.errors import TooManyRequests, Unauthenticated
from bullpen.storage import Transacts
from bullpen.storage.store import Body
from bullpen.wire import names

T = TypeVar("T")

LOCAL = "bullpen.local"
KNOWN = 10_000


# Async although it waits for nothing: FastAPI sends dependencies that are plain functions to a thread.
async def office_of(request: Request) -> office.OpenOffice:
    return office.office_of(request.app)


async def store_of(request: Request) -> RequestStore:
    served = office.office_of(request.app)
    return RequestStore(served.store, served.settings.limits.request_seconds, request.scope)


async def principal_of(request: Request) -> Principal:
    principal = await _principal_of(request)
    request.scope[CALLER] = principal.id  # for the log
    return principal


async def _principal_of(request: Request) -> Principal:
    served = office.office_of(request.app)
    if request.scope.get(LOCAL):
        return await served.local_owner()
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return await _by_token(served, request, token.strip())
    cookie = request.cookies.get(cookie_name(served))
    if cookie:
        return await _by_cookie(served, request, cookie)
    served.limits.requests.take(limits.address_of(request.scope))
    raise Unauthenticated("Sign in, or send `Authorization: Bearer <token>`; `bullpen token create` makes one.")


def address_of(request: Request) -> str:
    """Whom guesses are counted against. The edge has put the client's own address there, if a proxy told it."""
    return limits.address_of(request.scope)


def device_of(request: Request) -> str | None:
    """What a browser says it is, in words for people: “Firefox on Linux”. Anybody can say anything, so it is cut."""
    said = request.headers.get("user-agent", "")[:500]
    browser = next((name for mark, name in _BROWSERS if mark in said), None)
    system = next((name for mark, name in _SYSTEMS if mark in said), None)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or (names.clean(said)[:60] or None)


# The first that fits: others name themselves as well as those they are like.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


async def _by_token(served: office.OpenOffice, request: Request, token: str) -> Principal:
    # Before anything is looked up: a flood must cost the others nothing.
    served.limits.take_request(access.hashed(token), request.scope)
    principal = await unless_guessed(served, served.store, request, token, lambda tx: access.principal_of(tx, token))
    if principal is None:
        raise Unauthenticated("This token is not known here, or was revoked.")
    return principal


async def unless_guessed(
    served: office.Office, store: Transacts, request: Request, secret: str, look: Body[T | None]
) -> T | None:
    """What a secret leads to. Whoever has guessed too often gets no answer, right or wrong."""
    hash = access.hashed(secret)
    address = address_of(request)
    # One that has worked before is let through, or somebody's guesses would shut out everybody behind one address.
    if hash not in served.known_tokens and served.guesses.exhausted(address):
        raise TooManyRequests("Too many unknown tokens came from here. Wait a minute.", retry_after=60)
    found = await store.read(look)
    if found is None:
        served.known_tokens.discard(hash)
        if served.settings.limits.guesses_per_minute:
            served.guesses.spend(address)
    elif len(served.known_tokens) < KNOWN:
        served.known_tokens.add(hash)
    return found


async def _by_cookie(served: office.OpenOffice, request: Request, cookie: str) -> Principal:
    served.limits.take_request(access.hashed(cookie), request.scope)
    principal = await served.store.read(lambda tx: access.principal_of_session(tx, cookie))
    if principal is None:
        raise Unauthenticated("You are signed out. Sign in again.")
    return principal


def cookie_name(served: office.Office) -> str:
    # The prefix makes browsers insist on https and this very host; over plain http they would refuse it.
    return "__Host-bullpen" if served.settings.public_url.startswith("https:") else "bullpen"


async def owner_of(principal: Annotated[Principal, Depends(principal_of)]) -> Principal:
    rules.authorize(principal, "operate")
    return principal


Office = Annotated[office.Office, Depends(office_of)]
Store = Annotated[RequestStore, Depends(store_of)]
Caller = Annotated[Principal, Depends(principal_of)]
Owner = Annotated[Principal, Depends(owner_of)]
