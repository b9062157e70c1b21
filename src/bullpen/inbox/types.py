"""An inbox item, who caused it, and an agent that may receive one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bullpen.wire.nouns import InboxKind, ThreadScope

RETRY: Final = "retry"  # in a payload


@dataclass(frozen=True, slots=True)
class Cause:
    """On whose behalf work is done, and what they may. Grants only shrink along a chain of work."""

    kind: str
    id: str
    grants: str


@dataclass(frozen=True, slots=True)
class Recipient:
    """An agent in a space, as the question "does this wake it?" needs it."""

    agent_id: str
    name: str
    scope: ThreadScope
    chain_limit: int | None
    thread_id: str | None
    paused: bool = False  # singly; while all are, turns are as ever
    interrupts: bool = False  # what its model is doing is broken off for this


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    thread_id: str
    kind: InboxKind
    space_id: str | None
    payload: dict[str, Any]
    cause: Cause
    depth: int
    chain_id: str
    addressed: bool = False  # are its words meant for the agent?
    batch: str | None = None  # the message whose agents answer one after another
    created_at: str = ""  # noted when it is kept

    @property
    def retry(self) -> dict[str, str] | None:
        """Somebody asked for a run to be done once more: of which, as which, and who. None: this is new."""
        found: dict[str, str] | None = self.payload.get(RETRY)
        return found
