"""When tasks are due, as a table and against an oracle: over both changes of the clock of six zones, and in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bullpen.errors import Invalid
from bullpen.tasks import rules, times
from bullpen.tasks.types import Due, Schedule
from bullpen.wire.nouns import ScheduleType
from tests import effort
from tests.tasks import oracle
from tests.tasks.offices import REFUSED

ZONES = (
    "America/New_York",
    "Africa/Cairo",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "America/Santiago",
    "Pacific/Chatham",
    "UTC",
)
EXPRESSIONS = (
    "30 2 * * *",
    "30 1 * * *",
    "0 0 * * *",
    "15,45 0-3 * * *",
    "*/15 * 1-8,25-31 3,4,10,11 *",
    "0 */2 * * *",
    "20 * * * 1-5",
    "0 9 1,15 * *",
    "0 12 29 2 *",
    "59 23 31 12 *",
    "5 4 * 3,4,10,11 0",
    "0 3 13 * 5",
    "*/30 1-2 * 3,4,9,10,11 0",
    "*/20,7 0,23 * 3,4,9,10,11 5,6",
    "* 2 * 3,4,9,10,11 0",
)


def millis(at: str) -> int:
    return round(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)


def shown(at: int | None) -> str:
    return "never" if at is None else f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M}"


def check(type: ScheduleType, value: str, zone: str = "UTC", now: str = "2026-06-01T08:00:00") -> Schedule:
    return times.check(type, value, zone, now=millis(now), min_interval=60_000)


def year_of(schedule: Schedule, year: int) -> list[str]:
    at, found = millis(f"{year}-01-01T00:00:00") - 1, []
    while (later := times.next_after(schedule, at)) is not None and later < millis(f"{year + 1}-01-01T00:00:00"):
        found.append(shown(later))
        at = later
    return found


@pytest.mark.proves("P8")
@pytest.mark.parametrize("zone", ZONES)
def test_a_year_of_cron_times_follows_the_zones_local_clock(zone: str) -> None:
    for expression, year in effort.pick(list(product(EXPRESSIONS, (2026, 2027))), sample=6):
        expected = [f"{at:%Y-%m-%dT%H:%M}" for at in oracle.cron(expression, zone, year)]
        assert year_of(Schedule("cron", expression, zone), year) == expected, expression


DST = [
    # zone, expression, a moment before, when it is due from there on
    ("America/New_York", "30 2 * * *", "2027-03-13T12:00", ["2027-03-14T07:00", "2027-03-15T06:30"]),
    ("America/New_York", "30 1 * * *", "2026-10-31T12:00", ["2026-11-01T05:30", "2026-11-02T06:30"]),
    ("Africa/Cairo", "0 0 * * *", "2026-04-23T12:00", ["2026-04-23T22:00", "2026-04-24T21:00"]),
    ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
    ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00", ["2026-04-04T14:45", "2026-04-05T15:15"]),
    ("UTC", "30 2 * * *", "2027-03-13T12:00", ["2027-03-14T02:30", "2027-03-15T02:30"]),
    ("America/New_York", "*/30 2 * * *", "2027-03-13T12:00", ["2027-03-14T07:00", "2027-03-15T06:00"]),
    ("America/New_York", "*/30 1 * * *", "2026-11-01T05:10", ["2026-11-01T05:30", "2026-11-02T06:00"]),
    ("America/New_York", "*/15 * * * *", "2026-11-01T05:40", ["2026-11-01T05:45", "2026-11-01T06:00"]),
    ("America/New_York", "*/15 * * * *", "2027-03-14T06:40", ["2027-03-14T06:45", "2027-03-14T07:00"]),
]


@pytest.mark.proves("P8")
@pytest.mark.parametrize("zone, expression, after, expected", DST)
def test_cron_fires_after_clock_gaps_and_once_in_repeated_hours(
    zone: str, expression: str, after: str, expected: list[str]
) -> None:
    schedule = Schedule("cron", expression, zone)
    first = times.next_after(schedule, millis(after))
    assert [shown(at) for at in times.upcoming(schedule, first)[:2]] == expected


def test_cron_in_the_second_repeated_hour_does_not_go_back() -> None:
    """The library begins with the first one again: what it says then is over."""
    schedule = Schedule("cron", "30 1 * * *", "America/New_York")
    assert shown(times.next_after(schedule, millis("2026-11-01T06:10"))) == "2026-11-02T06:30"


@pytest.mark.parametrize("zone", ZONES)
def test_a_once_schedule_is_in_local_time(zone: str) -> None:
    for local in ("2026-03-29T02:30", "2026-11-01T01:30", "2026-04-24T00:20", "2026-10-04T02:15", "2026-07-01T12:00"):
        schedule = check("once", f"{local}:00", zone, now="2026-01-01T00:00:00")
        due = times.first_after(schedule, millis("2026-01-01T00:00:00"))
        assert shown(due) == f"{oracle.once(local, zone, 2026):%Y-%m-%dT%H:%M}", local


def test_a_repeated_hours_once_time_is_the_one_still_ahead() -> None:
    schedule = check("once", "2026-11-01T01:30", "America/New_York", now="2026-11-01T05:45:00")
    assert shown(times.first_after(schedule, millis("2026-11-01T05:45"))) == "2026-11-01T06:30"


@pytest.mark.parametrize("value, seconds", [("300000", 300), ("10m", 600), ("1h", 3600), ("90s", 90), ("2 d", 172_800)])
def test_an_interval_is_elapsed_time_since_its_creation(value: str, seconds: int) -> None:
    schedule = check("interval", value, "America/New_York", now="2026-11-01T05:00:00")
    first = times.first_after(schedule, millis("2026-11-01T05:00:00"))
    found = times.upcoming(schedule, first)
    assert [at - millis("2026-11-01T05:00:00") for at in found] == [n * seconds * 1000 for n in range(1, 6)]


@pytest.mark.parametrize("type, value, why", REFUSED)
def test_a_schedule_never_due_or_too_frequent_is_refused(type: ScheduleType, value: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        check(type, value)


def test_an_owner_may_lower_the_shortest_interval() -> None:
    assert times.check("interval", "5s", "UTC", now=0, min_interval=1000).value == "5s"
    with pytest.raises(Invalid, match="sooner than after 300 s"):
        times.check("cron", "* * * * *", "UTC", now=0, min_interval=300_000)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "Europe", "/etc/localtime"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(Invalid, match="time zone"):
        times.check("cron", "0 9 * * *", zone, now=0, min_interval=60_000)


@given(
    st.sampled_from(["0 * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *"]),
    st.sampled_from(ZONES),
    st.integers(0, 2_000),
    st.integers(0, 20_000),
)
def test_due_times_are_all_those_up_to_now(expression: str, zone: str, start: int, minutes: int) -> None:
    schedule = Schedule("cron", expression, zone)
    first = times.next_after(schedule, millis("2026-01-01T00:00") + start * 60_000)
    assert first is not None
    now = first + minutes * 60_000
    due = times.due(schedule, first, now)
    expected = [first, *takewhile(lambda at: at <= now, _after(schedule, first))]
    assert list(due.times) == expected[-times.MADE_UP_FOR :]
    assert due.count == min(len(expected), times.COUNTED)


def _after(schedule: Schedule, at: int | None):  # type: ignore[no-untyped-def]
    while at is not None:
        at = times.next_after(schedule, at)
        yield at


def test_counting_a_year_of_missed_minutes_stops_at_a_cap() -> None:
    schedule = Schedule("cron", "* * * * *", "America/New_York")
    now = millis("2027-01-01T00:00")
    due = times.due(schedule, millis("2026-01-01T00:01"), now)
    assert (due.count, len(due.times), due.times[-1]) == (times.COUNTED, times.MADE_UP_FOR, now)


def test_missed_times_follow_the_policy() -> None:
    five = Due((1, 2, 3, 4, 5), 5)
    assert rules.plan("once", five, 10**9) == [(5, "fired", 4)]
    assert rules.plan("none", five, 10**9) == [(5, "missed", 4)]
    assert rules.plan("none", five, 5 + rules.LATE) == [(5, "fired", 4)], "it is not late"
    assert rules.plan("all", five, 10**9) == [(at, "fired", 0) for at in five.times]
    assert rules.plan("all", Due((4, 5), 7), 10**9) == [(4, "fired", 5), (5, "fired", 0)]
    assert rules.plan("once", Due((), 0), 10**9) == []


@pytest.mark.parametrize(
    "result, wakes",
    [
        (None, False),
        (False, False),
        ([], False),
        ({}, False),
        ("", False),
        ({"wake": False, "why": "no news"}, False),
        ({"wake": True}, True),
        ({"items": []}, True),
        ([1], True),
        ("news", True),
        (True, True),
    ],
)
def test_a_precheck_result_decides_whether_to_wake_the_model(result: object, wakes: bool) -> None:
    assert rules.wakes(result) is wakes
