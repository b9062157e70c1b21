"""A row of the outbox, what a bridge is given to send, and what can come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from bullpen.wire.nouns import AuthorKind, File, MessageStatus, MessageType, OutboxKind, OutboxStatus


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the outbox. outbox/rules.py says how it changes."""

    number: int
    bridge: str
    chat: str
    space_id: str
    message_id: str
    kind: OutboxKind
    member_id: str | None
    emoji: str | None
    status: OutboxStatus
    part: int
    attempts: int
    failures: int
    next_at: int
    repeated_part: int | None
    error: str | None
    created_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class Said:
    """A message as the outbox reads it when it is sent."""

    space_id: str
    author_id: str
    author_kind: AuthorKind
    type: MessageType
    text: str
    reply_to: str | None
    deleted_at: str | None
    status: MessageStatus
    metadata: dict[str, Any]
    cause_id: str | None  # for whom its author spoke


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One thing to send: a message, or a part of it, or what became of one that is there."""

    entry: Entry
    author_name: str = ""
    author_kind: AuthorKind = "system"
    type: MessageType = "text"
    text: str = field(default="", repr=False)
    files: tuple[File, ...] = ()
    reply_to: str | None = None  # what the other side calls the message that this one answers
    remote_ids: tuple[str, ...] = ()  # what it calls the message that is changed; of a message, its parts so far
    emoji: str | None = None
    added: bool = True  # a reaction: was it added, or taken back

    @property
    def kind(self) -> OutboxKind:
        return self.entry.kind

    @property
    def address(self) -> str:
        """The chat, as the bridge itself calls it."""
        return self.entry.chat.partition(":")[2]

    @property
    def part(self) -> int:
        return self.entry.part

    @property
    def repeated(self) -> bool:
        """The answer to an earlier attempt was lost: this may be there already."""
        return self.entry.repeated_part == self.entry.part

    @property
    def key(self) -> str:
        """The same for every attempt, and for nothing else: for services that refuse what they have seen."""
        return f"{self.entry.message_id}/{self.entry.number}/{self.entry.part}"


@dataclass(frozen=True, slots=True)
class Sent:
    """It is there. `more`: that was one part of the message, and the next can be sent."""

    remote_id: str | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """It is not there, and may be later. `after`: the other side asked to wait so many seconds, which is no failure."""

    reason: str
    after: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """It is not there and never will be."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer came: it may be there or not."""

    reason: str


Result: TypeAlias = Sent | Retry | Refused | Unknown


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be sent to this chat before then."""

    millis: int
    why: Literal["later", "leased elsewhere"]


@dataclass(frozen=True, slots=True)
class Health:
    """What a bridge says of itself."""

    ok: bool
    text: str  # a sentence for owners


@dataclass(frozen=True, slots=True)
class Queue:
    """How much waits for a bridge."""

    unsent: int
    dead: int
    oldest_at: str | None
    error: str | None  # of the oldest entry that failed and is tried again
