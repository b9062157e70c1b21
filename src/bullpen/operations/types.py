"""A message that is a command, and what came of saying it."""

from __future__ import annotations

from dataclasses import dataclass, field

from bullpen.skills.types import Skill
from bullpen.spaces import rules
from bullpen.spaces.types import Draft, Room


@dataclass(frozen=True, slots=True)
class Understood:
    """What a `/word` means in a space. Without a skill it is a word to the office itself."""

    name: str
    parameters: str
    skill: Skill | None = None

    @property
    def kept(self) -> str:
        """What is kept with the message instead of the policy it met."""
        return f"{rules.COMMAND if self.skill is None else rules.SKILL}:{self.name}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A word to the office: by whom and where, and the message that says it."""

    room: Room
    draft: Draft
    parameters: str
    chain_limit: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person is told, and the runs whose drivers are told after the commit that they are to stop."""

    text: str
    stopped: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Said:
    draft: Draft
    stopped: list[str] = field(default_factory=list)
    started: tuple[str, str] | None = None  # of a skill: its agent and its thread
