"""Budgets, spending and holds, as the server keeps them.

Money is counted in billionths of a dollar: whole numbers, so that sums are exact in whatever order they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bullpen.wire.nouns import BudgetKind, BudgetPeriod, BudgetUnit

DOLLAR: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a run's spending counts for. '' is nobody: no space, no person, no task."""

    agent_id: str
    space_id: str = ""
    person_id: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one answer of a model came to."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    nanodollars: int = 0
    priced: bool = True
    begins_run: bool = False  # the first answer of its run


@dataclass(frozen=True, slots=True)
class Standing:
    """A budget and how far it is used in the period that is now. `amount` and `spent` are in the smallest unit."""

    id: str
    kind: BudgetKind
    subject_id: str
    period: BudgetPeriod
    unit: BudgetUnit
    origin: str
    amount: int
    extra: int  # somebody let it go on: so much more may be spent in this period
    warned_at: str | None
    reached_at: str | None
    created_by: str
    created_at: str
    updated_at: str
    spent: int

    @property
    def ceiling(self) -> int:
        return self.amount + self.extra


@dataclass(frozen=True, slots=True)
class Hold:
    """A thread that nobody drives before `until` (milliseconds)."""

    thread_id: str
    run_id: str
    agent_id: str
    budget_id: str
    kind: BudgetKind
    subject_id: str
    until: int
    reason: str
    created_at: str
