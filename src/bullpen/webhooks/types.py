"""Whoever listens, what they might be told of, and a delivery on its way."""

from __future__ import annotations

from dataclasses import dataclass, field

from bullpen.access.types import Principal
from bullpen.wire.nouns import AuthorKind, PendingKind, Role, WebhookEvent


@dataclass(frozen=True, slots=True)
class Listener:
    """A webhook that is enabled, and its person, with what they still hold of what they held when they made it."""

    webhook_id: str
    person: Principal
    events: frozenset[WebhookEvent]
    members: tuple[str, ...]  # whose mentions
    member: bool  # is its person in the space that this is about


@dataclass(frozen=True, slots=True)
class Listening:
    """A webhook that is enabled, and its person, as their rows hold them."""

    webhook_id: str
    person_id: str
    name: str
    role: Role
    grants: str
    events: tuple[WebhookEvent, ...]
    members: tuple[str, ...]
    member_id: str | None  # None: the person is not in the space that this is about


@dataclass(frozen=True, slots=True)
class Said:
    """A message that mentions somebody."""

    author_id: str
    author_kind: AuthorKind
    text: str
    reply_to: str | None
    cause_id: str | None  # for whom the agent spoke that wrote it


@dataclass(frozen=True, slots=True)
class Place:
    """A space, as far as rights depend on it."""

    name: str
    public: bool
    people: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that waits for somebody."""

    call_id: str
    kind: PendingKind
    agent_id: str
    tool_name: str
    space_id: str | None
    visible: bool
    person_id: str | None = None  # for whom it was made, if it was for a person


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery whose time has come, and the webhook that it is for."""

    id: str
    webhook_id: str
    type: WebhookEvent
    subject_id: str
    space_id: str | None
    attempts: int
    created_at: str


@dataclass(frozen=True, slots=True)
class Address:
    """Where a webhook is, and what is signed with, still sealed."""

    webhook_id: str
    url: str
    key_id: str
    sealed: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent in one attempt."""

    id: str
    attempt: int
    to: Address
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of an attempt: the status of the answer, or why there was none."""

    status: int | None
    error: str | None
    ms: int = 0
