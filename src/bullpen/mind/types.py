"""A goal, a memory and a plan, as their rows hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bullpen.inbox.types import Cause
from bullpen.tasks.types import Schedule
from bullpen.wire.nouns import GoalStatus, TaskStatus

# Where words that are kept come from, if that is outside the office.
Sources: TypeAlias = Callable[..., tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Goal:
    agent_id: str
    place: str
    id: str
    description: str
    status: GoalStatus
    priority: int
    outside: tuple[str, ...]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Memory:
    agent_id: str
    place: str
    key: str
    value: str
    outside: tuple[str, ...]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Plan:
    """`id` is for the clock; its agent and people know it as `ref`."""

    id: str
    agent_id: str
    place: str
    ref: str
    name: str
    instruction: str
    schedule: Schedule
    shown_zone: str
    space_id: str | None
    status: TaskStatus
    reason: str | None
    next_at: int | None
    last_run: str | None
    failures: int
    cause: Cause
    member: bool
    created_by: str
    depth: int  # of the run that set it
    chain_id: str | None
    made_at: int
    outside: tuple[str, ...]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What a prompt shows of them."""

    goals: tuple[Goal, ...] = ()
    memories: tuple[Memory, ...] = ()
    plans: tuple[Plan, ...] = ()

    @property
    def outside(self) -> tuple[str, ...]:
        """Where any of it came from, if that is outside the office."""
        read = [one.outside for one in self.goals]
        read += [one.outside for one in self.memories] + [one.outside for one in self.plans]
        return tuple(sorted({source for sources in read for source in sources}))

    def __bool__(self) -> bool:
        return bool(self.goals or self.memories or self.plans)
