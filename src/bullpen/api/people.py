"""People and the invites that bring them in."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request, Response

from bullpen.access import actions as access
from bullpen.access import rows
from bullpen.access import rules as access_rules
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store, address_of, device_of
from bullpen.api.edge import is_loopback
from bullpen.api.files import show_small
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.api.sessions import signed_in
from bullpen.operations import people, portraits
from bullpen.storage import Transaction
from bullpen.wire.nouns import Invite, InviteShown, Me, NewInvite, OpenSession, Person
from bullpen.wire.requests import AcceptInvite, CreateInvite, CreatePerson, LookAtInvite, UpdatePerson

Whose = Annotated[str | None, Query(alias="personId", max_length=200, description="Only theirs; for owners.")]

router = APIRouter(route_class=CappedRoute, tags=["access"])


@router.get("/people", response_model=Page[Person])
async def list_people(caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    access_rules.authorize(caller, "list_people")
    found = await store.read(lambda tx: rows.select_people(tx, before=cursor or LAST, limit=limit))
    return page(found, limit, lambda person: person.id)


@router.post("/people", status_code=201, response_model=Person)
async def create_person(request: CreatePerson, caller: Caller, office: Office, store: Store) -> Response:
    """Without a password they cannot sign in yet; they can be given a token, or a password later."""
    access_rules.authorize(caller, "manage_people")
    password = None if request.password is None else await office.passwords.hash(request.password)
    made = await store.transact(lambda tx: access.create_person(tx, caller, request.name, request.role, password))
    return answer(made, 201)


@router.get("/people/{id}", response_model=Person)
async def get_person(id: str, caller: Caller, store: Store) -> Response:
    access_rules.authorize(caller, "list_people")
    return answer(await store.read(lambda tx: access.get_person(tx, id)))


@router.patch("/people/{id}", response_model=Person)
async def update_person(id: str, request: UpdatePerson, caller: Caller, office: Office, store: Store) -> Response:
    """Everybody may change their own name. A disabled person is signed out everywhere, and their tokens rest."""
    access_rules.authorize(caller, "list_people")
    password = None if request.password is None else await office.passwords.hash(request.password)
    changed = await store.transact(lambda tx: people.change(tx, caller, id, request, password))
    office.forget_local_owner()
    return answer(changed)


@router.get("/avatars/{id}", response_class=Response)
async def get_avatar(id: str, request: Request, caller: Caller, office: Office, store: Store) -> Response:
    """The small picture of a person or an agent, to be shown in place."""
    return await show_small(request, office, await store.read(lambda tx: portraits.find(tx, caller, id)))


# ── who is signed in ────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/sessions", response_model=Page[OpenSession])
async def list_sessions(
    caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None, person_id: Whose = None
) -> Response:
    """Where somebody is signed in, newest first. Owners see everybody's, everybody else their own."""
    access_rules.authorize(caller, "list_people")
    whose = person_id if caller.is_owner else caller.id
    found = await store.read(
        lambda tx: rows.select_open_sessions(
            tx, before=cursor or LAST, limit=limit, person_id=whose, current=caller.credential
        )
    )
    return page(found, limit, lambda session: session.id)


@router.delete("/sessions/{id}", status_code=204, response_class=Response)
async def end_session(id: str, caller: Caller, store: Store) -> Response:
    """Sign out there. Streams that were opened with it end."""
    await store.transact(lambda tx: people.end_session(tx, caller, id))
    return Response(status_code=204)


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.post("/invites", status_code=201, response_model=NewInvite)
async def create_invite(request: CreateInvite, caller: Caller, office: Office, store: Store) -> Response:
    """A link for one person, once. The answer holds it, this once."""
    access_rules.authorize(caller, "manage_people")

    async def body(tx: Transaction) -> dict[str, Any]:
        invite, code = await people.invite(tx, caller, request)
        shown: dict[str, Any] = invite.model_dump(mode="json", by_alias=True)
        local_only = is_loopback(urlsplit(office.url).hostname or "")
        return {**shown, "code": code, "link": f"{office.url}/#invite={code}", "localOnly": local_only}

    return answer(await store.transact(body), 201)


@router.get("/invites", response_model=Page[Invite])
async def list_invites(caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Those that can still be used."""
    access_rules.authorize(caller, "manage_people")
    found = await store.read(lambda tx: rows.select_invites(tx, before=cursor or LAST, limit=limit))
    return page(found, limit, lambda invite: invite.id)


@router.delete("/invites/{id}", status_code=204, response_class=Response)
async def revoke_invite(id: str, caller: Caller, store: Store) -> Response:
    await store.transact(lambda tx: access.revoke_invite(tx, caller, id))
    return Response(status_code=204)


@router.post("/invites/look", response_model=InviteShown)
async def look_at_invite(request: LookAtInvite, http: Request, office: Office, store: Store) -> Response:
    """Who invites, and into which spaces. For whoever holds the link, before they accept."""
    office.sign_ins.spend(f"{address_of(http)} invite")
    shown = await store.read(lambda tx: people.look_at_invite(tx, request.code))
    office.sign_ins.forgive(f"{address_of(http)} invite")
    return answer(shown)


@router.post("/invites/accept", status_code=201, response_model=Me)
async def accept_invite(request: AcceptInvite, http: Request, office: Office, store: Store) -> Response:
    """Become a member of the office, and be signed in."""
    office.sign_ins.spend(f"{address_of(http)} invite")
    await store.read(lambda tx: access.find_invite(tx, request.code))
    office.sign_ins.forgive(f"{address_of(http)} invite")
    password = await office.passwords.hash(request.password)

    async def body(tx: Transaction) -> tuple[Principal, str]:
        days, device = office.settings.session_days, device_of(http)
        return await people.accept_invite(tx, request.code, request.name, password, session_days=days, device=device)

    return signed_in(office, *await store.transact(body))
