"""When a budget is nearly or wholly used, when its period begins and ends, and how that is said. Pure."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Iterable
from typing import Final

from bullpen.budgets.types import DOLLAR, Standing, Subject
from bullpen.wire.nouns import BudgetPeriod, BudgetUnit

WARN_PERCENT: Final = 80
DAY: Final = 86_400_000
MOST: Final = 1_000_000_000  # dollars: more billionths of one than that, and a database cannot add them up


def is_reached(standing: Standing) -> bool:
    return standing.spent >= standing.ceiling


def is_near(standing: Standing) -> bool:
    return standing.spent * 100 >= standing.ceiling * WARN_PERCENT


def smallest(amount: float, unit: BudgetUnit) -> int:
    """As it is kept: billionths of a dollar, or whole tokens."""
    return round(min(amount, MOST) * DOLLAR) if unit == "USD" else round(amount)


def shown(amount: int, unit: BudgetUnit) -> float:
    """As people have it."""
    return amount / DOLLAR if unit == "USD" else float(amount)


def began(period: BudgetPeriod, day: str) -> str:
    """The first day of the period that this day is in."""
    return day if period == "day" else f"{day[:7]}-01"


def ends(period: BudgetPeriod, day: str) -> int:
    """When the period is over, in milliseconds: midnight, UTC."""
    year, month, first = map(int, began(period, day).split("-"))
    if period == "day":
        return timegm((year, month, first, 0, 0, 0)) * 1000 + DAY
    return timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)) * 1000


def holding(standings: Iterable[Standing], day: str) -> Standing | None:
    """Of budgets that are used up, the one that holds a run back for longest."""
    reached = [each for each in standings if is_reached(each)]
    return max(reached, key=lambda each: (ends(each.period, day), each.id), default=None)


def falls_under(kind: str, subject_id: str, subject: Subject) -> bool:
    """Would this run be held back by such a budget, too?"""
    whose = {
        "agent": subject.agent_id,
        "space": subject.space_id,
        "person": subject.person_id,
        "task": subject.task_id,
        "office": "",
    }
    return whose[kind] == subject_id


def written(amount: int, unit: BudgetUnit) -> str:
    if unit == "tokens":
        return f"{amount} tokens"
    dollars = amount / DOLLAR
    return f"{dollars:.2f} USD" if dollars == round(dollars, 2) else f"{dollars:.6f} USD"


_OF: Final = {
    "agent": "The budget of agent {id}",
    "space": "The budget of the space {id}",
    "person": "The budget of {id}",
    "task": "The budget of task {id}",
    "office": "The budget of the whole office",
}
_WHEN: Final = {"day": "today", "month": "this month"}


def name(standing: Standing) -> str:
    return f"{_OF[standing.kind].format(id=standing.subject_id)} for {_WHEN[standing.period]}"


def reached_sentence(standing: Standing) -> str:
    """For whoever may see what things cost."""
    spent, most = written(standing.spent, standing.unit), written(standing.ceiling, standing.unit)
    return f"{name(standing)} is used up: {spent} of {most}. Raise it or resume the agent; it begins anew by itself."


def paused_sentence(standing: Standing, whose: str) -> str:
    """For everybody: by name, and no figures."""
    of = {"office": "The budget of the whole office", "task": "The budget of the task"}.get(standing.kind)
    return f"{of or f'The budget of {whose}'} for {_WHEN[standing.period]} is used up."
