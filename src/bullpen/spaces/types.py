"""A space as posting needs it, the rules of posting, an author, and a message on its way to having a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bullpen.access import rules as access
from bullpen.inbox.types import Cause
from bullpen.settings import FileSettings, Settings
from bullpen.wire import Message
from bullpen.wire.nouns import AuthorKind, File, MessageStatus, MessageType, WakePolicy


@dataclass(frozen=True, slots=True)
class Room:
    """The part of a space that decides who is woken and who may see what."""

    id: str
    kind: str
    name: str
    private: bool
    main: bool
    wake_people: WakePolicy
    wake_agents: WakePolicy
    trigger: str | None
    last_seq: int
    archived_at: str | None = None  # nobody writes there since then
    created_by: str = ""

    @property
    def stays(self) -> bool:
        """Does what is done in it stay in it? Then an agent has a line of thought for it alone."""
        return access.preset(self.kind, self.main).stays


@dataclass(frozen=True, slots=True)
class Home:
    """A space as a run in it needs it: which model it asks for, if it does, and whose clocks are looked at."""

    room: Room
    provider: str | None
    model: Any
    timezone: str | None


@dataclass(frozen=True, slots=True)
class PostingRules:
    """What the operator says about posting. Made once from the settings; every post is given them whole."""

    chain_limit: int = 3  # so many links of agents waking agents
    group_wait_ms: int = 30_000  # so long each agent of a batch waits for the one before
    agents_per_minute: int = 0  # how much the agents of a space may say together; 0: as much as they like
    files: FileSettings = field(default_factory=FileSettings)

    @classmethod
    def from_settings(cls, settings: Settings) -> PostingRules:
        return cls(
            chain_limit=settings.limits.chain_depth,
            group_wait_ms=int(settings.engine.group_wait_seconds * 1000),
            agents_per_minute=settings.limits.agent_messages_per_minute,
            files=settings.files,
        )


@dataclass(frozen=True, slots=True)
class Audience:
    """Who reads what is said in a space."""

    members: frozenset[str]
    public: bool  # everybody in the office
    bridged: bool  # and people in a chat elsewhere

    def is_within(self, other: Audience) -> bool:
        """Could everybody who reads here read there as well?"""
        if self.bridged:
            return False
        return other.public or (not self.public and self.members <= other.members)


@dataclass(frozen=True, slots=True)
class Author:
    """Who speaks, and on whose behalf: an agent's words carry the depth and chain of the run that speaks them."""

    id: str
    kind: AuthorKind
    name: str
    cause: Cause
    run_id: str | None = None
    depth: int = 0
    chain_id: str | None = None
    outside: tuple[str, ...] = ()  # where text came from that the run has read, if from outside the office
    via: str | None = None  # the chat elsewhere in which they speak: what they say there is not sent there again


@dataclass(frozen=True, slots=True)
class Numbered:
    """The place of a new message in its space, and who besides its members has to hear of it."""

    seq: int
    anybody_listens: bool  # does any webhook
    chat: str | None  # the chat elsewhere that the space is, if its bridge was connected


@dataclass(slots=True)
class Draft:
    """A message that is being posted; `message` is there once the transaction has numbered it."""

    id: str
    space_id: str
    author: Author
    text: str
    type: MessageType = "text"
    status: MessageStatus = "complete"
    reply_to: str | None = None
    answers: str | None = None  # whom it replies to
    client_message_id: str | None = None
    attachments: list[File] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    chain_id: str = ""
    wake: str | None = None  # the policy it met
    agents_per_minute: int = 0  # how much the agents of the space may say; 0: as much as they like
    created: bool = True
    message: Message | None = None

    def done(self) -> Message:
        assert self.message is not None, "asked for before the transaction ended"
        return self.message


@dataclass(frozen=True, slots=True)
class SpaceRow:
    """A row of `spaces`, and how far its reader has come."""

    room: Room
    options: dict[str, Any]
    created_at: str
    read_seq: int | None  # None: they are no member
