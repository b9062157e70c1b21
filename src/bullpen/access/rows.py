"""SQL for people, their sessions and invites, and tokens."""

from __future__ import annotations

import unicodedata

import orjson
from sqlalchemy import bindparam, delete, func, insert, select, union_all, update

from bullpen.access.types import Holder, Session
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.statements import insert_or_ignore, upsert
from bullpen.storage.tables import agents, bridge_accounts, invites, meta, people, sessions, tokens
from bullpen.wire import Token
from bullpen.wire.nouns import Invite, Person

CLAIMED = "claimed"


def login(name: str) -> str:
    """What signing in compares: the same for names that people take for the same."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


# ── the claim ───────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_CLAIMED = Statement(select(meta.c.value).where(meta.c.key == CLAIMED))
_CLAIM = insert_or_ignore(meta)


async def select_claimed(tx: Transaction) -> bool:
    return await tx.one(_SELECT_CLAIMED) is not None


async def insert_claimed(tx: Transaction) -> bool:
    """True for the first who claims; everybody later finds it taken."""
    return await tx.run(_CLAIM, key=CLAIMED, value=tx.clock.now()) > 0


# ── people ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_PERSON = Statement(insert(people))
_PERSON_COLUMNS = (people.c.id, people.c.name, people.c.role, people.c.created_at, people.c.disabled_at)
_THERE = people.c.erased_at.is_(None)
_SELECT_PERSON = Statement(select(*_PERSON_COLUMNS).where(people.c.id == bindparam("id"), _THERE))
_SELECT_OWNERS = Statement(
    select(*_PERSON_COLUMNS)
    .where(people.c.role == "owner", people.c.disabled_at.is_(None), _THERE)
    .order_by(people.c.id)
    .limit(bindparam("limit"))
)
_SELECT_PEOPLE = Statement(
    select(*_PERSON_COLUMNS)
    .where(_THERE, people.c.id < bindparam("before"))
    .order_by(people.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_NAMES = Statement(
    union_all(
        select(people.c.id, people.c.name).where(_THERE),
        select(agents.c.id, agents.c.name).where(agents.c.deleted_at.is_(None)),
    )
)
_SELECT_BY_LOGIN = Statement(
    select(people.c.id, people.c.name, people.c.role, people.c.password, people.c.disabled_at).where(
        people.c.login == bindparam("login"), _THERE
    )
)
_SELECT_PASSWORD = Statement(select(people.c.password).where(people.c.id == bindparam("id"), _THERE))
_UPDATE_PERSON = Statement(
    update(people)
    .where(people.c.id == bindparam("id_"))
    .values(
        name=bindparam("name"), role=bindparam("role"), login=bindparam("login"), disabled_at=bindparam("disabled_at")
    )
)
_UPDATE_PASSWORD = Statement(
    update(people).where(people.c.id == bindparam("id_")).values(password=bindparam("password"))
)


def _person(row: Row) -> Person:
    id_, name, role, created_at, disabled_at = row
    return Person(id=id_, name=name, role=role, created_at=created_at, disabled_at=disabled_at)


async def insert_person(
    tx: Transaction, *, id: str, name: str, role: str, password: str | None = None, sign_in: bool = True
) -> None:
    await tx.run(
        _INSERT_PERSON,
        id=id,
        name=name,
        role=role,
        created_at=tx.clock.now(),
        login=login(name) if sign_in else None,
        password=password,
        disabled_at=None,
        erased_at=None,
    )


async def select_person(tx: Transaction, id: str) -> Person | None:
    row = await tx.one(_SELECT_PERSON, id=id)
    return None if row is None else _person(row)


async def select_owners(tx: Transaction, limit: int) -> list[Person]:
    """Those who can act as owner, oldest first."""
    return [_person(row) for row in await tx.all(_SELECT_OWNERS, limit=limit)]


async def select_people(tx: Transaction, *, before: str, limit: int) -> list[Person]:
    return [_person(row) for row in await tx.all(_SELECT_PEOPLE, before=before, limit=limit)]


async def select_names(tx: Transaction) -> list[tuple[str, str]]:
    """Everybody's id and name, people's and agents'."""
    return [(row[0], row[1]) for row in await tx.all(_SELECT_NAMES)]


async def select_by_login(tx: Transaction, name: str) -> Row | None:
    """id, name, role, password hash, disabled at."""
    return await tx.one(_SELECT_BY_LOGIN, login=login(name))


async def select_password(tx: Transaction, id: str) -> str | None:
    row = await tx.one(_SELECT_PASSWORD, id=id)
    return None if row is None else row[0]


