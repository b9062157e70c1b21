"""What a run asks about earlier runs costs what it is shown, however many runs there were."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bullpen.runs import rows
from bullpen.storage import Store, Transaction
from tests.databases import Database
from tests.rules.a_run import RUN
from tests.storage.explaining import SLOW, Ask, count_steps, explain

FEW, MANY = 100, 3000
SPEAKS = 50  # one run in so many said something; the others were silent

ASKED: dict[str, tuple[str, Ask]] = {
    "of a mind": ("runs_summary ", lambda tx: rows.select_summaries(tx, "thr_1", before=MANY + 1, limit=2)),
    "of a room": (
        "runs_summary_window",
        lambda tx: rows.select_space_summaries(tx, "thr_1", before=MANY + 1, since=0, upto=MANY, limit=2),
    ),
    # Nobody has said anything lately: the search must not go on through all that is older.
    "of a room lately": (
        "runs_summary_window",
        lambda tx: rows.select_space_summaries(tx, "thr_1", before=MANY + 1, since=MANY, upto=MANY + 1, limit=2),
    ),
}


@pytest.mark.parametrize("asked", ASKED)
async def test_summaries_are_found_by_an_index(store: Store, database: Database, asked: str) -> None:
    index, ask = ASKED[asked]
    plan = await explain(store, database, ask)
    assert index in plan, plan
    assert not any(word in plan for word in SLOW), plan


@pytest.mark.one_database
@pytest.mark.parametrize("asked", ASKED)
async def test_summaries_of_many_runs_cost_no_more(store: Store, database: Database, asked: str) -> None:
    _, ask = ASKED[asked]
    await store.transact(lambda tx: _live(tx, 0, FEW))
    few = await count_steps(database, ask)
    await store.transact(lambda tx: _live(tx, FEW, MANY))
    assert await count_steps(database, ask) <= few


async def _live(tx: Transaction, first: int, last: int) -> None:
    for number in range(first + 1, last + 1):
        run = replace(
            RUN,
            id=f"run_{number}",
            ordinal=number,
            window_seq=number,
            status="completed",
            summary=f"said {number}" if number % SPEAKS == 0 else None,
            finished_at=RUN.started_at,
        )
        await rows.insert_run(tx, run)
