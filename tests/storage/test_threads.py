"""Threads as they are kept: one for each anchor, and all of it read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bullpen.errors import Broken
from bullpen.storage import Store, Transaction
from bullpen.threads import actions, rows
from bullpen.threads.types import Thread


async def test_a_thread_is_read_back_as_it_was_written(store: Store) -> None:
    child = Thread("thr_2", "ada", "child", "thr_2", "lab", "lab", "2026-01-01T00:00:00Z", grants="speak")
    child = replace(child, cause_kind="person", cause_id="pia", parent_id="thr_1", scoped_names=("TOKEN", "KEY"))

    async def body(tx: Transaction) -> Thread | None:
        await rows.insert_thread(tx, child)
        return await rows.select_thread(tx, "thr_2")

    assert await store.transact(body) == child


async def test_an_agent_has_one_thread_for_each_anchor(store: Store) -> None:
    async def body(tx: Transaction) -> list[str]:
        asked = [("space", "lab"), ("space", "lab"), ("space", "den"), ("agent", "lab"), ("agent", "den")]
        return [await actions.ensure(tx, "ada", scope, space_id) for scope, space_id in asked]  # type: ignore[arg-type]

    lab, lab_again, den, mind, mind_again = await store.transact(body)
    assert lab == lab_again
    assert mind == mind_again
    assert len({lab, den, mind}) == 3


async def test_a_thread_for_one_piece_of_work_needs_grants(store: Store) -> None:
    async def body(tx: Transaction) -> None:
        with pytest.raises(Broken, match="without grants"):
            await actions.ensure(tx, "ada", "fresh", None)

    await store.transact(body)
