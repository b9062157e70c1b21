"""What crosses the network: nouns, requests, events, errors.

Imports pydantic and nothing of ours, so the SDK can be used without the server. Every model is frozen, speaks
camelCase on the way out and understands both spellings on the way in. Keys inside `args`, `result`,
`inputSchema`, `metadata`, `env` and `payload` belong to their owners and are never renamed.
"""

from bullpen.wire.events import LIVE_EVENTS, STORED_EVENTS, AnyEvent, parse_event
from bullpen.wire.nouns import (
    Agent,
    Limits,
    Member,
    Message,
    Reaction,
    Run,
    RunMessage,
    Space,
    Token,
    Trigger,
    Usage,
    Wake,
    Wire,
)

__all__ = [
    "LIVE_EVENTS",
    "STORED_EVENTS",
    "Agent",
    "AnyEvent",
    "Limits",
    "Member",
    "Message",
    "Reaction",
    "Run",
    "RunMessage",
    "Space",
    "Token",
    "Trigger",
    "Usage",
    "Wake",
    "Wire",
    "parse_event",
]
