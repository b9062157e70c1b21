"""A task and a firing as their rows hold them, and the schedule that both come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bullpen.inbox.types import Cause
from bullpen.wire.nouns import ContextMode, FiringStatus, MissedPolicy, ScheduleType, TaskStatus


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due. Equal ones have equal times, so what was computed once can be kept."""

    type: ScheduleType
    value: str
    timezone: str
    anchor_at: int = 0  # milliseconds: intervals are counted from here


class Scheduled(Protocol):
    """What is fired by this clock: a task, or a plan of an agent (bullpen/mind)."""

    @property
    def id(self) -> str: ...
    @property
    def space_id(self) -> str | None: ...
    @property
    def agent_id(self) -> str: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def next_at(self) -> int | None: ...
    @property
    def cause(self) -> Cause: ...
    @property
    def member(self) -> bool: ...
    @property
    def created_by(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def chain_id(self) -> str | None: ...
    @property
    def made_at(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    space_id: str
    agent_id: str
    prompt: str
    schedule: Schedule
    context_mode: ContextMode
    missed: MissedPolicy
    precheck: dict[str, Any] | None
    status: TaskStatus
    reason: str | None
    next_at: int | None
    last_run: str | None
    failures: int
    cause: Cause
    member: bool  # whoever it works for was a member of the space when it was made
    created_by: str
    depth: int  # of the run that made it
    chain_id: str | None
    made_at: int
    outside: tuple[str, ...]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Firing:
    task_id: str
    nominal_at: int
    status: FiringStatus
    fired_at: str
    reason: str | None = None
    missed: int = 0
    manual: bool = False
    item_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """Times at which a task was due until now: the latest ones, rising, and how many there were in all."""

    times: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The run of a firing is over, and nobody has counted it yet."""

    task_id: str
    nominal_at: int
    run_status: str
    stop_reason: str | None
    error: str | None
