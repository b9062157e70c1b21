"""The inbox item of a firing: what it says, and what its run makes of it. Nobody else knows the shape of its payload.

Stands apart from firing.py, because runs use it and must not reach what posts in spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.storage import Transaction
from bullpen.tasks import rows, times
from bullpen.tasks.types import Firing, Task


def build_payload(tx: Transaction, task: Task, firing: Firing, author_kind: str, author_name: str) -> dict[str, Any]:
    """What the agent is told. Whose words it holds is said as in a message: an erasure finds them by that."""
    told: dict[str, Any] = {
        "taskId": task.id,
        "nominalAt": tx.clock.at(firing.nominal_at),
        "localTime": times.local(firing.nominal_at, task.schedule.timezone),
        "spaceId": task.space_id,
        "authorId": task.created_by,
        "authorKind": author_kind,
        "authorName": author_name,
        "text": task.prompt,
    }
    if firing.missed:
        told["missed"] = firing.missed
    if task.precheck is not None:
        told["precheck"] = task.precheck
    if task.outside:
        told["outside"] = list(task.outside)
    return told


async def note_run(tx: Transaction, payload: Mapping[str, Any], run_id: str) -> dict[str, Any] | None:
    """A run has begun with this item. Returns the call that is to be made first, if the task has one."""
    await rows.update_run(tx, payload["taskId"], rows.millis_of(payload["nominalAt"]), run_id)
    return payload.get("precheck")
