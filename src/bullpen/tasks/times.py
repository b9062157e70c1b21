"""When a task is due: cron, intervals and single times, in a zone with its changes of the clock. Pure.

Times are milliseconds. A local time that the clock leaves out is due right after the gap; one that comes twice is due
the first time. What happens all day long (an hour that begins with `*`, and every interval) keeps to real time. Nothing
is ever due before, or at, the moment it is asked after.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bullpen.errors import Invalid
from bullpen.settings import is_zone
from bullpen.tasks.types import Due, Schedule
from bullpen.wire.nouns import ScheduleType

SHOWN: Final = 5  # next times that people are told
FARTHEST: Final = 10 * 366 * 86_400_000
HOUR: Final = 3_600_000
# So many missed times are looked at one by one; what lies before is not counted.
COUNTED: Final = 1000
MADE_UP_FOR: Final = 100  # missed times that `all` makes up for, the latest ones
_UNITS: Final = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": HOUR, "d": 24 * HOUR}
_INTERVAL: Final = re.compile(r"(\d{1,15})\s*(ms|s|m|h|d|)", re.ASCII)
_ONCE: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
_WITH_ZONE: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)", re.ASCII | re.IGNORECASE
)
# What a stored schedule may come to, should its zone be gone or the library have changed its mind.
BROKEN: Final = (CronSimError, ValueError, KeyError, OSError)
_FIELDS: Final = "minute hour day month weekday"


# ── what is written ─────────────────────────────────────────────────────────────────────────────────────────────────


def check(type: ScheduleType, value: str, timezone: str, *, now: int, min_interval: int) -> Schedule:
    """The schedule, or Invalid that says how to write it. Refuses what would never be due, or too often."""
    if not is_zone(timezone):
        raise Invalid(
            f"There is no time zone {timezone!r}. Write one as in Europe/Berlin.", fields={"timezone": "unknown"}
        )
    value = " ".join(value.split())
    schedule = Schedule(type, value, timezone, anchor_at=-(-now // 1000) * 1000)
    match type:
        case "interval":
            _check_interval(value, min_interval)
        case "once":
            _check_once(value, timezone, now)
        case "cron":
            _check_cron(schedule, now, min_interval)
    return schedule


def _refuse(message: str) -> Invalid:
    return Invalid(message, fields={"scheduleValue": message})


def interval_ms(value: str) -> int:
    found = _INTERVAL.fullmatch(value)
    return int(found[1]) * _UNITS[found[2]] if found is not None else 0


def _check_interval(value: str, min_interval: int) -> None:
    millis = interval_ms(value)
    if millis <= 0:
        raise _refuse(f"{value!r} is no interval. Write milliseconds, as in 300000, or 10m, 1h, 1d.")
    if millis < min_interval:
        raise _refuse(f"An interval must not be shorter than {min_interval / 1000:g} s; {value!r} is.")
    if millis > FARTHEST:
        raise _refuse(f"{value!r} is more than ten years.")


def _check_once(value: str, timezone: str, now: int) -> None:
    at = _once(value, timezone, now)
    if at is None:
        raise _refuse(
            f"{value!r} is no local time. Write it as in 2026-02-01T15:30:00, in {timezone}, without Z or an offset."
        )
    if at <= now:
        raise _refuse(f"{value} is in the past: in {timezone} it is {local(now, timezone)[:19]}.")
    if at > now + FARTHEST:
        raise _refuse(f"{value} is more than ten years ahead.")


def _check_cron(schedule: Schedule, now: int, min_interval: int) -> None:
    fields = schedule.value.split()
    if len(fields) != 5:
        raise _refuse(f"A cron expression has five fields, {_FIELDS}, as in 0 9 * * *; this one has {len(fields)}.")
    try:
        times = list(islice(_cron_after(schedule, now), 20))
    except (CronSimError, ValueError, AssertionError, TypeError, IndexError) as error:
        raise _refuse(f"{schedule.value!r} is no cron expression ({error}). Write {_FIELDS}.") from None
    if not times or times[0] > now + FARTHEST:
        raise _refuse(f"{schedule.value!r} does not come round within ten years.")
    if any(later - earlier < min_interval for earlier, later in pairwise(times)):
        raise _refuse(f"A task must not come round sooner than after {min_interval / 1000:g} s; this one would.")


# ── when ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _moment(millis: int, timezone: str) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC).astimezone(ZoneInfo(timezone))


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def local(millis: int, timezone: str) -> str:
    """A moment as the clocks of the zone show it, with its offset."""
    return _moment(millis, timezone).isoformat(timespec="seconds")


def moment_of(value: str) -> int | None:
    """The moment of a time that says its zone, by `Z` or an offset. None: it says none, or is no time."""
    if not _WITH_ZONE.fullmatch(value):
        return None
    try:
        return _millis(datetime.fromisoformat(value.upper()))
    except (ValueError, OverflowError):
        return None


def is_local(value: str, timezone: str) -> bool:
    """Is it written as a local time, without a zone?"""
    return _once(value, timezone, 0) is not None


def _once(value: str, timezone: str, now: int) -> int | None:
    """The moment of a local time. None: it is not written as one."""
    try:
        naive = datetime.fromisoformat(value).replace(microsecond=0) if _ONCE.fullmatch(value) else None
    except ValueError:
        return None
    if naive is None:
        return None
    zone = ZoneInfo(timezone)
    moment = naive.replace(tzinfo=zone)
    if _left_out(moment):
        moment = moment.replace(second=0)
        while _left_out(moment):
            moment += timedelta(minutes=1)
    elif _millis(moment) <= now:
        moment = moment.replace(fold=1)  # the first one is over, and the second is still to come
    return _millis(moment)


def _left_out(moment: datetime) -> bool:
    """Do the clocks of its zone never show this time?"""
    return moment.replace(tzinfo=None) != moment.astimezone(UTC).astimezone(moment.tzinfo).replace(tzinfo=None)


def _cron_after(schedule: Schedule, after: int) -> Iterator[int]:
    if schedule.value.split()[1].startswith("*"):
        return _all_day_after(schedule, after)
    # In an hour that comes twice the library begins with the first one, which may be over.
    found = map(_millis, CronSim(_within_hours(schedule.value), _moment(after, schedule.timezone)))
    return (at for at in found if at > after)


def _within_hours(value: str) -> str:
    """The same, with the minutes written out: if they begin with `*` the library keeps to real time, whatever the
    hour is, so that `*/30 2 * * *` would be left out with the hour, and come twice with it."""
    minutes, rest = value.split(" ", 1)
    return f"{minutes.replace('*', '0-59')} {rest}"


def _all_day_after(schedule: Schedule, after: int) -> Iterator[int]:
    """What happens all day long is due whenever the clock shows it.

    From one change of the clock to the next: where half an hour comes twice, the library steps over times.
    """
    zone = ZoneInfo(schedule.timezone)
    while True:
        offset = _offset(zone, after + 1)
        change: int | None = None
        for local in CronSim(schedule.value, datetime.fromtimestamp((after + offset) / 1000, UTC)):
            at = _millis(local) - offset
            if (change := _change(zone, after + 1, at)) is not None:
                after = change - 1
                break
            yield at
            after = at
        if change is None:
            return


def _offset(zone: ZoneInfo, at: int) -> int:
    """How far the zone's clocks are ahead of UTC then, in milliseconds."""
    ahead = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone).utcoffset()
    return 0 if ahead is None else round(ahead.total_seconds() * 1000)


