"""Claim the office, make people, sessions, invites and tokens; turn a secret into a principal.

A token, a cookie and an invite's code are 32 random bytes each; only their SHA-256 is kept. Looking one up by its hash
needs no constant-time compare: the attacker does not choose the hash. Passwords are hashed by the caller, outside the
transaction (passwords.py).
"""

from __future__ import annotations

import secrets
from hashlib import sha256

from bullpen import ids
from bullpen.access import rows, rules
from bullpen.access.types import Holder, Principal, Session, Thing
from bullpen.audit.actions import note
from bullpen.errors import AlreadyExists, Conflict, Gone, Invalid, NotFound, Unauthenticated
from bullpen.storage import Transaction
from bullpen.wire import Token, names
from bullpen.wire.nouns import GivenRole, Invite, Person, Role

PREFIX = "bp_"
DAY = 86_400_000
NO_SIGN_IN = "A guest speaks in a chat elsewhere and cannot sign in. Give them a role of this office first."


def hashed(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def principal_of_person(person: Person, credential: str = "") -> Principal:
    return Principal("person", person.id, person.name, rules.grants_of(person.role), credential)


# ── the first owner ─────────────────────────────────────────────────────────────────────────────────────────────────


async def is_claimed(tx: Transaction) -> bool:
    return await rows.select_claimed(tx)


async def find_owner(tx: Transaction) -> Principal | None:
    found = await rows.select_owners(tx, 1)
    return principal_of_person(found[0]) if found else None


async def ensure_owner(tx: Transaction, name: str) -> tuple[Principal, bool]:
    """Whoever holds the machine acts as the owner; one is made when there is none. True: made now.

    This is not the claim: somebody who only looks around from the command line must not shut the printed link.
    """
    found = await find_owner(tx)
    if found is not None:
        return found, False
    person = await _insert(tx, name, "owner", None)
    note(tx, rules.SYSTEM, "person.created", "person", person.id, role="owner")
    return principal_of_person(person), True


async def claim(tx: Transaction, name: str, password: str | None) -> Principal:
    """Make the first owner, once. The one that the command line made before, if any, becomes theirs."""
    if not await rows.insert_claimed(tx):
        raise Conflict("This office has an owner already. Sign in, or ask them for an invite.")
    there = await rows.select_owners(tx, 1)
    if there:
        person = there[0].model_copy(update={"name": name})
        await _refuse_taken(tx, name, but_for=person.id)
        await rows.update_person(tx, person)
        if password is not None:
            await rows.update_password(tx, person.id, password)
    else:
        person = await _insert(tx, name, "owner", password)
    owner = principal_of_person(person)
    note(tx, owner, "office.claimed", "person", person.id)
    return owner


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def get_person(tx: Transaction, id: str) -> Person:
    person = await rows.select_person(tx, id)
    if person is None:
        raise NotFound(f"There is no person {id!r}.")
    return person


async def _refuse_taken(tx: Transaction, name: str, *, but_for: str = "") -> None:
    found = await rows.select_by_login(tx, name)
    if found is not None and found.id != but_for:
        raise AlreadyExists(f"Somebody here is called {name!r} already.", fields={"name": "is taken"})
    await refuse_look_alike(tx, name, but_for=but_for)


async def refuse_look_alike(tx: Transaction, name: str, *, but_for: str) -> None:
    """Nobody, person or agent, gets a name that reads like somebody else's and is written otherwise."""
    for id, other in await rows.select_names(tx):
        if id != but_for and names.looks_like(name, other):
            message = f"{name!r} looks like the name of {names.clean(other)!r} ({id}). Choose another."
            raise AlreadyExists(message, fields={"name": f"looks like the name of {id}"})


async def insert_guest(tx: Transaction, name: str) -> Person:
    """A person who cannot sign in. The caller has chosen a name that is like nobody else's."""
    person = Person(id=ids.person(), name=name, role="guest", created_at=tx.clock.now())
    await rows.insert_person(tx, person, sign_in=False)
    note(tx, rules.SYSTEM, "person.created", "person", person.id, role="guest")
    return person


async def _insert(tx: Transaction, name: str, role: Role, password: str | None) -> Person:
    try:
        name = names.check(name)
    except ValueError as error:
        raise Invalid(f"The name {error}.", fields={"name": str(error)}) from None
    await _refuse_taken(tx, name)
    person = Person(id=ids.person(), name=name, role=role, created_at=tx.clock.now())
    await rows.insert_person(tx, person, password)
    return person


async def create_person(tx: Transaction, actor: Principal, name: str, role: Role, password: str | None) -> Person:
    _may_give(actor, role)
    person = await _insert(tx, name, role, password)
    note(tx, actor, "person.created", "person", person.id, role=role)
    return person


def _may_give(actor: Principal, role: Role) -> None:
    rules.authorize(actor, "manage_people" if role in ("guest", "member") else "manage_owners")


async def update_person(
    tx: Transaction,
    actor: Principal,
    id: str,
    *,
    name: str | None = None,
    role: Role | None = None,
    disabled: bool | None = None,
    password: str | None = None,
) -> Person:
    """Change a person, as far as the actor may: everybody their own name, the rest whoever may give that role."""
    person = await get_person(tx, id)
    if actor.id != id or role is not None or disabled is not None or password is not None:
        _may_give(actor, person.role)
    else:
        rules.authorize(actor, "change_person", Thing("person", id, holder=id))
    if role is not None:
        _may_give(actor, role)
    if password is not None:  # whoever sets it can sign in as them, and read what they may
        rules.authorize(actor, "manage_owners")
        if (role or person.role) == "guest":
            raise Conflict(NO_SIGN_IN)
    changed = person.model_copy(
        update={
            "name": name or person.name,
            "role": role or person.role,
            "disabled_at": person.disabled_at if disabled is None else (tx.clock.now() if disabled else None),
        }
    )
    if changed.name != person.name:
        await _refuse_taken(tx, changed.name, but_for=id)
    await rows.update_person(tx, changed)
    await _keep_an_owner(tx)
    if password is not None:
        await rows.update_password(tx, id, password)
    if disabled or password is not None:
        await rows.end_sessions(tx, id)
    said = {"role": role, "disabled": disabled, "name": None if name is None else True, "password": password and True}
    note(tx, actor, "person.changed", "person", id, **{what: to for what, to in said.items() if to is not None})
    return changed


async def _keep_an_owner(tx: Transaction) -> None:
    if not await rows.select_owners(tx, 1):
        raise Conflict("An office needs an owner. Make somebody else one first.")


async def change_password(tx: Transaction, actor: Principal, password: str) -> None:
    """One's own. Whoever else is signed in with the old one is signed out."""
    await rows.update_password(tx, actor.id, password)
    await rows.end_sessions(tx, actor.id, but_for=actor.credential)
    note(tx, actor, "person.changed", "person", actor.id, password=True)


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def open_session(tx: Transaction, person: Principal, days: int, device: str | None = None) -> str:
    """Sign a person in; the value of their cookie. `device` is what their browser says it is."""
    value = secrets.token_urlsafe(32)
    id = ids.session()
    await rows.insert_session(
        tx,
        id=id,
        hash=hashed(value),
        person_id=person.id,
        expires_at=tx.clock.millis() + days * DAY,
        device=device,
    )
    note(tx, person, "session.opened", "session", id)
    return value


async def end_session(tx: Transaction, person: Principal) -> None:
    await rows.end_session(tx, person.credential)
    note(tx, person, "session.ended", "session", person.credential)


async def end_other_session(tx: Transaction, actor: Principal, id: str) -> str:
    """Sign somebody out in one browser: oneself, or whoever it is if the actor is an owner. Whose it was."""
    session = await rows.select_session_by_id(tx, id)
    thing = Thing("session", id, holder=None if session is None else session.person_id)
    rules.authorize(actor, "end_session", thing)
    if session is None:
        raise NotFound(f"There is no session {id!r}, or it has ended.")
    await rows.end_session(tx, id)
    note(tx, actor, "session.ended", "session", id)
    return session.person_id


async def principal_of_session(tx: Transaction, cookie: str) -> Principal | None:
    return _signed_in(await rows.select_session(tx, hashed(cookie)))


def _signed_in(session: Session | None) -> Principal | None:
    if session is None:
        return None
    grants = rules.grants_of(session.role)
    return Principal("person", session.person_id, session.name, grants, session.id, expires_at=session.expires_at)


async def look_up_again(tx: Transaction, principal: Principal) -> Principal | None:
    """The same caller as they are now; None: their token or session works no more."""
    if principal.credential.startswith("ses_"):
        return _signed_in(await rows.select_session_by_id(tx, principal.credential))
    if principal.credential.startswith("tok_"):
        return _holding(await rows.select_holder_by_id(tx, principal.credential))
    return principal  # they came by the local socket


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def create_invite(
    tx: Transaction, actor: Principal, role: GivenRole, hours: int, space_ids: list[str]
) -> tuple[Invite, str]:
    """An invite and its code, which is shown this once. The caller has checked the spaces."""
    _may_give(actor, role)
    code = secrets.token_urlsafe(32)
    invite = Invite(
        id=ids.invite(),
        role=role,
        space_ids=space_ids,
        created_by=actor.id,
        created_at=tx.clock.now(),
        expires_at=tx.clock.at(tx.clock.millis() + hours * 3_600_000),
    )
    await rows.insert_invite(tx, invite, hashed(code))
    note(tx, actor, "invite.created", "invite", invite.id, role=role, spaceIds=space_ids)
    return invite, code


async def find_invite(tx: Transaction, code: str) -> Invite:
    invite = await rows.select_invite(tx, hashed(code))
    if invite is None:
        raise NotFound("There is no such invite. Ask for a new link.")
    if not invite.open:
        raise Gone("This invite was used, or its time is over. Ask for a new link.")
    return invite


async def accept_invite(tx: Transaction, code: str, name: str, password: str) -> tuple[Principal, Invite]:
    invite = await find_invite(tx, code)
    person = await _insert(tx, name, invite.role, password)
    if not await rows.use_invite(tx, invite.id, person.id):
        raise Gone("This invite was used just now. Ask for a new link.")
    joined = principal_of_person(person)
    note(tx, joined, "invite.accepted", "invite", invite.id, role=invite.role)
    return joined, invite


async def revoke_invite(tx: Transaction, actor: Principal, id: str) -> None:
    rules.authorize(actor, "manage_people")
    if not await rows.revoke_invite(tx, id):
        raise NotFound(f"There is no open invite {id!r}.")
    note(tx, actor, "invite.revoked", "invite", id)


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def create_token(
    tx: Transaction,
    name: str,
    *,
    person_id: str | None = None,
    agent_id: str | None = None,
    tools: list[str] | None = None,
    scopes: list[str] | None = None,
    days: int | None = None,
    created_by: Principal = rules.SYSTEM,
) -> tuple[Token, str]:
    """A token and its value, which is shown this once. The caller has checked that the agent exists.

    One that is made with a token ends with it: at the same time at the latest, and when that one is revoked.
    """
    if (person_id is None) == (agent_id is None):
        raise Invalid(
            "A token belongs to one person or to one agent.", fields={"agentId": "say one of agentId, personId"}
        )
    if scopes is not None:
        rules.check_scopes(scopes)
    value = PREFIX + secrets.token_urlsafe(32)
    parent = created_by.credential if created_by.credential.startswith("tok_") else None
    expires_at = _earlier(None if days is None else tx.clock.millis() + days * DAY, await _end_of(tx, parent))
    kind = "agent" if person_id is None else await _kind_of(tx, person_id)
    token = Token(
        id=ids.token(),
        name=name,
        kind="tools" if tools is not None else kind,  # type: ignore[arg-type]
        person_id=person_id,
        agent_id=agent_id,
        tools=tools,
        scopes=scopes,
        created_at=tx.clock.now(),
        expires_at=None if expires_at is None else tx.clock.at(expires_at),
    )
    await rows.insert_token(tx, token, hashed(value), created_by=created_by.id, parent=parent)
    note(tx, created_by, "token.created", "token", token.id, kind=token.kind, holder=person_id or agent_id)
    return token, value


def _earlier(one: int | None, other: int | None) -> int | None:
    """None: never."""
    return min((at for at in (one, other) if at is not None), default=None)


async def _end_of(tx: Transaction, parent: str | None) -> int | None:
    if parent is None:
        return None
    works, expires_at = await rows.lock_token(tx, parent)
    if not works:
        raise Unauthenticated("This token is not known here, or was revoked.")
    return expires_at


async def _kind_of(tx: Transaction, person_id: str) -> str:
    role = (await get_person(tx, person_id)).role
    if role == "guest":
        raise Conflict(NO_SIGN_IN)
    return "owner" if role == "owner" else "person"


async def revoke_token(tx: Transaction, actor: Principal, id: str) -> list[tuple[str, str]]:
    """It, and all that were made with it: id and holder of each."""
    token = await rows.select_token(tx, id)
    if token is None:
        raise NotFound(f"There is no token {id!r}, or it is not yours to see.")
    rules.authorize(actor, "see_token", Thing("token", id, holder=token.person_id))
    rules.authorize(actor, "make_token")
    await rows.revoke_token(tx, id)
    revoked = [(id, token.person_id or token.agent_id or ""), *await rows.revoke_children(tx, [id])]
    for each, _ in revoked:
        note(tx, actor, "token.revoked", "token", each, **({} if each == id else {"with": id}))
    return revoked


async def principal_of(tx: Transaction, token: str) -> Principal | None:
    return _holding(await rows.select_holder(tx, hashed(token)))


def _holding(holder: Holder | None) -> Principal | None:
    if holder is None:
        return None
    token, end = holder.token_id, holder.expires_at
    if holder.kind == "tools":
        tools = frozenset(holder.tools or ())
        return Principal("tools", token, holder.name, frozenset(), token, tools, holder.agent_id, end)
    if holder.agent_id is not None:
        grants = rules.limited(rules.AGENT, holder.scopes)
        return Principal("agent", holder.agent_id, holder.name, grants, token, expires_at=end)
    assert holder.person_id is not None
    assert holder.role is not None
    grants = rules.limited(rules.grants_of(holder.role), holder.scopes)
    return Principal("person", holder.person_id, holder.name, grants, token, expires_at=end)
