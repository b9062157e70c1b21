"""The port: what a bridge is to us, and what it tells us of.

A bridge knows one service: how to send to it, what it takes, what it calls things. It knows nothing of spaces, people
or the database. docs/guide/bridges.md is for those who write one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from bullpen.outbox.types import Health, Outgoing, Refused, Result, Retry, Sent, Unknown

# All that a bridge needs, from one place.
__all__ = [
    "Bridge",
    "Health",
    "Outgoing",
    "Pace",
    "Received",
    "Refused",
    "Result",
    "Retry",
    "Sent",
    "Unknown",
    "Update",
]


@dataclass(frozen=True, slots=True)
class Pace:
    """At most so many in so many seconds."""

    count: int
    seconds: float


class Bridge(Protocol):
    """`name` is what the ids of its chats begin with, as tg in tg:-1001234567890."""

    @property
    def name(self) -> str: ...

    @property
    def chat_paces(self) -> tuple[Pace, ...]:
        """How much one chat takes."""

    @property
    def paces(self) -> tuple[Pace, ...]:
        """How much the service takes in all."""

    async def send(self, item: Outgoing) -> Result:
        """One attempt. An exception means that nobody knows whether it arrived."""

    async def health(self) -> Health: ...


@dataclass(frozen=True, slots=True)
class Update:
    """A message that somebody wrote in a chat elsewhere. `id` is the same whenever the service tells of it again."""

    id: str
    address: str  # the chat, as the bridge calls it
    chat_name: str
    account: str  # who wrote it: an id that does not change
    account_name: str
    remote_id: str  # what the service calls the message
    text: str = field(repr=False)
    reply_to: str | None = None  # what it calls the message that this one answers


@dataclass(frozen=True, slots=True)
class Received:
    """What became of an update. `reason` says why there is no message."""

    status: Literal["posted", "duplicate", "unregistered", "refused"]
    message_id: str | None = None
    reason: str | None = None