def _change(zone: ZoneInfo, low: int, until: int) -> int | None:
    """When the zone's clocks are changed, if that is after `low` and not after `until`."""
    before = _offset(zone, low)
    while low < until:
        high = min(low + 24 * HOUR, until)
        if _offset(zone, high) != before:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
            return high
        low = high
    return None


def next_after(schedule: Schedule, after: int) -> int | None:
    """The first time after this moment. None: there is none."""
    match schedule.type:
        case "interval":
            every = interval_ms(schedule.value)
            return schedule.anchor_at + ((after - schedule.anchor_at) // every + 1) * every
        case "once":
            at = _once(schedule.value, schedule.timezone, after)
            return at if at is not None and at > after else None
        case "cron":
            return next(_cron_after(schedule, after), None)


@lru_cache(maxsize=4096)
def upcoming(schedule: Schedule, first: int | None) -> tuple[int, ...]:
    """The next five times, of which the first is known."""
    found: list[int] = []
    while first is not None and len(found) < SHOWN:
        found.append(first)
        first = None if schedule.type == "once" else next_after(schedule, first)
    return tuple(found)


def first_after(schedule: Schedule, now: int) -> int | None:
    """When a schedule that begins now is due first. An interval waits for one interval.

    It begins with a whole second, so that its times are; what names its times may be due before that.
    """
    return next_after(schedule, max(now, schedule.anchor_at) if schedule.type == "interval" else now)


def due(schedule: Schedule, first: int, now: int) -> Due:
    """Which times have come, of which the first is known. However long nobody looked, it takes a moment to say."""
    if schedule.type == "once" or first > now:
        return Due((first,), 1) if first <= now else Due((), 0)
    if schedule.type == "interval":
        every = interval_ms(schedule.value)
        count = (now - first) // every + 1
        last = first + (count - 1) * every
        return Due(tuple(range(last - (min(count, MADE_UP_FOR) - 1) * every, last + 1, every)), min(count, COUNTED))
    times = [first]
    for at in islice(_cron_after(schedule, first), COUNTED):
        if at > now:
            return Due(tuple(times[-MADE_UP_FOR:]), len(times))
        times.append(at)
    return Due(_latest(schedule, now), COUNTED)


def _latest(schedule: Schedule, now: int) -> tuple[int, ...]:
    """The latest times until now, looked for from the end."""
    backwards = CronSim(_within_hours(schedule.value), _moment(now + 1, schedule.timezone), reverse=True)
    begin = list(islice(map(_millis, backwards), MADE_UP_FOR))[-1]
    found = []
    for at in _cron_after(schedule, begin - 1000):
        if at > now:
            break
        found.append(at)
    return tuple(found[-MADE_UP_FOR:])


def by_hand(schedule: Schedule, now: int) -> int:
    """Under which time somebody's `run` is kept: now, but not one at which the task is due anyway."""
    return now + 1 if next_after(schedule, now - 1) == now else now
