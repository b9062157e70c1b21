"""A principal: who is asking, and with which grants. A thing: what they ask about, as far as rights depend on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bullpen.wire.nouns import Role

Grant = Literal[
    "read_space", "post", "manage_space", "manage_agents", "answer_pending", "schedule", "register_group", "owner"
]
# `tools` is a token that may only answer calls: nobody in particular, so a member of nothing.
PrincipalKind = Literal["person", "agent", "system", "tools"]


@dataclass(frozen=True, slots=True)
class Principal:
    kind: PrincipalKind
    id: str
    name: str
    grants: frozenset[Grant]
    credential: str = ""  # the token or session they came with: what is revoked ends what they opened with it
    tools: frozenset[str] | None = None  # a token that may only answer the calls of these
    serves: str | None = None  # and only those of this agent
    expires_at: int | None = None  # when the credential ends, in milliseconds; None: never

    @property
    def is_owner(self) -> bool:
        return "owner" in self.grants


@dataclass(frozen=True, slots=True)
class Thing:
    """What somebody wants to act on. The default is the office itself."""

    kind: str = "office"
    id: str = ""
    holder: str | None = None  # whose it is: a message's author, a run's agent, a token's person
    causer: str | None = None  # the person for whom it is done: of a run, and of a call of one
    member: bool = False  # is the one who asks a member of the space it is in
    made_it: bool = False  # did the one who asks make the space, or is nobody there who did
    public: bool = False  # may any person know of the space it is in
    tool: str = ""  # whose call it is
    shown: bool = True  # is it there for everybody in the space to see
    people: int = 1  # how many people are in that space: owners look into rooms where agents are alone


OFFICE = Thing()


@dataclass(frozen=True, slots=True)
class Account:
    """A person as signing in needs them."""

    id: str
    name: str
    role: Role
    password: str | None = field(repr=False)  # argon2id; None: they sign in by link or token only
    disabled_at: str | None


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose a token is, and what it is limited to."""

    token_id: str
    kind: str
    person_id: str | None
    agent_id: str | None
    name: str
    role: Role | None
    tools: list[str] | None
    scopes: list[str] | None
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in with it, and until when."""

    id: str
    person_id: str
    name: str
    role: Role
    expires_at: int


@dataclass(frozen=True, slots=True)
class PastSession:
    """What is told of a session when a person is exported."""

    id: str
    created_at: str
    ended_at: str | None
