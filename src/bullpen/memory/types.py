"""Blocks and passages of memory, as their rows hold them, and who changes blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

LIMIT: Final = 4000  # characters that a block may have, if nobody says otherwise
EVERYWHERE: Final = ""  # the place of a block that is for wherever its agent is


class Key(NamedTuple):
    """Which block: whose, kept for which space, and under which label."""

    agent_id: str
    space_id: str
    label: str


@dataclass(frozen=True, slots=True)
class Block:
    agent_id: str
    label: str
    content: str
    updated_at: str
    version: int = 0
    outside: tuple[str, ...] = ()  # what the run that wrote it had read from outside the office
    space_id: str = EVERYWHERE
    description: str = ""
    size_limit: int = LIMIT
    deleted: bool = False

    @property
    def key(self) -> Key:
        return Key(self.agent_id, self.space_id, self.label)


@dataclass(frozen=True, slots=True)
class Version:
    """What a block was."""

    version: int
    content: str
    description: str
    deleted: bool
    outside: tuple[str, ...]
    at: str
    by_kind: str | None
    by_id: str | None
    token_id: str | None
    run_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Writer:
    """Who changes a block, with which token or in which run, and why."""

    kind: str
    id: str
    token_id: str | None = None
    run_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """One agent is shown the block of another."""

    reader_id: str
    label: str
    owner_id: str
    may_write: bool


@dataclass(frozen=True, slots=True)
class Sharing:
    """With whom an agent shares a block: who is shown it, and who may write it as well."""

    readers: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.readers or self.writers)


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block as one agent is shown it: its own, or one that another agent shares with it."""

    block: Block
    sharing: Sharing = Sharing()
    may_write: bool = True
    shared_by: str | None = None  # the agent whose block it is, if that is another one


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
