"""A variable, where it is at home, and where one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from bullpen.observe.redact import OFFICE, owner
from bullpen.wire.nouns import ScopeKind, VariableType

# Where a value may come from: a scope that somebody sets it in, or the settings of this server.
SourceKind: TypeAlias = ScopeKind | Literal["settings"]


@dataclass(frozen=True, slots=True)
class Scope:
    kind: SourceKind
    id: str = ""  # the workspace has none, nor have the settings

    def __str__(self) -> str:
        return f"{self.kind} {self.id}".rstrip()

    @property
    def owner(self) -> str:
        """Whose secrets these are, for the redactor: what is set for all is masked for all."""
        return OFFICE if self.kind in ("workspace", "settings") else owner(self.kind, self.id)


WORKSPACE = Scope("workspace")
SETTINGS = Scope("settings")


@dataclass(frozen=True, slots=True)
class Stored:
    """A variable as its row holds it: `value` is the text itself, or the sealed secret."""

    scope: Scope
    name: str
    type: VariableType
    value: str = field(repr=False)
    key_id: str | None = None  # what a secret is sealed with
    scoped: bool = False
    description: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A secret that was found, still sealed. Whatever prints it shows its name only."""

    name: str
    scope: Scope
    key_id: str = ""
    sealed: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"***{self.name}***"

    __repr__ = __str__


Value: TypeAlias = str | SecretRef


@dataclass(frozen=True, slots=True)
class Link:
    """One thread on the way up to the root: the names that it declares as its own, not to be had from above."""

    thread_id: str
    scoped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is asked for: a thread, whose agent, in which space, and for whom."""

    thread_id: str
    agent_id: str
    space_id: str | None = None
    person_id: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What one query knows of a place: the threads above it, and every value that a name might have there."""

    line: tuple[Link, ...]  # from the thread itself up to the root
    stored: Mapping[tuple[Scope, str], Stored]
