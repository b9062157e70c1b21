"""A skill as its row holds it: what is followed, and what somebody would have instead."""

from __future__ import annotations

from dataclasses import dataclass

from bullpen.wire.nouns import SkillStatus


@dataclass(frozen=True, slots=True)
class Version:
    """What a skill says, who wrote it, and who answers for it: runs that follow it hold no more than they did."""

    description: str
    instructions: str
    parameters: str | None
    agent_id: str | None
    written_by: str
    written_kind: str
    at: str
    outside: tuple[str, ...] = ()  # where its writer had read text from, if from outside the office
    hash: str = ""
    grants: str = ""
    approved_by: str | None = None
    diff: str = ""  # of a proposal: against what was active then

    @property
    def can_be_undone(self) -> bool:
        """An agent has stored it at once, and no person has answered for it since."""
        return self.written_kind == "agent" and self.approved_by is None

    def says_the_same(self, other: Version | None) -> bool:
        return other is not None and self.hash == other.hash


@dataclass(frozen=True, slots=True)
class Skill:
    id: str
    space_id: str
    name: str
    active: Version | None
    proposed: Version | None
    created_at: str
    updated_at: str
    earlier: tuple[Version, ...] = ()  # what it said before agents changed it, the oldest first

    @property
    def status(self) -> SkillStatus:
        return "proposed" if self.active is None else "active"

    @property
    def shown(self) -> Version:
        """What it says; of one that nobody has approved of yet, what it would say."""
        version = self.active or self.proposed
        assert version is not None, "a row without either is deleted"
        return version


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a skill, and what they hold."""

    id: str
    kind: str
    name: str
    grants: str
    outside: tuple[str, ...] = ()
    asked_by: str | None = None  # the name of the person in whose run an agent writes it
