"""When a task is due, worked out another way: by walking through a year, not by asking a library.

A zone is what its clocks show: stretches of time with one offset each, found by looking at the clock. What is written
in a cron expression is expanded to sets. What is to happen all day, in every hour or every so many, keeps to real time:
it is due whenever the clock shows it. What names its hours is due when the clock shows it first, or right after, if it
never does; how often within those hours makes no difference.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@dataclass(frozen=True)
class Stretch:
    begins: datetime  # UTC, without a zone
    ends: datetime
    offset: timedelta

    def holds(self, local: datetime) -> bool:
        return self.begins + self.offset <= local < self.ends + self.offset


@cache
def stretches(zone: str, year: int) -> tuple[Stretch, ...]:
    def offset(at: datetime) -> timedelta:
        found = at.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
        assert found is not None
        return found

    begins, last = datetime(year, 1, 1), datetime(year + 1, 1, 1)  # noqa: DTZ001
    found, at = [], begins
    while at < last:
        later = min(at + timedelta(days=1), last)
        if offset(later) != offset(at):
            while offset(at) == offset(at + MINUTE):
                at += MINUTE
            found.append(Stretch(begins, at + MINUTE, offset(at)))
            begins = at = at + MINUTE
        else:
            at = later
    return (*found, Stretch(begins, last, offset(last - MINUTE)))


def expanded(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, end = span.partition("-")
        if span == "*":
            begin, until = low, high
        else:
            begin, until = int(first), int(end or (high if step else first))
        found |= set(range(begin, until + 1, int(step or 1)))
    return found


def shown(expression: str, since: datetime, until: datetime) -> Iterator[datetime]:
    """Every time on the clock that an expression names, whether or not a clock ever shows it."""
    fields = expression.split()
    minutes, hours, days, months, weekdays = (expanded(f, *r) for f, r in zip(fields, RANGES, strict=True))
    weekdays = {day % 7 for day in weekdays}
    both = fields[2].startswith("*") or fields[4].startswith("*")
    day = since.replace(hour=0, minute=0)
    while day <= until:
        of_month, of_week = day.day in days, (day.weekday() + 1) % 7 in weekdays
        if day.month in months and ((of_month and of_week) if both else (of_month or of_week)):
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    yield day.replace(hour=hour, minute=minute)
        day += timedelta(days=1)


def cron(expression: str, zone: str, year: int) -> list[datetime]:
    """When it is due in a year of UTC."""
    found: set[datetime] = set()
    parts = stretches(zone, year)
    all_day = expression.split()[1].startswith("*")
    margin = timedelta(days=1)
    for local in shown(expression, parts[0].begins - margin, parts[-1].ends + margin):
        times = [part.begins + (local - (part.begins + part.offset)) for part in parts if part.holds(local)]
        if not times:
            later = [part.begins for part in parts[1:] if part.begins + part.offset > local]
            earlier = [part for part in parts if part.ends + part.offset <= local]
            times = later[:1] if earlier and not all_day else []
        found |= set(times if all_day else times[:1])
    return sorted(found)


def once(local: str, zone: str, year: int) -> datetime:
    at = datetime.fromisoformat(local)
    parts = stretches(zone, year)
    for part in parts:
        if part.holds(at):
            return at - part.offset
    begins = [part.begins + part.offset for part in parts]
    return parts[bisect_right(begins, at)].begins
