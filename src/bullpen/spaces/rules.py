"""Who is addressed by a message, and how a space wakes its agents. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from bullpen.wire import Wake
from bullpen.wire.nouns import SpaceKind, WakePolicy
from bullpen.wire.requests import WakeRequest

# How far ahead of time the agents of a space may speak: a minute's worth at once, then one at a time.
AGENT_WINDOW_MS = 60_000


def agent_price(per_minute: int) -> int:
    """What one message of an agent costs, in milliseconds of the window."""
    return AGENT_WINDOW_MS // per_minute


def default_wake(kind: SpaceKind, *, main: bool) -> Wake:
    match kind:
        case "dm":
            return Wake(people="all", agents="all")
        case "channel":
            return Wake(people="mention", agents="mention")
        case "group":
            return Wake(people="all" if main else "trigger", agents="none")


def wake(kind: SpaceKind, asked: WakeRequest, *, main: bool) -> Wake:
    """What was asked for, and the kind's default for the rest. A DM always wakes its other side."""
    default = default_wake(kind, main=main)
    if kind == "dm":
        return default
    return Wake(people=asked.people or default.people, agents=asked.agents or default.agents)


@lru_cache(maxsize=4096)
def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w@]){re.escape(word)}(?![\w-])", re.IGNORECASE)


def says(text: str, word: str) -> bool:
    """Does the text hold this word, any case, not as a part of another?"""
    return _word(word).search(text) is not None


def mentions(text: str, *, id: str, name: str) -> bool:
    """`@id` or `@Name`, any case, at a word boundary."""
    return "@" in text and (says(text, f"@{id}") or says(text, f"@{name}"))


# What is kept of a message that is a command or starts a skill, instead of the policy it met, with a name behind the
# colon.
COMMAND: Final = "command"
SKILL: Final = "skill"
_SLASH: Final = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?", re.DOTALL)


def slash(text: str) -> tuple[str, str] | None:
    """`/word`, and what stands behind it. What the word means, if anything, is decided above.

    Nothing else takes such messages apart: the page, programs and bridges all say what people wrote.
    """
    found = _SLASH.fullmatch(text.strip())
    return None if found is None else (found[1], found[2] or "")


def written(policy: WakePolicy, trigger: str | None) -> str:
    """The policy that a message met, as it is kept with it: all | mention | none | trigger:WORD."""
    return f"trigger:{trigger or ''}" if policy == "trigger" else policy


def nobody_wakes(policy: WakePolicy, text: str, *, replied: bool, trigger: str | None) -> bool:
    """True when it is plain without looking at the members: most messages of a busy channel end here."""
    match policy:
        case "none":
            return True
        case "mention":
            return "@" not in text and not replied
        case "trigger":
            return not says(text, trigger) if trigger is not None else "@" not in text and not replied
        case "all":
            return False
