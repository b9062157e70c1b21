"""SQL for people, their sessions and invites, and tokens."""

from __future__ import annotations

import unicodedata

from sqlalchemy import bindparam, delete, func, insert, or_, select, union_all, update

from bullpen.access.types import Account, Holder, PastSession, Session
from bullpen.storage import Row, Statement, Transaction, any_of
from bullpen.storage.mapped import JSON, MILLIS, Mapped
from bullpen.storage.statements import insert_or_ignore, upsert
from bullpen.storage.tables import agents, bridge_accounts, invites, meta, people, portraits, sessions, tokens
from bullpen.wire import Token
from bullpen.wire.nouns import Invite, OpenSession, Person

CLAIMED = "claimed"
_LIST = JSON._replace(empty=[])


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
_AVATAR = select(portraits.c.file_id).where(portraits.c.holder_id == people.c.id).scalar_subquery()
_PEOPLE = Mapped(Person, people, others={"avatar": _AVATAR})
_ACCOUNTS = Mapped(Account, people)
_CHANGING = ("name", "role", "disabled_at")
_THERE = people.c.erased_at.is_(None)
_SELECT_PERSON = Statement(select(*_PEOPLE.columns).where(people.c.id == bindparam("id"), _THERE))
_SELECT_OWNERS = Statement(
    select(*_PEOPLE.columns)
    .where(people.c.role == "owner", people.c.disabled_at.is_(None), _THERE)
    .order_by(people.c.id)
    .limit(bindparam("limit"))
)
_SELECT_PEOPLE = Statement(
    select(*_PEOPLE.columns)
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
_SELECT_BY_LOGIN = Statement(select(*_ACCOUNTS.columns).where(people.c.login == bindparam("login"), _THERE))
_SELECT_PASSWORD = Statement(select(people.c.password).where(people.c.id == bindparam("id"), _THERE))
_UPDATE_PERSON = Statement(
    update(people)
    .where(people.c.id == bindparam("id_"))
    .values({name: bindparam(name) for name in (*_CHANGING, "login")})
)
_UPDATE_PASSWORD = Statement(
    update(people).where(people.c.id == bindparam("id_")).values(password=bindparam("password"))
)


async def insert_person(tx: Transaction, person: Person, password: str | None = None, *, sign_in: bool = True) -> None:
    name = login(person.name) if sign_in else None
    await tx.run(_INSERT_PERSON, **_PEOPLE.write(person), login=name, password=password, erased_at=None)


async def select_person(tx: Transaction, id: str) -> Person | None:
    return _PEOPLE.read_one(await tx.one(_SELECT_PERSON, id=id))


async def select_owners(tx: Transaction, limit: int) -> list[Person]:
    """Those who can act as owner, oldest first."""
    return _PEOPLE.read_all(await tx.all(_SELECT_OWNERS, limit=limit))


async def select_people(tx: Transaction, *, before: str, limit: int) -> list[Person]:
    return _PEOPLE.read_all(await tx.all(_SELECT_PEOPLE, before=before, limit=limit))


async def select_names(tx: Transaction) -> list[tuple[str, str]]:
    """Everybody's id and name, people's and agents'."""
    return [(id, name) for id, name in await tx.all(_SELECT_NAMES)]


async def select_by_login(tx: Transaction, name: str) -> Account | None:
    return _ACCOUNTS.read_one(await tx.one(_SELECT_BY_LOGIN, login=login(name)))


async def select_password(tx: Transaction, id: str) -> str | None:
    password: str | None = await tx.value(_SELECT_PASSWORD, id=id)
    return password


async def update_person(tx: Transaction, person: Person) -> None:
    kept = _PEOPLE.write(person)
    changed = {name: kept[name] for name in _CHANGING}
    await tx.run(_UPDATE_PERSON, id_=person.id, login=login(person.name), **changed)


async def update_password(tx: Transaction, id: str, password: str) -> None:
    await tx.run(_UPDATE_PASSWORD, id_=id, password=password)


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_SESSION = Statement(insert(sessions))
_SESSIONS = Mapped(Session, sessions, others={"name": people.c.name, "role": people.c.role})
_OPEN_SESSIONS = (
    select(*_SESSIONS.columns)
    .select_from(sessions.join(people, people.c.id == sessions.c.person_id))
    .where(
        sessions.c.ended_at.is_(None),
        sessions.c.expires_at > bindparam("now"),
        people.c.disabled_at.is_(None),
        _THERE,
    )
)
_SELECT_SESSION = Statement(_OPEN_SESSIONS.where(sessions.c.hash == bindparam("hash")))
_SELECT_SESSION_BY_ID = Statement(_OPEN_SESSIONS.where(sessions.c.id == bindparam("id")))
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


# Those that work now, of one person or of everybody, newest first.
_SIGNED_IN = Mapped(OpenSession, sessions, others={"name": people.c.name}, given=("current",), expires_at=MILLIS)
_SELECT_SESSIONS = Statement(
    select(*_SIGNED_IN.columns)
    .select_from(sessions.join(people, people.c.id == sessions.c.person_id))
    .where(
        sessions.c.ended_at.is_(None),
        sessions.c.expires_at > bindparam("now"),
        sessions.c.id < bindparam("before"),
        or_(bindparam("person_id") == "", sessions.c.person_id == bindparam("person_id")),
    )
    .order_by(sessions.c.id.desc())
    .limit(bindparam("limit"))
)
_COUNT_SESSIONS = Statement(
    select(func.count()).where(sessions.c.ended_at.is_(None), sessions.c.expires_at > bindparam("now"))
)


async def count_sessions(tx: Transaction) -> int:
    """How many are open."""
    return int(await tx.value(_COUNT_SESSIONS, now=tx.clock.millis()))


async def insert_session(
    tx: Transaction, *, id: str, hash: str, person_id: str, expires_at: int, device: str | None = None
) -> None:
    await tx.run(
        _INSERT_SESSION,
        id=id,
        hash=hash,
        person_id=person_id,
        created_at=tx.clock.now(),
        expires_at=expires_at,
        ended_at=None,
        device=device,
    )


async def select_open_sessions(
    tx: Transaction, *, before: str, limit: int, person_id: str | None, current: str
) -> list[OpenSession]:
    """Newest first; of everybody where no person is named. `current` is the one that asks."""
    found = await tx.all(_SELECT_SESSIONS, before=before, limit=limit, person_id=person_id or "", now=tx.clock.millis())
    shown = [_SIGNED_IN.read(row, current=False) for row in found]
    return [one.model_copy(update={"current": True}) if one.id == current else one for one in shown]


async def select_session(tx: Transaction, hash: str) -> Session | None:
    """One that still works."""
    return _SESSIONS.read_one(await tx.one(_SELECT_SESSION, hash=hash, now=tx.clock.millis()))


async def select_session_by_id(tx: Transaction, id: str) -> Session | None:
    return _SESSIONS.read_one(await tx.one(_SELECT_SESSION_BY_ID, id=id, now=tx.clock.millis()))


async def end_session(tx: Transaction, id: str) -> None:
    await tx.run(_END_SESSION, id_=id, now=tx.clock.now())


async def end_sessions(tx: Transaction, person_id: str, *, but_for: str = "") -> list[str]:
    return await tx.values(_END_SESSIONS, person_id_=person_id, but_for=but_for, now=tx.clock.now())


# ── invites ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_INSERT_INVITE = Statement(insert(invites))
_INVITES = Mapped(Invite, invites, given=("open",), space_ids=_LIST, expires_at=MILLIS)
_INVITE_COLUMNS = (*_INVITES.columns, invites.c.expires_at, invites.c.used_by, invites.c.revoked_at)
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
    *columns, expires_at, used_by, revoked_at = row
    is_open = used_by is None and revoked_at is None and expires_at > tx.clock.millis()
    return _INVITES.read(columns, open=is_open)


async def insert_invite(tx: Transaction, invite: Invite, hash: str) -> None:
    await tx.run(_INSERT_INVITE, **_INVITES.write(invite), hash=hash, used_by=None, revoked_at=None)


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
_TOKENS = Mapped(Token, tokens, tools=JSON, scopes=JSON, expires_at=MILLIS)
_HOLDERS = Mapped(
    Holder, tokens, others={"token_id": tokens.c.id, "role": people.c.role}, given=("name",), tools=JSON, scopes=JSON
)
_HELD = (
    select(*_HOLDERS.columns, func.coalesce(people.c.name, agents.c.name))
    .select_from(
        tokens.outerjoin(
            people, (people.c.id == tokens.c.person_id) & people.c.disabled_at.is_(None) & _THERE
        ).outerjoin(agents, (agents.c.id == tokens.c.agent_id) & agents.c.deleted_at.is_(None))
    )
    .where(tokens.c.revoked_at.is_(None))
)
_SELECT_HOLDER = Statement(_HELD.where(tokens.c.hash == bindparam("hash")))
_SELECT_HOLDER_BY_ID = Statement(_HELD.where(tokens.c.id == bindparam("id")))
_SELECT_TOKEN = Statement(select(*_TOKENS.columns).where(tokens.c.id == bindparam("id"), tokens.c.revoked_at.is_(None)))
_SELECT_TOKENS = (
    select(*_TOKENS.columns)
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


async def insert_token(tx: Transaction, token: Token, hash: str, *, created_by: str | None, parent: str | None) -> None:
    kept = _TOKENS.write(token)
    await tx.run(_INSERT_TOKEN, **kept, hash=hash, revoked_at=None, created_by=created_by, parent=parent)


async def lock_token(tx: Transaction, id: str) -> tuple[bool, int | None]:
    """Does it still work, and until when? Nobody can revoke it meanwhile."""
    row = await tx.one(_LOCK_TOKEN, id=id)
    if row is None:
        return False, None
    (expires_at,) = row
    if expires_at is not None and expires_at <= tx.clock.millis():
        return False, None
    return True, expires_at


async def select_holder(tx: Transaction, hash: str) -> Holder | None:
    """Who holds a token that still works."""
    return _holder(tx, await tx.one(_SELECT_HOLDER, hash=hash))


async def select_holder_by_id(tx: Transaction, id: str) -> Holder | None:
    return _holder(tx, await tx.one(_SELECT_HOLDER_BY_ID, id=id))


def _holder(tx: Transaction, row: Row | None) -> Holder | None:
    if row is None:
        return None
    *columns, name = row
    if name is None:  # the person is disabled, or the agent deleted
        return None
    holder = _HOLDERS.read(columns, name=name)
    over = holder.expires_at is not None and holder.expires_at <= tx.clock.millis()
    return None if over else holder


async def select_token(tx: Transaction, id: str) -> Token | None:
    return _TOKENS.read_one(await tx.one(_SELECT_TOKEN, id=id))


async def select_tokens(tx: Transaction, *, before: str, limit: int, person_id: str | None = None) -> list[Token]:
    """All of them, or one person's."""
    if person_id is None:
        return _TOKENS.read_all(await tx.all(_SELECT_ALL_TOKENS, before=before, limit=limit))
    return _TOKENS.read_all(await tx.all(_SELECT_OWN_TOKENS, before=before, limit=limit, person_id=person_id))


async def revoke_token(tx: Transaction, id: str) -> bool:
    return await tx.run(_REVOKE, id_=id, now=tx.clock.now()) > 0


async def revoke_children(tx: Transaction, parents: list[str]) -> list[tuple[str, str]]:
    """All that were made with these, and with those in turn: id and holder."""
    found: list[tuple[str, str]] = []
    while parents:
        revoked = await tx.all(_REVOKE_CHILDREN, parents=parents, now=tx.clock.now())
        found += [(id, person_id or agent_id or "") for id, person_id, agent_id in revoked]
        parents = [id for id, _, _ in revoked]
    return found


# ── upkeep ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_END_ALL_SESSIONS = Statement(update(sessions).where(sessions.c.ended_at.is_(None)).values(ended_at=bindparam("now")))
_SELECT_OVER = Statement(
    select(sessions.c.id)
    .where(or_(sessions.c.expires_at < bindparam("millis"), sessions.c.ended_at < bindparam("at")))
    .limit(bindparam("limit"))
)
_DELETE_OVER = Statement(delete(sessions).where(any_of(sessions.c.id, "ids")))
_SELECT_SPENT = Statement(
    select(invites.c.id)
    .where(
        invites.c.created_at < bindparam("at"),
        or_(
            invites.c.used_by.is_not(None),
            invites.c.revoked_at.is_not(None),
            invites.c.expires_at < bindparam("millis"),
        ),
    )
    .limit(bindparam("limit"))
)
_DELETE_SPENT = Statement(delete(invites).where(any_of(invites.c.id, "ids")))
_ERASE_PERSON = Statement(
    update(people)
    .where(people.c.id == bindparam("id_"))
    .values(
        name=bindparam("name_"),
        role="member",
        login=None,
        password=None,
        disabled_at=bindparam("now"),
        erased_at=bindparam("now"),
    )
)
_DELETE_SESSIONS_OF = Statement(delete(sessions).where(sessions.c.person_id == bindparam("id_")))
_REVOKE_TOKENS_OF = Statement(
    update(tokens)
    .where(or_(tokens.c.person_id == bindparam("id_"), tokens.c.agent_id == bindparam("id_")))
    .values(name="", revoked_at=func.coalesce(tokens.c.revoked_at, bindparam("now", type_=tokens.c.revoked_at.type)))
    .returning(tokens.c.id)
)
_PAST_SESSIONS = Mapped(PastSession, sessions)
_SELECT_SESSIONS_OF = Statement(
    select(*_PAST_SESSIONS.columns).where(sessions.c.person_id == bindparam("person_id")).order_by(sessions.c.id)
)


async def end_all_sessions(tx: Transaction) -> None:
    await tx.run(_END_ALL_SESSIONS, now=tx.clock.now())


async def delete_ended(tx: Transaction, millis: int, limit: int) -> int:
    """Sessions that ended, and invites that were used or ran out, before this moment."""
    at = tx.clock.at(millis)
    over = await tx.values(_SELECT_OVER, millis=millis, at=at, limit=limit)
    spent = await tx.values(_SELECT_SPENT, millis=millis, at=at, limit=limit)
    if over:
        await tx.run(_DELETE_OVER, ids=over)
    if spent:
        await tx.run(_DELETE_SPENT, ids=spent)
    return len(over) + len(spent)


async def erase_person(tx: Transaction, id: str, name: str) -> None:
    """The row stays, under this name."""
    await tx.run(_ERASE_PERSON, id_=id, name_=name, now=tx.clock.now())
    await tx.run(_DELETE_SESSIONS_OF, id_=id)


async def erase_tokens(tx: Transaction, holder_id: str) -> list[tuple[str, str]]:
    """Revoke the tokens of a person or an agent, and those made with them; of these, id and holder."""
    return await revoke_children(tx, await tx.values(_REVOKE_TOKENS_OF, id_=holder_id, now=tx.clock.now()))


async def select_sessions(tx: Transaction, person_id: str) -> list[PastSession]:
    """All that a person ever had."""
    return _PAST_SESSIONS.read_all(await tx.all(_SELECT_SESSIONS_OF, person_id=person_id))


# ── accounts elsewhere ──────────────────────────────────────────────────────────────────────────────────────────────

_PUT_ACCOUNT = upsert(bridge_accounts, ["bridge", "account"], ["person_id", "created_at"])
_SELECT_ACCOUNT = Statement(
    select(*_PEOPLE.columns)
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
    return _PEOPLE.read_one(await tx.one(_SELECT_ACCOUNT, bridge=bridge, account=account))


async def select_accounts_of(tx: Transaction, person_id: str) -> list[dict[str, str]]:
    found = await tx.all(_SELECT_ACCOUNTS_OF, person_id=person_id)
    return [{"bridge": bridge, "account": account, "createdAt": at} for bridge, account, at in found]


async def delete_accounts(tx: Transaction, person_id: str) -> None:
    await tx.run(_DELETE_ACCOUNTS, person_id=person_id)
