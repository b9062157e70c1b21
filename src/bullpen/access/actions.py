"""Make people and tokens; turn a token into a principal.

A token is 32 random bytes behind a prefix; only its SHA-256 is kept. Looking one up by its hash needs no
constant-time compare: the attacker does not choose the hash.
"""

from __future__ import annotations

import secrets
from hashlib import sha256

from bullpen import ids
from bullpen.access import rows, rules
from bullpen.access.types import Principal
from bullpen.errors import Invalid, NotFound
from bullpen.storage import Transaction
from bullpen.wire import Token

PREFIX = "bp_"


def hashed(token: str) -> str:
    return sha256(token.encode()).hexdigest()


async def find_owner(tx: Transaction) -> Principal | None:
    found = await rows.select_owner(tx)
    return None if found is None else Principal(kind="person", id=found[0], name=found[1], grants=rules.OWNER)


async def ensure_owner(tx: Transaction, name: str) -> tuple[Principal, bool]:
    """The first owner, made now if there is none: whoever may do this claims the server."""
    found = await find_owner(tx)
    if found is not None:
        return found, False
    id = ids.person()
    await rows.insert_person(tx, id=id, name=name, role="owner")
    return Principal(kind="person", id=id, name=name, grants=rules.OWNER), True


async def create_token(
    tx: Transaction,
    name: str,
    *,
    person_id: str | None = None,
    agent_id: str | None = None,
    tools: list[str] | None = None,
) -> tuple[Token, str]:
    """A token and its value, which is shown this once. The caller has checked that the agent exists."""
    if (person_id is None) == (agent_id is None):
        raise Invalid(
            "A token belongs to one person or to one agent.", fields={"agentId": "say one of agentId, personId"}
        )
    value = PREFIX + secrets.token_urlsafe(32)
    kind = "agent" if person_id is None else await _kind_of(tx, person_id)
    token = Token(
        id=ids.token(),
        name=name,
        kind="tools" if tools is not None else kind,  # type: ignore[arg-type]
        person_id=person_id,
        agent_id=agent_id,
        tools=tools,
        created_at=tx.clock.now(),
    )
    await rows.insert_token(tx, token, hashed(value))
    return token, value


async def _kind_of(tx: Transaction, person_id: str) -> str:
    person = await rows.select_person(tx, person_id)
    if person is None:
        raise NotFound(f"There is no person {person_id!r}.")
    return "owner" if person[2] == "owner" else "person"


async def principal_of(tx: Transaction, token: str) -> Principal | None:
    holder = await rows.select_holder(tx, hashed(token))
    if holder is None or holder[3] is None:
        return None
    kind, person_id, agent_id, name, role, id = holder
    if kind == "tools":
        return Principal(kind="tools", id=id, name=name, grants=frozenset())
    if agent_id is not None:
        return Principal(kind="agent", id=agent_id, name=name, grants=rules.AGENT)
    grants = rules.OWNER if role == "owner" else rules.PERSON
    return Principal(kind="person", id=person_id, name=name, grants=grants)
