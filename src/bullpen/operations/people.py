"""People and how they come in: the first owner, their spaces, what follows from a change of what somebody may do.

`access/` stands below spaces and events, so it can neither put an owner into spaces nor end open streams. That is done
here, in the same transaction.
"""

from __future__ import annotations

from contextlib import suppress

from bullpen.access import actions as access
from bullpen.access import rows as access_rows
from bullpen.access import rules
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.agents import rows as agent_rows
from bullpen.errors import Forbidden, Invalid, NotFound
from bullpen.events.actions import access_changed, in_turn
from bullpen.inbox import actions as inbox
from bullpen.inbox.types import Cause
from bullpen.operations import portraits
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.wire import Token
from bullpen.wire.nouns import Invite, InviteShown, Person
from bullpen.wire.requests import CreateInvite, CreateToken, UpdatePerson

# ── the first owner ─────────────────────────────────────────────────────────────────────────────────────────────────


async def claim(
    tx: Transaction, name: str, password: str, *, host: str | None, session_days: int, device: str | None = None
) -> tuple[Principal, str]:
    """Make the first owner, once, and sign them in; the value of their cookie.

    `host`: the agent that says hello, so that they do not come into an empty office.
    """
    owner = await access.claim(tx, name, password)
    await _join_spaces(tx, owner)
    if host is not None:
        await _welcome(tx, owner, host)
    return owner, await access.open_session(tx, owner, session_days, device)


async def claim_by_machine(tx: Transaction, name: str) -> None:
    """Who holds the machine makes themselves the first owner, unless there is one."""
    if not await access.is_claimed(tx):
        await _join_spaces(tx, await access.claim(tx, name, None))


async def ensure_owner(tx: Transaction, name: str) -> Principal:
    """Who holds the machine acts as the owner; an office that has none yet gets one. This is not the claim."""
    owner, new = await access.ensure_owner(tx, name)
    if new:
        await _join_spaces(tx, owner)
    return owner


async def join_owner(tx: Transaction) -> None:
    """The owner, if there is one, becomes a member of the spaces that the office made itself."""
    owner = await access.find_owner(tx)
    if owner is not None:
        await _join_spaces(tx, owner)


async def _join_spaces(tx: Transaction, owner: Principal) -> None:
    await spaces.join_owner(tx, owner, rules.SYSTEM.id)


async def _welcome(tx: Transaction, owner: Principal, host: str) -> None:
    agent = await agent_rows.select_definition(tx, host)
    if agent is None:  # somebody has deleted it already
        return
    said = {"serviceName": "office", "payload": {"event": "claimed", "name": owner.name}}
    cause = Cause(owner.kind, owner.id, rules.written(owner.grants))
    await inbox.deliver_trigger(tx, agent.id, agent.scope, said, cause)


# ── changes that followers must hear of ─────────────────────────────────────────────────────────────────────────────


async def change(tx: Transaction, caller: Principal, id: str, request: UpdatePerson, password: str | None) -> Person:
    """`password`: the hash of the new one. A disabled person is signed out everywhere, and their tokens rest."""
    await in_turn(tx, "owners", id)
    if "avatar" in request.model_fields_set:
        await portraits.change(tx, caller, await access.get_person(tx, id), request.avatar)
    await access.update_person(
        tx, caller, id, name=request.name, role=request.role, disabled=request.disabled, password=password
    )
    if request.name is not None or "avatar" in request.model_fields_set:
        await spaces.renamed(tx, id)
    if request.role is not None or request.disabled is not None or password is not None:
        access_changed(tx, id)
    return await access.get_person(tx, id)


async def change_password(tx: Transaction, caller: Principal, password: str) -> None:
    """Their own. Everybody else who is signed in as them is signed out."""
    await access.change_password(tx, caller, password)
    access_changed(tx, caller.id, but_for=caller.credential)


async def end_session(tx: Transaction, caller: Principal, id: str) -> None:
    """It ends at once, with the streams that it opened."""
    access_changed(tx, await access.end_other_session(tx, caller, id), id)


async def sign_out(tx: Transaction, caller: Principal) -> None:
    await access.end_session(tx, caller)
    access_changed(tx, caller.id, caller.credential)


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def invite(tx: Transaction, caller: Principal, request: CreateInvite) -> tuple[Invite, str]:
    """The invite and its code. Whoever accepts it joins the spaces that the caller names and is in."""
    rules.authorize(caller, "manage_people")
    rooms = [await _open_room(tx, caller, id) for id in request.space_ids]
    return await access.create_invite(tx, caller, request.role, request.hours, list(dict.fromkeys(rooms)))


async def _open_room(tx: Transaction, caller: Principal, id: str) -> str:
    room = await spaces.room_for(tx, caller, "manage_space", id)
    if room.kind == "dm":
        raise Invalid("Nobody can be invited into a DM.", fields={"spaceIds": f"{room.id} is a DM"})
    return room.id


async def look_at_invite(tx: Transaction, code: str) -> InviteShown:
    """Who invites, and into which spaces, for whoever holds the link."""
    found = await access.find_invite(tx, code)
    inviter = await access_rows.select_person(tx, found.created_by)
    rooms = [await space_rows.select_room(tx, id) for id in found.space_ids]
    return InviteShown(
        invited_by="Somebody who has left" if inviter is None else inviter.name,
        role=found.role,
        spaces=[room.name for room in rooms if room is not None and room.archived_at is None],
        expires_at=found.expires_at,
    )


async def accept_invite(
    tx: Transaction, code: str, name: str, password: str, *, session_days: int, device: str | None
) -> tuple[Principal, str]:
    """Make the person, put them into the spaces of the invite, and sign them in; the value of their cookie."""
    person, accepted = await access.accept_invite(tx, code, name, password)
    await _join_invited(tx, person, accepted)
    return person, await access.open_session(tx, person, session_days, device)


async def _join_invited(tx: Transaction, person: Principal, accepted: Invite) -> None:
    """Each space that is still there, if the inviter could add somebody to it now."""
    inviter = await access_rows.select_person(tx, accepted.created_by)
    if inviter is None or inviter.disabled_at is not None:
        return
    by = access.principal_of_person(inviter)
    for id in accepted.space_ids:
        with suppress(NotFound, Forbidden):
            await spaces.add_member(tx, by, id, person.id)


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def create_token(tx: Transaction, caller: Principal, request: CreateToken) -> tuple[Token, str]:
    """The token, and its value, which is kept nowhere. It never holds more than what it was made with. Everybody may
    make tokens for themselves, owners for anybody."""
    own = request.agent_id is None and request.tools is None and request.person_id in (None, caller.id)
    rules.authorize(caller, "make_token" if own else "make_any_token")
    if request.agent_id is not None:
        await agents.get(tx, request.agent_id)
    return await access.create_token(
        tx,
        request.name,
        person_id=request.person_id or (None if request.agent_id is not None else caller.id),
        agent_id=request.agent_id,
        tools=request.tools,
        scopes=_limit_scopes(request, caller),
        days=request.days,
        created_by=caller,
    )


def _limit_scopes(request: CreateToken, caller: Principal) -> list[str] | None:
    whole = any(caller.grants == grants for grants in rules.ROLES.values())
    if whole:
        return request.scopes
    if request.scopes is not None:
        rules.check_scopes(request.scopes)
    return sorted(rules.limited(caller.grants, request.scopes))


async def revoke_token(tx: Transaction, caller: Principal, id: str) -> None:
    """It stops working at once, on open streams too, and so do all tokens that were made with it."""
    for token_id, holder_id in await access.revoke_token(tx, caller, id):
        access_changed(tx, holder_id, token_id)
