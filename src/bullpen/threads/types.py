"""A thread as the server keeps it, and what a scope says of its threads.

The table of scopes is in `rules.py`. What changes from moment to moment (state, epoch, when it was queued) is not part
of a `Thread`: it is read under a lock, in `rows.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bullpen.wire.nouns import ThreadScope

# What an agent has one thread for: each space, all of its spaces, or each piece of work.
Anchor: TypeAlias = Literal["space", "agent", "work"]
# What a run is shown of the time before it: the messages of its space, the thread's own runs, or nothing.
Past: TypeAlias = Literal["messages", "runs", "nothing"]
# In which space a run begins: the thread's home, or the space in which the agent was spoken to.
Beginning: TypeAlias = Literal["home", "spoken_in"]


@dataclass(frozen=True, slots=True)
class Thread:
    """A row of `threads`."""

    id: str
    agent_id: str
    scope: ThreadScope
    anchor: str  # with agent and scope, what makes it the only one
    space_id: str | None  # its home
    active_space_id: str | None  # where its agent is now
    created_at: str
    run_count: int = 0
    cause_kind: str | None = None  # a thread made for one piece of work has that work's cause and grants
    cause_id: str | None = None
    grants: str | None = None  # nothing in it ever holds more; None: as much as the cause of each run
    parent_id: str | None = None  # the thread that made it, for a child
    scoped_names: tuple[str, ...] | None = None  # variables that it does not take from the threads above it


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """What all threads of a scope have in common. Every thread drains its own items, in runs of its own."""

    anchor: Anchor
    begins_in: Beginning
    past: Past
    # Is it delivered what is said in a space? Otherwise only what is sent to this very thread.
    hears_messages: bool
    # Is it made with the grants of its work, and does nothing in it ever hold more?
    has_own_grants: bool

    @property
    def spans_spaces(self) -> bool:
        return self.anchor == "agent"
