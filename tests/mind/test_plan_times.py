"""When a plan is due, against what it says worked out another way: over the changes of the clock of six zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Invalid
from bullpen.mind import rules
from bullpen.mind.rules import Timing
from bullpen.tasks import times
from bullpen.wire.requests import SetPlan
from tests import effort
from tests.tasks import oracle

ZONES = (
    "America/New_York",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "America/Santiago",
    "Pacific/Chatham",
    "UTC",
)
EXPRESSIONS = ("30 2 * * *", "30 1 * * *", "*/15 * 1-8,25-31 3,4,10,11 *", "0 9 1,15 * *", "5 4 * 3,4,10,11 0")
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 1), timezones=st.just(UTC))  # noqa: DTZ001


def millis(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def planned(timing: Timing, **when: str) -> int:
    """When it is due first; after that it is due once more only with cron."""
    schedule, first = rules.schedule(SetPlan(name="x", instruction="y", **when), timing)
    if "cron" not in when:
        assert times.next_after(schedule, first) is None
        assert times.due(schedule, first, first).times == (first,)
    return first


@pytest.mark.proves("P8")
@given(MOMENTS, st.sampled_from(ZONES), st.integers(1, 500), st.sampled_from([*SECONDS]))
def test_time_to_wait_is_time_that_passes_whatever_clocks_do(now: datetime, zone: str, count: int, unit: str) -> None:
    began = millis(now)
    due = planned(Timing(began, zone), runAfter=f"{count} {unit}")
    assert 0 <= due - (began + count * SECONDS[unit] * 1000) < 1000, "by whole seconds, and never before"
    assert due % 1000 == 0


@pytest.mark.proves("P8")
@given(MOMENTS, st.sampled_from(ZONES), st.integers(-14 * 60, 14 * 60), st.integers(2, 300 * 86_400))
def test_a_time_with_its_zone_is_that_moment(now: datetime, zone: str, offset: int, ahead: int) -> None:
    wanted = (now + timedelta(seconds=ahead)).replace(microsecond=0)
    sign, minutes = "-" if offset < 0 else "+", abs(offset)
    local = (wanted + timedelta(minutes=offset)).strftime("%Y-%m-%dT%H:%M:%S")
    said = f"{local}{sign}{minutes // 60:02}:{minutes % 60:02}"
    assert planned(Timing(millis(now), zone), scheduledAt=said) == millis(wanted)


@pytest.mark.proves("P8")
@pytest.mark.parametrize("zone", ZONES)
def test_cron_plans_keep_the_clock_of_tasks(zone: str) -> None:
    for expression, year in effort.pick(list(product(EXPRESSIONS, (2026, 2027))), sample=3):
        due = [at.replace(tzinfo=UTC) for at in oracle.cron(expression, zone, year)]
        for earlier, later in effort.pick(list(pairwise(due)), sample=20):
            gap = later - earlier
            for before, ahead in ((gap, 1_000), (timedelta(seconds=1), 1_000), (timedelta(seconds=61), 60_000)):
                now = max(later - before, earlier)
                assert planned(Timing(millis(now), zone, ahead), cron=expression) == millis(later), (expression, later)


@given(MOMENTS, st.sampled_from(ZONES), st.sampled_from([1_000, 60_000]), st.integers(0, 120_000))
def test_no_plan_lies_nearer_than_it_may(now: datetime, zone: str, ahead: int, wait: int) -> None:
    timing = Timing(millis(now), zone, ahead)
    said = f"{wait / 1000:.3f} seconds"
    if wait >= ahead:
        assert planned(timing, runAfter=said) - timing.now >= ahead
    else:
        with pytest.raises(Invalid, match=f"at least {ahead // 1000} s ahead"):
            planned(timing, runAfter=said)
    assert planned(timing, cron="* * * * *") - timing.now >= ahead
