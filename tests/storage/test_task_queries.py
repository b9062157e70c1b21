"""What every sweep asks about tasks, and what a list of one space asks, is answered by an index: however many there
are, it costs what is due, or what is shown."""

from __future__ import annotations

import pytest

from bullpen.storage import Store
from bullpen.tasks import rows
from tests.databases import Database
from tests.storage.explaining import SLOW, Ask, explain

ASKED: dict[str, tuple[str, Ask]] = {
    "what is due": ("tasks_due", lambda tx: rows.select_due(tx, 1, 50)),
    "when the next is due": ("tasks_due", rows.select_next),
    "which runs are over": ("task_firings_unended", lambda tx: rows.select_ended(tx, 50)),
    "the tasks of a space": (
        "tasks_space",
        lambda tx: rows.select_tasks(tx, space_ids=["studio"], statuses=("active", "paused"), limit=50),
    ),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_each_task_query_uses_one_index_without_sorting(store: Store, database: Database, asked: str) -> None:
    index, ask = ASKED[asked]
    plan = await explain(store, database, ask)
    assert index in plan, plan
    assert not any(word in plan for word in SLOW), plan
