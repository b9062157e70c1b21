"""When a budget is nearly or wholly used, and when its period ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bullpen.budgets import rules
from bullpen.budgets.types import DOLLAR, Standing, Subject
from bullpen.wire.nouns import BudgetPeriod

BUDGET = Standing("b", "agent", "ada", "day", "USD", "set", 10 * DOLLAR, 0, None, None, "o", "t", "t", 0)


@pytest.mark.parametrize(
    "spent, extra, near, reached",
    [
        (0, 0, False, False),
        (7_999_999_999, 0, False, False),
        (8_000_000_000, 0, True, False),
        (9_999_999_999, 0, True, False),
        (10_000_000_000, 0, True, True),
        (10_000_000_000, 10_000_000_000, False, False),
        (16_000_000_000, 10_000_000_000, True, False),
    ],
)
def test_80_percent_is_near_and_100_percent_is_reached(spent: int, extra: int, near: bool, reached: bool) -> None:
    standing = replace(BUDGET, spent=spent, extra=extra)
    assert (rules.is_near(standing), rules.is_reached(standing)) == (near, reached)


def test_a_budget_of_nothing_is_used_up_from_the_start() -> None:
    assert rules.is_reached(replace(BUDGET, amount=0))


@pytest.mark.parametrize(
    "period, day, began, ends",
    [
        ("day", "2026-01-10", "2026-01-10", "2026-01-11"),
        ("day", "2026-12-31", "2026-12-31", "2027-01-01"),
        ("day", "2028-02-28", "2028-02-28", "2028-02-29"),
        ("month", "2026-01-10", "2026-01-01", "2026-02-01"),
        ("month", "2026-12-31", "2026-12-01", "2027-01-01"),
    ],
)
def test_a_period_begins_and_ends_at_midnight(period: BudgetPeriod, day: str, began: str, ends: str) -> None:
    assert rules.began(period, day) == began
    expected = datetime.fromisoformat(ends).replace(tzinfo=UTC).timestamp() * 1000
    assert rules.ends(period, day) == expected


def test_of_several_used_up_budgets_the_longest_period_applies() -> None:
    daily, monthly = replace(BUDGET, spent=11 * DOLLAR), replace(BUDGET, id="m", period="month", spent=11 * DOLLAR)
    assert rules.holding([daily, monthly], "2026-01-10") == monthly
    assert rules.holding([daily, BUDGET], "2026-01-10") == daily
    assert rules.holding([BUDGET], "2026-01-10") is None


def test_a_budget_applies_only_to_its_own_subject() -> None:
    pia = Subject("ada", "general", "pia")
    assert rules.falls_under("person", "pia", pia)
    assert not rules.falls_under("person", "tom", pia)
    assert rules.falls_under("office", "", pia)
    assert rules.falls_under("agent", "ada", pia)
    assert not rules.falls_under("space", "lab", pia)
    assert not rules.falls_under("task", "tsk", pia)


@pytest.mark.parametrize("amount", [0.0, 0.000000001, 0.1, 2.5, 1_000_000_000.0])
def test_an_amount_is_kept_to_the_last_digit(amount: float) -> None:
    assert rules.shown(rules.smallest(amount, "USD"), "USD") == amount


def test_the_public_budget_notice_contains_no_amounts() -> None:
    standing = replace(BUDGET, spent=11 * DOLLAR)
    assert rules.paused_sentence(standing, "Ada") == "The budget of Ada for today is used up."
    assert "11.00 USD of 10.00 USD" in rules.reached_sentence(standing)
    assert rules.written(1500, "tokens") == "1500 tokens"
    assert rules.written(1234, "USD") == "0.000001 USD"
