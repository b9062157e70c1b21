"""SQL for people and tokens."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import bindparam, func, insert, select, update

from bullpen.storage import Row, Statement, Transaction
from bullpen.storage.tables import agents, people, tokens
from bullpen.wire import Token

_INSERT_PERSON = Statement(insert(people))
_SELECT_PERSON = Statement(select(people.c.id, people.c.name, people.c.role).where(people.c.id == bindparam("id")))
_SELECT_OWNER = Statement(
    select(people.c.id, people.c.name, people.c.role).where(people.c.role == "owner").order_by(people.c.id).limit(1)
)
_SELECT_PEOPLE = Statement(
    select(people.c.id, people.c.name, people.c.role, people.c.created_at).order_by(people.c.id.desc()).limit(200)
)
_INSERT_TOKEN = Statement(insert(tokens))
_TOKEN_COLUMNS = (
    tokens.c.id,
    tokens.c.name,
    tokens.c.kind,
    tokens.c.person_id,
    tokens.c.agent_id,
    tokens.c.tools,
    tokens.c.created_at,
)
_SELECT_HOLDER = Statement(
    select(
        tokens.c.kind,
        tokens.c.person_id,
        tokens.c.agent_id,
        func.coalesce(people.c.name, agents.c.name),
        people.c.role,
        tokens.c.id,
    )
    .select_from(
        tokens.outerjoin(people, people.c.id == tokens.c.person_id).outerjoin(
            agents, (agents.c.id == tokens.c.agent_id) & agents.c.deleted_at.is_(None)
        )
    )
    .where(tokens.c.hash == bindparam("hash"), tokens.c.revoked_at.is_(None))
)
_SELECT_TOKENS = Statement(
    select(*_TOKEN_COLUMNS)
    .where(tokens.c.revoked_at.is_(None), tokens.c.id < bindparam("before"))
    .order_by(tokens.c.id.desc())
    .limit(bindparam("limit"))
)
_REVOKE = Statement(
    update(tokens)
    .where(tokens.c.id == bindparam("id_"), tokens.c.revoked_at.is_(None))
    .values(revoked_at=bindparam("now"))
)


async def insert_person(tx: Transaction, *, id: str, name: str, role: str) -> None:
    await tx.run(
        _INSERT_PERSON,
        id=id,
        name=name,
        role=role,
        login=name.casefold(),
        password=None,
        disabled_at=None,
        erased_at=None,
        created_at=tx.clock.now(),
    )


async def select_person(tx: Transaction, id: str) -> Row | None:
    return await tx.one(_SELECT_PERSON, id=id)


async def select_owner(tx: Transaction) -> Row | None:
    """The first owner: id, name, role."""
    return await tx.one(_SELECT_OWNER)


async def select_people(tx: Transaction) -> list[dict[str, Any]]:
    return [
        {"id": id_, "name": name, "role": role, "createdAt": at} for id_, name, role, at in await tx.all(_SELECT_PEOPLE)
    ]


async def insert_token(tx: Transaction, token: Token, hash: str) -> None:
    await tx.run(
        _INSERT_TOKEN,
        id=token.id,
        hash=hash,
        name=token.name,
        kind=token.kind,
        person_id=token.person_id,
        agent_id=token.agent_id,
        tools=None if token.tools is None else orjson.dumps(token.tools).decode(),
        created_at=token.created_at,
        revoked_at=None,
        scopes=None,
        expires_at=None,
        created_by=None,
    )


async def select_holder(tx: Transaction, hash: str) -> Row | None:
    """Who holds a token: kind, person id, agent id, name, role, and the token's own id."""
    return await tx.one(_SELECT_HOLDER, hash=hash)


async def select_tokens(tx: Transaction, *, before: str, limit: int) -> list[Token]:
    return [
        Token(
            id=id_,
            name=name,
            kind=kind,
            person_id=person_id,
            agent_id=agent_id,
            tools=None if tools is None else orjson.loads(tools),
            created_at=created_at,
        )
        for id_, name, kind, person_id, agent_id, tools, created_at in await tx.all(
            _SELECT_TOKENS, before=before, limit=limit
        )
    ]


async def revoke_token(tx: Transaction, id: str) -> bool:
    return await tx.run(_REVOKE, id_=id, now=tx.clock.now()) > 0