async def update_person(tx: Transaction, person: Person) -> None:
    await tx.run(
        _UPDATE_PERSON,
        id_=person.id,
        name=person.name,
        role=person.role,
        login=login(person.name),
        disabled_at=person.disabled_at,
    )


async def update_password(tx: Transaction, id: str, password: str) -> None:
    await tx.run(_UPDATE_PASSWORD, id_=id, password=password)


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_SESSION = Statement(insert(sessions))
_SESSIONS = (
    select(sessions.c.id, people.c.id, people.c.name, people.c.role, sessions.c.expires_at)
    .select_from(sessions.join(people, people.c.id == sessions.c.person_id))
    .where(
        sessions.c.ended_at.is_(None),
        sessions.c.expires_at > bindparam("now"),
        people.c.disabled_at.is_(None),
        _THERE,
    )
)
_SELECT_SESSION = Statement(_SESSIONS.where(sessions.c.hash == bindparam("hash")))
_SELECT_SESSION_BY_ID = Statement(_SESSIONS.where(sessions.c.id == bindparam("id")))
_END_SESSION = Statement(
    update(sessions)
    .where(sessions.c.id == bindparam("id_"), sessions.c.ended_at.is_(None))
    .values(ended_at=bindparam("now"))
)
_END_SESSIONS = Statement(
    update(sessions)
    .where(
        sessions.c.person_id == bindparam("person_id_"),
        sessions.c.ended_at.is_(None),
        sessions.c.id != bindparam("but_for"),
    )
    .values(ended_at=bindparam("now"))
    .returning(sessions.c.id)
)


_COUNT_SESSIONS = Statement(
    select(func.count()).where(sessions.c.ended_at.is_(None), sessions.c.expires_at > bindparam("now"))
)


async def count_sessions(tx: Transaction) -> int:
    """How many are open."""
    row = await tx.one(_COUNT_SESSIONS, now=tx.clock.millis())
    return 0 if row is None else int(row[0])


async def insert_session(tx: Transaction, *, id: str, hash: str, person_id: str, expires_at: int) -> None:
    await tx.run(
        _INSERT_SESSION,
        id=id,
        hash=hash,
        person_id=person_id,
        created_at=tx.clock.now(),
        expires_at=expires_at,
        ended_at=None,
    )


async def select_session(tx: Transaction, hash: str) -> Session | None:
    """One that still works."""
    row = await tx.one(_SELECT_SESSION, hash=hash, now=tx.clock.millis())
    return None if row is None else Session(*row)


async def select_session_by_id(tx: Transaction, id: str) -> Session | None:
    row = await tx.one(_SELECT_SESSION_BY_ID, id=id, now=tx.clock.millis())
    return None if row is None else Session(*row)


async def end_session(tx: Transaction, id: str) -> None:
    await tx.run(_END_SESSION, id_=id, now=tx.clock.now())


