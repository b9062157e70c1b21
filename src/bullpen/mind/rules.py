"""Where what an agent writes down is shown, what comes first, and when a plan is due. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from bullpen.errors import Invalid
from bullpen.memory.rules import Situation, keep, read_spaces, reads_across
from bullpen.mind.types import Goal, Memory
from bullpen.tasks import times
from bullpen.tasks.types import Schedule
from bullpen.threads.rules import SCOPES
from bullpen.wire import Agent
from bullpen.wire.requests import SetPlan

MOST_GOALS: Final = 100  # of one agent, in all places together
MOST_MEMORIES: Final = 200
MOST_PLANS: Final = 50  # that are not over
LEAST_AHEAD: Final = 1_000  # milliseconds
LEAST_AHEAD_OF_PLANS: Final = 60_000  # for a plan that is set in the run of a plan
EVERYWHERE: Final = ""  # the place of what is shown wherever the agent is

_UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_SHORT: Final = {"s": 1, "sec": 1, "min": 60, "h": 3600, "hr": 3600, "d": 86_400, "w": 604_800}
_AFTER: Final = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]+)", re.ASCII | re.IGNORECASE)


# ── places ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def place_of(agent: Agent, situation: Situation) -> str | None:
    """Where what is written is shown: there alone, or everywhere. None: nobody can say.

    As passages are kept (memory/rules.py). But one mind across all spaces has one place for all of them, but for a
    group that keeps to itself.
    """
    if _has_one_place(agent, situation):
        return EVERYWHERE
    found = keep(situation)
    return None if found is None else found.space_id or EVERYWHERE


def places_shown(agent: Agent, situation: Situation) -> list[str]:
    """With `reads_across` there are more: see rows.py."""
    if _has_one_place(agent, situation):
        return [EVERYWHERE]
    return [space_id or EVERYWHERE for space_id in read_spaces(situation)]


def shows_all(agent: Agent, situation: Situation) -> bool:
    """Also what is kept in other private spaces, groups that keep to themselves excepted."""
    return reads_across(situation) and not _has_one_place(agent, situation)


def _has_one_place(agent: Agent, situation: Situation) -> bool:
    return SCOPES[agent.scope].spans_spaces and situation.stays_in is None


# ── what comes first ────────────────────────────────────────────────────────────────────────────────────────────────


def in_order(goals: Iterable[Goal]) -> tuple[Goal, ...]:
    """Active ones first, and among them the ones that matter most."""
    return tuple(sorted(goals, key=lambda goal: (goal.status != "active", -goal.priority, goal.created_at, goal.id)))


def overlaid(memories: Sequence[Memory], place: str) -> tuple[Memory, ...]:
    """What is known in this very place stands before what is known elsewhere under the same key."""
    found = {memory.key: memory for memory in sorted(memories, key=lambda memory: memory.place == place)}
    return tuple(found[key] for key in sorted(found))


# ── when a plan is due ──────────────────────────────────────────────────────────────────────────────────────────────


class Timing(NamedTuple):
    """By which clock a plan is set: now, the zone, how soon it may come and how often."""

    now: int
    zone: str
    ahead: int = LEAST_AHEAD
    min_interval: int = 60_000


def schedule(wish: SetPlan, timing: Timing) -> tuple[Schedule, int]:
    """When the plan is due, and when first. Invalid says how to write it."""
    given = [name for name, value in _times_of(wish) if value is not None]
    if len(given) != 1:
        said = f"it has {' and '.join(given)}" if given else "it has none"
        raise _refuse(f"The plan {wish.name!r} needs exactly one of runAfter, scheduledAt and cron: {said}.")
    try:
        found, first = _when(wish, timing)
    except Invalid as error:  # the clock of tasks names a field of theirs
        raise _refuse(error.message) from None
    if first is None or first - timing.now < timing.ahead:
        raise _too_soon(wish, timing)
    return found, first


def _too_soon(wish: SetPlan, timing: Timing) -> Invalid:
    why = " It is set in the run of a plan." if timing.ahead == LEAST_AHEAD_OF_PLANS else ""
    return _refuse(f"The plan {wish.name!r} must lie at least {timing.ahead // 1000} s ahead.{why}")


def _when(wish: SetPlan, timing: Timing) -> tuple[Schedule, int | None]:
    if wish.cron is not None:
        found = times.check("cron", wish.cron, timing.zone, now=timing.now, min_interval=timing.min_interval)
        return found, times.next_after(found, timing.now + timing.ahead - 1)
    found = _once(wish, timing)
    return found, times.next_after(found, timing.now)


def _times_of(wish: SetPlan) -> tuple[tuple[str, str | None], ...]:
    return ("runAfter", wish.run_after), ("scheduledAt", wish.scheduled_at), ("cron", wish.cron)


def _once(wish: SetPlan, timing: Timing) -> Schedule:
    if wish.run_after is not None:
        if (wait := _after(wish.run_after)) < timing.ahead:
            raise _too_soon(wish, timing)
        return _at(timing.now + wait, timing)
    said = (wish.scheduled_at or "").strip()
    at = times.moment_of(said)
    if at is None and not times.is_local(said, timing.zone):
        raise _refuse(
            f"{said!r} is no time. Write it with its zone, as in 2026-02-01T15:30:00+01:00, or as clocks in "
            f"{timing.zone} show it."
        )
    if at is None:
        return times.check("once", said, timing.zone, now=timing.now, min_interval=timing.min_interval)
    if at <= timing.now:
        raise _refuse(f"{said} is in the past: it is {times.local(timing.now, timing.zone)}.")
    return _at(at, timing)


def _at(millis: int, timing: Timing) -> Schedule:
    """A moment, whatever clocks show: by UTC, which no clock changes; by whole seconds, and never before it."""
    if millis > timing.now + times.FARTHEST:
        raise _refuse("A plan must not lie more than ten years ahead.")
    value = times.local(-(-millis // 1000) * 1000, "UTC")[:19]
    return times.check("once", value, "UTC", now=timing.now, min_interval=timing.min_interval)


def _after(said: str) -> int:
    """Milliseconds of "2 hours"."""
    found = _AFTER.fullmatch(said.strip())
    unit = "" if found is None else found[2].lower()
    seconds = _UNITS.get(unit.removesuffix("s")) if len(unit) > 3 else _SHORT.get(unit)
    if found is None or seconds is None:
        raise _refuse(
            f"{said!r} is no time to wait. Write a number and a unit (seconds, minutes, hours, days, weeks), "
            "as in 2 hours."
        )
    return round(float(found[1]) * seconds * 1000)


def _refuse(message: str) -> Invalid:
    return Invalid(message, fields={"plans": message})
