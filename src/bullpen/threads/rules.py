"""What each scope means for its threads: home and anchor, past, inbox, rights. Pure.

`SCOPES` has a row per scope. Code that depends on a thread's scope looks it up there and does not compare scopes, so a
new scope is a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bullpen.threads.types import ScopeRules
from bullpen.wire.nouns import ThreadScope

SCOPES: Final[Mapping[ThreadScope, ScopeRules]] = {
    # An agent in one space. The default.
    "space": ScopeRules("space", "home", "messages", hears_messages=True, has_own_grants=False),
    # One mind across all spaces of its agent.
    "agent": ScopeRules("agent", "spoken_in", "runs", hears_messages=True, has_own_grants=False),
    # One piece of work without history: an isolated task, a skill, a trigger.
    "fresh": ScopeRules("work", "home", "nothing", hears_messages=False, has_own_grants=True),
    # A subagent, which its parent may ask again: it remembers its own runs. Nothing makes one yet.
    "child": ScopeRules("work", "home", "runs", hears_messages=False, has_own_grants=True),
}


def anchor_of(scope: ThreadScope, *, id: str, space_id: str | None) -> str:
    """What makes a thread the only one of its agent and scope."""
    match SCOPES[scope].anchor:
        case "space":
            return space_id or ""
        case "agent":
            return ""
        case "work":
            return id


def home_of(scope: ThreadScope, space_id: str | None) -> str | None:
    return space_id if SCOPES[scope].begins_in == "home" else None


def scope_in(scope: ThreadScope, *, stays: bool) -> ThreadScope:
    """The scope of an agent's thread in a space: where what is done stays in the space, no mind spans others too."""
    return "space" if stays and SCOPES[scope].spans_spaces else scope
