"""What becomes of times at which a task was due, and what its runs inherit. Pure; when that is, is `times.py`."""

from __future__ import annotations

from typing import Any, Final

from bullpen.tasks.types import Due, Firing, Scheduled
from bullpen.wire.nouns import FiringStatus, MissedPolicy

HOUR: Final = 3_600_000
# A time that is noticed later than this was missed, if the task wants to know.
LATE: Final = 60_000


def plan(policy: MissedPolicy, found: Due, now: int) -> list[tuple[int, FiringStatus, int]]:
    """What becomes of the times that have come: each with its status, and how many earlier ones it stands for."""
    if not found.times:
        return []
    last = found.times[-1]
    match policy:
        case "all":
            left = found.count - len(found.times)
            return [(at, "fired", left if n == 0 else 0) for n, at in enumerate(found.times)]
        case "none" if now - last > LATE:
            return [(last, "missed", found.count - 1)]
        case _:
            return [(last, "fired", found.count - 1)]


def inherits(task: Scheduled, nominal_at: int) -> bool:
    """Is this a link of the chain that made the task? A single time within the hour is; what comes later is new."""
    return task.chain_id is not None and task.schedule.type == "once" and nominal_at - task.made_at <= HOUR


def wakes(result: Any) -> bool:
    """What a precheck came to: nothing at all, or `{"wake": false}`, lets the model sleep."""
    if isinstance(result, dict) and "wake" in result:
        return bool(result["wake"])
    return bool(result)


def key(firing: Firing) -> str:
    """Under which the firing's inbox item is kept: delivering it twice keeps one."""
    return f"{key_prefix(firing.task_id)}{firing.nominal_at}"


def key_prefix(task_id: str) -> str:
    return f"task:{task_id}:"
