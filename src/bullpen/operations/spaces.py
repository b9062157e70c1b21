"""Change a space and what follows from it: an archived space has no runs under way and no tasks that fire."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from bullpen.access.types import Principal
from bullpen.errors import RunAlreadyFinished
from bullpen.files import rows as file_rows
from bullpen.mind import actions as mind
from bullpen.runs import actions as runs
from bullpen.runs import rows as run_rows
from bullpen.skills import rows as skill_rows
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.tasks import actions as tasks
from bullpen.tasks import rows as task_rows
from bullpen.wire import Space
from bullpen.wire.nouns import SpaceContents
from bullpen.wire.requests import UpdateSpace

ARCHIVED: Final = "Its space was archived."


async def update(tx: Transaction, caller: Principal, id: str, request: UpdateSpace) -> Space:
    room = await spaces.room_for(tx, caller, "manage_space", id)
    if request.archived:
        await tasks.take_turns_in(tx, room.id)
        await mind.take_turns_in(tx, room.id)
    space = await spaces.update(tx, caller, id, request)
    if space.archived_at is not None and room.archived_at is None:
        await _stop_runs(tx, caller, space.id)
        await tasks.pause_all_in(tx, space.id, ARCHIVED)
        await mind.pause_all_in(tx, space.id, ARCHIVED)
        await spaces.announce(tx, space.id, f"{caller.name} archived this space. Its tasks are paused.")
    elif space.archived_at is None and room.archived_at is not None:
        await spaces.announce(tx, space.id, f"{caller.name} restored this space. Its tasks stay paused.")
    return space


async def _stop_runs(tx: Transaction, caller: Principal, space_id: str) -> None:
    found = await run_rows.select_under_way_in(tx, space_id)
    for run in found:
        with suppress(RunAlreadyFinished):  # just now
            await runs.request_cancel(tx, run, caller.id)
    runs.interrupt(tx, [run.id for run in found])


async def count_contents(tx: Transaction, caller: Principal, id: str) -> SpaceContents:
    """What goes with the space when somebody deletes it. For those who may delete it."""
    room = await spaces.room_for(tx, caller, "erase_space", id)
    kept = await file_rows.select_usage(tx, ("space", room.id))
    members = await space_rows.select_member_ids(tx, room.id)
    return SpaceContents(
        members=len(members),
        messages=room.last_seq,
        files=kept.files,
        bytes=kept.bytes,
        tasks=await task_rows.count_tasks(tx, room.id),
        skills=await skill_rows.count_skills(tx, room.id),
        runs=await run_rows.count_in(tx, room.id),
    )
