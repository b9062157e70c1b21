"""Claiming the office, signing in and out, and who one is."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from bullpen.access import actions as access
from bullpen.access import rows
from bullpen.access import rules as access_rules
from bullpen.access.types import Principal, Thing
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store, address_of, cookie_name, device_of
from bullpen.api.pages import answer
from bullpen.errors import Conflict, Forbidden, Unauthenticated
from bullpen.operations import people
from bullpen.storage import Transaction
from bullpen.wire.nouns import Me
from bullpen.wire.requests import ChangePassword, Setup, SignIn

router = APIRouter(route_class=CappedRoute, tags=["access"])


@router.post("/setup", status_code=201, response_model=Me)
async def setup(request: Setup, http: Request, office: Office, store: Store) -> Response:
    """Make the first owner, and sign them in."""
    if await store.read(access.is_claimed):
        raise Conflict("This office has an owner already. Sign in, or ask them for an invite.")
    office.claim.check(request.code)
    password = await office.passwords.hash(request.password)

    async def body(tx: Transaction) -> tuple[Principal, str]:
        days = office.settings.session_days
        return await people.claim(
            tx, request.name, password, host=office.host, session_days=days, device=device_of(http)
        )

    owner, cookie = await store.transact(body)
    office.forget_local_owner()
    return signed_in(office, owner, cookie)


@router.post("/session", status_code=201, response_model=Me)
async def sign_in(request: SignIn, http: Request, office: Office, store: Store) -> Response:
    """The answer sets a cookie that scripts cannot read."""
    address, name = address_of(http), rows.login(request.name)
    office.sign_ins.spend(f"{address} {name}")
    office.sign_ins_of_one.spend(name)
    found = await store.read(lambda tx: rows.select_by_login(tx, request.name))
    matches = await office.passwords.matches(None if found is None else found.password, request.password)
    if found is None or not matches or found.disabled_at is not None:
        raise Unauthenticated("The name or the password is wrong.")
    office.sign_ins.forgive(f"{address} {name}")
    office.sign_ins_of_one.forgive(name)
    person = Principal("person", found.id, found.name, access_rules.grants_of(found.role))
    days, device = office.settings.session_days, device_of(http)
    cookie = await store.transact(lambda tx: access.open_session(tx, person, days, device))
    return signed_in(office, person, cookie)


@router.delete("/session", status_code=204, response_class=Response)
async def sign_out(caller: Caller, office: Office, store: Store) -> Response:
    if caller.credential.startswith("ses_"):
        await store.transact(lambda tx: people.sign_out(tx, caller))
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(office), path="/", httponly=True, samesite="strict", secure=_secure(office))
    return response


@router.get("/me", response_model=Me)
async def me(caller: Caller) -> Response:
    return answer(_me(caller))


@router.post("/me/password", status_code=204, response_class=Response)
async def change_password(
    request: ChangePassword, http: Request, caller: Caller, office: Office, store: Store
) -> Response:
    """Whoever else is signed in as you is signed out."""
    if caller.kind != "person":
        raise Forbidden("Only people have passwords.")
    access_rules.authorize(caller, "change_person", Thing("person", caller.id, holder=caller.id))
    office.sign_ins.spend(f"{address_of(http)} {caller.id}")
    current = await store.read(lambda tx: rows.select_password(tx, caller.id))
    if not await office.passwords.matches(current, request.current):
        raise Forbidden("The current password is wrong. If you have none, an owner can set one: `bullpen password`.")
    office.sign_ins.forgive(f"{address_of(http)} {caller.id}")
    password = await office.passwords.hash(request.password)
    await store.transact(lambda tx: people.change_password(tx, caller, password))
    return Response(status_code=204)


def signed_in(office: Office, person: Principal, cookie: str) -> Response:
    response = answer(_me(person), 201)
    response.set_cookie(
        cookie_name(office),
        cookie,
        max_age=office.settings.session_days * 86_400,
        path="/",
        httponly=True,
        samesite="strict",
        secure=_secure(office),
    )
    return response


def _secure(office: Office) -> bool:
    return office.settings.public_url.startswith("https:")


def _me(principal: Principal) -> dict[str, Any]:
    role = next((role for role, grants in access_rules.ROLES.items() if grants == principal.grants), None)
    return {
        "id": principal.id,
        "kind": principal.kind,
        "name": principal.name,
        **({"role": role} if principal.kind == "person" and role else {}),
        "grants": sorted(principal.grants),
    }
