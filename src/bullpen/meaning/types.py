"""What search by meaning hands to those who rank and show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["passage", "message"]

BEHIND = "Not everything here has been read for its meaning yet, so a search by meaning may miss some of it."
AWAY = "Search by meaning is not available just now, so only words were searched."
PARTIAL = "There is too much here to compare all of it by meaning, so only the newest was."


@dataclass(frozen=True, slots=True)
class Near:
    id: str
    similarity: float  # from -1 to 1; 1: the same meaning


@dataclass(frozen=True, slots=True)
class Looked:
    """The nearest texts, best first. They were there a moment ago: whoever shows one looks whether it still is."""

    near: Sequence[Near] = ()
    behind: bool = False  # some texts have no vector yet
    away: bool = False  # the question got no vector
    partial: bool = False
    understood: bool = True  # the model knows the language of the question

    @property
    def note(self) -> str | None:
        """For whoever reads the results."""
        return AWAY if self.away else BEHIND if self.behind else PARTIAL if self.partial else None


NOTHING = Looked()


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text that has no vector yet."""

    number: int
    kind: Kind
    id: str
    scope: str
    failures: int
    text: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many vectors a scope has, and the number of the newest."""

    vectors: int
    newest: int
