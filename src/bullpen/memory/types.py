"""A block and a passage of memory, as their rows hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Block:
    label: str
    content: str
    updated_at: str
    outside: tuple[str, ...] = ()  # what the run that wrote it had read from outside the office


@dataclass(frozen=True, slots=True)
class Stored:
    """A passage. See storage/tables.py for what its fields mean."""

    id: str
    scope: str
    agent_id: str | None
    space_id: str | None
    content: str
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    created_at: str
    outside: tuple[str, ...] = ()
    learned_in: str | None = None
    run_id: str | None = None
    message_id: str | None = None
    person_id: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    expires_at: int | None = None
    updated_at: str | None = None
    updated_by: str | None = None

    @property
    def read_in(self) -> str | None:
        """The space whose people may read it. None: those who may look into the agent."""
        return self.space_id or self.learned_in


@dataclass(frozen=True, slots=True)
class Origin:
    """Who or what a passage comes from."""

    run_id: str | None = None
    message_id: str | None = None
    person_id: str | None = None