async def end_sessions(tx: Transaction, person_id: str, *, but_for: str = "") -> list[str]:
    found = await tx.all(_END_SESSIONS, person_id_=person_id, but_for=but_for, now=tx.clock.now())
    return [row[0] for row in found]


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_INVITE = Statement(insert(invites))
_INVITE_COLUMNS = (
    invites.c.id,
    invites.c.role,
    invites.c.created_by,
    invites.c.created_at,
    invites.c.expires_at,
    invites.c.used_by,
    invites.c.revoked_at,
)
_SELECT_INVITE = Statement(select(*_INVITE_COLUMNS).where(invites.c.hash == bindparam("hash")))
_SELECT_INVITES = Statement(
    select(*_INVITE_COLUMNS)
    .where(
        invites.c.id < bindparam("before"),
        invites.c.used_by.is_(None),
        invites.c.revoked_at.is_(None),
        invites.c.expires_at > bindparam("now"),
    )
    .order_by(invites.c.id.desc())
    .limit(bindparam("limit"))
)
_USE_INVITE = Statement(
    update(invites)
    .where(invites.c.id == bindparam("id_"), invites.c.used_by.is_(None), invites.c.revoked_at.is_(None))
    .values(used_by=bindparam("person_id"))
)
_REVOKE_INVITE = Statement(
    update(invites)
    .where(invites.c.id == bindparam("id_"), invites.c.used_by.is_(None), invites.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)


def _invite(tx: Transaction, row: Row) -> Invite:
    id_, role, created_by, created_at, expires_at, used_by, revoked_at = row
    open_ = used_by is None and revoked_at is None and expires_at > tx.clock.millis()
    return Invite(
        id=id_,
        role=role,
        created_by=created_by,
        created_at=created_at,
        expires_at=tx.clock.at(expires_at),
        open=open_,
    )


async def insert_invite(tx: Transaction, *, id: str, hash: str, role: str, created_by: str, expires_at: int) -> None:
    await tx.run(
        _INSERT_INVITE,
        id=id,
        hash=hash,
        role=role,
        created_by=created_by,
        created_at=tx.clock.now(),
        expires_at=expires_at,
        used_by=None,
        revoked_at=None,
    )


async def select_invite(tx: Transaction, hash: str) -> Invite | None:
    row = await tx.one(_SELECT_INVITE, hash=hash)
    return None if row is None else _invite(tx, row)


async def select_invites(tx: Transaction, *, before: str, limit: int) -> list[Invite]:
    """Those that can still be used."""
    found = await tx.all(_SELECT_INVITES, before=before, limit=limit, now=tx.clock.millis())
    return [_invite(tx, row) for row in found]


async def use_invite(tx: Transaction, id: str, person_id: str) -> bool:
    return await tx.run(_USE_INVITE, id_=id, person_id=person_id) > 0


async def revoke_invite(tx: Transaction, id: str) -> bool:
    return await tx.run(_REVOKE_INVITE, id_=id, now=tx.clock.now()) > 0


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_TOKEN = Statement(insert(tokens))
_TOKEN_COLUMNS = (
    tokens.c.id,
    tokens.c.name,
    tokens.c.kind,
    tokens.c.person_id,
    tokens.c.agent_id,
    tokens.c.tools,
    tokens.c.scopes,
    tokens.c.created_at,
    tokens.c.expires_at,
)
_HOLDERS = (
    select(
        tokens.c.id,
        tokens.c.kind,
        tokens.c.person_id,
        tokens.c.agent_id,
        func.coalesce(people.c.name, agents.c.name),
        people.c.role,
        tokens.c.tools,
        tokens.c.scopes,
        tokens.c.expires_at,
    )
    .select_from(
        tokens.outerjoin(
            people, (people.c.id == tokens.c.person_id) & people.c.disabled_at.is_(None) & _THERE
        ).outerjoin(agents, (agents.c.id == tokens.c.agent_id) & agents.c.deleted_at.is_(None))
    )
    .where(tokens.c.revoked_at.is_(None))
)
_SELECT_HOLDER = Statement(_HOLDERS.where(tokens.c.hash == bindparam("hash")))
_SELECT_HOLDER_BY_ID = Statement(_HOLDERS.where(tokens.c.id == bindparam("id")))
_SELECT_TOKEN = Statement(select(*_TOKEN_COLUMNS).where(tokens.c.id == bindparam("id"), tokens.c.revoked_at.is_(None)))
_SELECT_TOKENS = (
    select(*_TOKEN_COLUMNS)
    .where(tokens.c.revoked_at.is_(None), tokens.c.id < bindparam("before"))
    .order_by(tokens.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_ALL_TOKENS = Statement(_SELECT_TOKENS)
_SELECT_OWN_TOKENS = Statement(_SELECT_TOKENS.where(tokens.c.person_id == bindparam("person_id")))
_REVOKE = Statement(
    update(tokens)
    .where(tokens.c.id == bindparam("id_"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)
_REVOKE_CHILDREN = Statement(
    update(tokens)
    .where(any_of(tokens.c.parent, "parents"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
    .returning(tokens.c.id, tokens.c.person_id, tokens.c.agent_id)
)
_LOCK_TOKEN = Statement(
    select(tokens.c.expires_at).where(tokens.c.id == bindparam("id"), tokens.c.revoked_at.is_(None)).with_for_update()
)


def _names(column: str | None) -> list[str] | None:
    return None if column is None else orjson.loads(column)


def _column(names: list[str] | None) -> str | None:
    return None if names is None else orjson.dumps(names).decode()


def _token(tx: Transaction, row: Row) -> Token:
    id_, name, kind, person_id, agent_id, tools, scopes, created_at, expires_at = row
    return Token(
        id=id_,
        name=name,
        kind=kind,
        person_id=person_id,
        agent_id=agent_id,
        tools=_names(tools),
        scopes=_names(scopes),
        created_at=created_at,
        expires_at=None if expires_at is None else tx.clock.at(expires_at),
    )


async def insert_token(
    tx: Transaction, token: Token, hash: str, *, expires_at: int | None, created_by: str | None, parent: str | None
) -> None:
    await tx.run(
        _INSERT_TOKEN,
        id=token.id,
        hash=hash,
        name=token.name,
        kind=token.kind,
        person_id=token.person_id,
        agent_id=token.agent_id,
        tools=_column(token.tools),
        created_at=token.created_at,
        revoked_at=None,
        scopes=_column(token.scopes),
        expires_at=expires_at,
        created_by=created_by,
        parent=parent,
    )


async def lock_token(tx: Transaction, id: str) -> tuple[bool, int | None]:
    """Does it still work, and until when? Nobody can revoke it meanwhile."""
    row = await tx.one(_LOCK_TOKEN, id=id)
    if row is None or (row[0] is not None and row[0] <= tx.clock.millis()):
        return False, None
    return True, row[0]


async def select_holder(tx: Transaction, hash: str) -> Holder | None:
    """Who holds a token that still works."""
    return _holder(tx, await tx.one(_SELECT_HOLDER, hash=hash))


async def select_holder_by_id(tx: Transaction, id: str) -> Holder | None:
    return _holder(tx, await tx.one(_SELECT_HOLDER_BY_ID, id=id))


def _holder(tx: Transaction, row: Row | None) -> Holder | None:
    if row is None:
        return None
    id_, kind, person_id, agent_id, name, role, tools, scopes, expires_at = row
    if name is None or (expires_at is not None and expires_at <= tx.clock.millis()):
        return None
    return Holder(id_, kind, person_id, agent_id, name, role, _names(tools), _names(scopes), expires_at)


async def select_token(tx: Transaction, id: str) -> Token | None:
    row = await tx.one(_SELECT_TOKEN, id=id)
    return None if row is None else _token(tx, row)


async def select_tokens(tx: Transaction, *, before: str, limit: int, person_id: str | None = None) -> list[Token]:
    """All of them, or one person's."""
    if person_id is None:
        found = await tx.all(_SELECT_ALL_TOKENS, before=before, limit=limit)
    else:
        found = await tx.all(_SELECT_OWN_TOKENS, before=before, limit=limit, person_id=person_id)
    return [_token(tx, row) for row in found]


async def revoke_token(tx: Transaction, id: str) -> bool:
    return await tx.run(_REVOKE, id_=id, now=tx.clock.now()) > 0


async def revoke_children(tx: Transaction, parents: list[str]) -> list[tuple[str, str]]:
    """All that were made with these, and with those in turn: id and holder."""
    found: list[tuple[str, str]] = []
    while parents:
        revoked = await tx.all(_REVOKE_CHILDREN, parents=parents, now=tx.clock.now())
        found += [(id, person_id or agent_id or "") for id, person_id, agent_id in revoked]
        parents = [row[0] for row in revoked]
    return found


# ── accounts elsewhere ──────────────────────────────────────────────────────────────────────────────────────────────

_PUT_ACCOUNT = upsert(bridge_accounts, ["bridge", "account"], ["person_id", "created_at"])
_SELECT_ACCOUNT = Statement(
    select(*_PERSON_COLUMNS)
    .select_from(bridge_accounts.join(people, people.c.id == bridge_accounts.c.person_id))
    .where(bridge_accounts.c.bridge == bindparam("bridge"), bridge_accounts.c.account == bindparam("account"), _THERE)
)
_SELECT_ACCOUNTS_OF = Statement(
    select(bridge_accounts.c.bridge, bridge_accounts.c.account, bridge_accounts.c.created_at)
    .where(bridge_accounts.c.person_id == bindparam("person_id"))
    .order_by(bridge_accounts.c.bridge, bridge_accounts.c.account)
)
_DELETE_ACCOUNTS = Statement(delete(bridge_accounts).where(bridge_accounts.c.person_id == bindparam("person_id")))


async def put_account(tx: Transaction, bridge: str, account: str, person_id: str) -> None:
    """From now on the account is this person's."""
    await tx.run(_PUT_ACCOUNT, bridge=bridge, account=account, person_id=person_id, created_at=tx.clock.now())


async def select_by_account(tx: Transaction, bridge: str, account: str) -> Person | None:
    row = await tx.one(_SELECT_ACCOUNT, bridge=bridge, account=account)
    return None if row is None else _person(row)


async def select_accounts_of(tx: Transaction, person_id: str) -> list[dict[str, str]]:
    found = await tx.all(_SELECT_ACCOUNTS_OF, person_id=person_id)
    return [{"bridge": bridge, "account": account, "createdAt": at} for bridge, account, at in found]


async def delete_accounts(tx: Transaction, person_id: str) -> None:
    await tx.run(_DELETE_ACCOUNTS, person_id=person_id)
