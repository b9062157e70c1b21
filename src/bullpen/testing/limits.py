"""Limits for tests that are about something else: as many requests, messages and streams as they like."""

from __future__ import annotations

from bullpen.settings import LimitSettings

UNLIMITED = LimitSettings(
    requests_per_minute=0,
    messages_per_minute=0,
    reactions_per_minute=0,
    typing_per_minute=0,
    edits_per_minute=0,
    agent_messages_per_minute=0,
    streams_per_person=0,
    guesses_per_minute=0,
)
# The same for a process, as its environment.
NO_LIMITS = {
    f"BULLPEN_LIMITS__{name.upper()}": "0"
    for name in (
        "requests_per_minute",
        "messages_per_minute",
        "reactions_per_minute",
        "typing_per_minute",
        "edits_per_minute",
        "agent_messages_per_minute",
        "streams_per_person",
    )
}
