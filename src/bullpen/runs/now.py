"""What time it is for a run, and when things were said, as the clocks of a zone show it. Pure.

A waking says what time it is, in the form that `schedule_task` takes, and is kept in the journal: a resumed run does
not change its past. A message has its hour alone and stands below a line with its day, so that what was shown once
stays the same bytes. Nothing here looks at a clock; one that jumps gives days in the order in which they were noted.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

# Not by the machine's locale.
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Time(NamedTuple):
    day: str  # Wednesday 2026-11-18
    hour: str  # 14:21


class Moment(NamedTuple):
    """When something happens, and whose clocks are looked at."""

    at: str  # RFC 3339, UTC
    zone: str


@lru_cache(maxsize=256)
def _zone(name: str) -> tuple[str, tzinfo]:
    """A zone that was stored may be gone with an update of the machine: then it is UTC, and says so."""
    try:
        return name, ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return "UTC", UTC


def zone_name(zone: str) -> str:
    """The zone whose clocks are really shown."""
    return _zone(zone)[0]


def local(moment: Moment) -> datetime:
    return datetime.fromisoformat(moment.at).astimezone(_zone(moment.zone)[1])


@lru_cache(maxsize=8192)
def _time(minute: str, zone: str) -> Time:
    shown = local(Moment(f"{minute}:00+00:00", zone))
    return Time(f"{DAYS[shown.weekday()]} {shown:%Y-%m-%d}", f"{shown:%H:%M}")


def time_of(moment: Moment) -> Time:
    """For messages: by the minute, since the same ones are shown from run to run."""
    return _time(moment.at[:16], moment.zone)


def since(said_at: str, now: Moment) -> str:
    """When something was said, for whoever knows what time it is now: the hour, and the date if that is another."""
    said, today = time_of(Moment(said_at, now.zone)), time_of(now)
    return said.hour if said.day == today.day else f"{said.day.partition(' ')[2]} {said.hour}"


def tell(now: Moment) -> str:
    """`Now it is Wednesday, 2026-11-18T14:21:05 in Europe/Berlin (UTC+01:00).`"""
    shown = local(now)
    written = shown.isoformat(timespec="seconds")
    return f"Now it is {DAYS[shown.weekday()]}, {written[:19]} in {zone_name(now.zone)} (UTC{written[19:]})."
