"""A pending call's row moves by the table of tools/rules.py alone, and only from where it was read."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from bullpen.errors import Broken
from bullpen.inbox.types import Cause
from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.tables import pending_calls
from bullpen.tools import pending, rows
from bullpen.tools.rules import PENDING_BEGINNINGS, PENDING_MOVES, Mover, PendingState, pending_state
from bullpen.tools.types import Waiting
from tests import effort

ROBIN = Cause("person", "robin", "post")


def put_into(call: Waiting, state: PendingState) -> Waiting:
    kind, status, execution, via = state.value
    result = {"approved": True, "n": [1, None]} if status == "resolved" else None
    return replace(
        call,
        kind="approval" if kind == "approval" else "external",
        status=status,
        execution=execution,
        delivered_via=via,
        result=result,
        answered_by=None if status in ("waiting", "pending") else "robin",
    )


def new_call(number: int, state: PendingState) -> Waiting:
    id = f"call_{number}"
    now = "2026-01-01T00:00:00.000Z"
    call = Waiting(
        id, "external", "waiting", "ada", "run_1", "thread_1", None, "fetch", {"x": 1}, ROBIN, 1, "chain", now
    )
    return put_into(replace(call, visible=True, deadline_at=5, expires_at=7, spaces=("den",)), state)


async def kept(store: Store, id: str) -> Waiting:
    found = await store.read(lambda tx: rows.select_pending(tx, id))
    assert found is not None
    return found


async def move(store: Store, before: Waiting, after: Waiting, by: Mover) -> Waiting:
    async def body(tx: Transaction) -> Waiting:
        return await pending.move(tx, before, after, by)

    return await store.transact(body)


async def test_random_walks_keep_rows_and_table_together(store: Store) -> None:
    chance = random.Random(17)
    for number in range(effort.count(200, sample=25)):
        state = chance.choice(sorted(PENDING_BEGINNINGS, key=lambda each: each.name))
        call = new_call(number, state)
        await store.transact(partial(pending.add, waiting=call))
        while PENDING_MOVES[state]:
            before, forbidden = await kept(store, call.call_id), chance.choice(list(PendingState))
            if forbidden not in PENDING_MOVES[state]:
                with pytest.raises(Broken):
                    await move(store, before, put_into(before, forbidden), "run")
                assert await kept(store, call.call_id) == before
            state = chance.choice(list(PENDING_MOVES[state]))
            by = chance.choice(sorted(PENDING_MOVES[pending_state(before)][state]))
            after = await move(store, before, put_into(before, state), by)
            assert await kept(store, call.call_id) == after
            assert pending_state(after) is state


STALE: list[dict[str, Any]] = [
    {"status": "cancelled"},
    {"execution": "inline"},
    {"delivered_via": "inbox"},
    {"kind": "approval"},
]


@pytest.mark.parametrize("changed", STALE)
async def test_a_row_that_has_moved_is_not_moved_again(store: Store, changed: dict[str, Any]) -> None:
    """Each of the four columns counts: whoever read another value of one of them changes nothing."""
    call = new_call(1, PendingState.AWAITED)
    await store.transact(lambda tx: pending.add(tx, call))
    there = replace(call, **changed)
    assert await store.transact(lambda tx: rows.move_pending(tx, call, there))
    assert not await store.transact(lambda tx: rows.move_pending(tx, call, put_into(call, PendingState.ANSWERED)))
    with pytest.raises(Broken, match="was moved by somebody else"):
        await move(store, call, put_into(call, PendingState.ANSWERED), "answer")
    assert await kept(store, call.call_id) == replace(there, result=None)


async def test_the_time_of_an_answer_stays_until_asked_again(store: Store) -> None:
    """`resolved_at` says when it was answered, not when the answer was read or the call begun."""
    call = new_call(1, PendingState.ASKED_LATE)
    await store.transact(lambda tx: pending.add(tx, call))

    async def resolved_at() -> Any:
        row = await store.read(lambda tx: tx.one(Statement(select(pending_calls.c.resolved_at))))
        assert row is not None
        return row[0]

    assert await resolved_at() is None
    call = await move(store, call, put_into(call, PendingState.QUEUED), "answer")
    at = await resolved_at()
    assert at is not None
    started = await move(store, call, put_into(call, PendingState.STARTED), "late")
    assert await resolved_at() == at
    await move(store, started, put_into(call, PendingState.STARTED_SENT), "late")
    assert await resolved_at() == at
    assert await store.transact(
        lambda tx: rows.move_pending(
            tx, put_into(call, PendingState.STARTED_SENT), put_into(call, PendingState.ASKED_LATE)
        )
    )
    assert await resolved_at() is None
