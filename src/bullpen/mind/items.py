"""The inbox item of a plan's firing: what it says, and what its run makes of it. Nobody else knows the payload's shape.

Stands apart from firing.py, because runs use it and must not reach what posts in spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.mind.types import Plan
from bullpen.storage import Transaction
from bullpen.tasks import rows as task_rows
from bullpen.tasks import times
from bullpen.tasks.types import Firing


def build_payload(tx: Transaction, plan: Plan, firing: Firing, author_kind: str, author_name: str) -> dict[str, Any]:
    """What the agent is told. There is no `text`: a plan is nobody's message. Whose words it holds is said, so that an
    erasure finds them."""
    told: dict[str, Any] = {
        "plan": {
            "id": plan.ref,
            "name": plan.name,
            "instruction": plan.instruction,
            "authorId": plan.created_by,
            "authorKind": author_kind,
            "authorName": author_name,
        },
        "planId": plan.ref,
        "clockId": plan.id,
        "nominalAt": tx.clock.at(firing.nominal_at),
        "localTime": times.local(firing.nominal_at, plan.shown_zone),
    }
    if plan.space_id is not None:
        told["spaceId"] = plan.space_id
    if firing.missed:
        told["missed"] = firing.missed
    if plan.outside:
        told["outside"] = list(plan.outside)
    return told


async def note_run(tx: Transaction, payload: Mapping[str, Any], run_id: str) -> None:
    """A run has begun with this item."""
    await task_rows.update_run(tx, payload["clockId"], task_rows.millis_of(payload["nominalAt"]), run_id)
