"""Erase a space, a person or an agent: afterwards nothing of what they said can be found in the database.

It begins with one transaction that takes effect at once (nobody can enter, sign in or run any more) and leaves a mark.
The rest is done in small transactions, each of which finds what is still there; if the process dies, the mark
makes the next one go on. Followers hear of it by the events that they know: messages deleted, members gone.

A space goes with all that is in it. Of a person or an agent the places stay (a message keeps its number, a run its
row), and the words go. Backups, and what others repeated in their own words, are out of reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from bullpen import ids
from bullpen.access import rows as access_rows
from bullpen.access.types import Principal
from bullpen.audit.actions import note
from bullpen.budgets import actions as budgets
from bullpen.budgets import rows as budget_rows
from bullpen.engine import leases
from bullpen.errors import Conflict, NotFound
from bullpen.events import rows as event_rows
from bullpen.events.actions import access_changed, in_turn
from bullpen.files import actions as files
from bullpen.files import rows as file_rows
from bullpen.hooks import rows as hooks
from bullpen.inbox import rows as inbox_rows
from bullpen.memory import rows as memory_rows
from bullpen.outbox import rows as outbox
from bullpen.runs import actions as runs
from bullpen.runs import places
from bullpen.runs import rows as run_rows
from bullpen.skills import actions as skills
from bullpen.spaces import actions as spaces
from bullpen.spaces import chats
from bullpen.spaces import rows as space_rows
from bullpen.storage import Store, Transaction
from bullpen.storage.columns import Holds
from bullpen.tasks import actions as tasks
from bullpen.threads import rows as thread_rows
from bullpen.tools import rows as tool_rows
from bullpen.upkeep import journals, rows, rules
from bullpen.upkeep.export import LAST
from bullpen.upkeep.rules import Kind, Target
from bullpen.variables import actions as variables
from bullpen.variables.types import Scope
from bullpen.webhooks import rows as webhooks

# Rows that one transaction looks at, and how many it changes at most.
WINDOW = 1000
MERGE = 64  # pages of the index of words
BATCH = 200
PIECE = 40

# Tell whoever drives a run that it is over; a hint.
Interrupt: TypeAlias = Callable[[str], None]

T = TypeVar("T")
Begun: TypeAlias = Literal["space", "person"]
Step: TypeAlias = Callable[[Store, Target], Awaitable[None]]


# ── the beginning ───────────────────────────────────────────────────────────────────────────────────────────────────


async def begin(tx: Transaction, caller: Principal, kind: Begun, id: str) -> Target:
    """The part that takes effect at once. The caller has checked who may. Beginning twice is harmless.

    What goes with an agent stands in `operations/agents.py`, with what goes when it is deleted.
    """
    target = await _BEGINNINGS[kind](tx, caller, id)
    await variables.remove_scope(tx, Scope(kind, target.id))
    await tool_rows.delete_policies_of(tx, target.whose)
    await budgets.forget(tx, kind, target.id)
    await tasks.forget(tx, target.whose)
    await memory_rows.delete_group_blocks(tx, target.whose)
    await skills.forget(tx, target.whose)
    if kind == "space":
        await chats.forget(tx, target.id)
        await webhooks.delete_in_space(tx, target.id)
        await outbox.delete_in_space(tx, target.id)
    else:
        await hooks.delete_hooks_of(tx, target.id)
        await webhooks.delete_webhooks_of(tx, target.id)
        await access_rows.delete_accounts(tx, target.id)
    return target


async def _begin_space(tx: Transaction, caller: Principal, id: str) -> Target:
    id = ids.canonical_space(id)
    await in_turn(tx, id)
    room = await space_rows.select_room(tx, id)
    if room is None:
        raise NotFound(f"There is no space {id!r}.")
    target = Target("space", id, room.name)
    await _close_space(tx, id)
    if await rows.insert_begun(tx, target):
        note(tx, caller, "space.erased", "space", id)
    return target


async def _close_space(tx: Transaction, id: str) -> None:
    for member_id in await space_rows.select_member_ids(tx, id):
        await spaces.put_out(tx, id, member_id)
    await space_rows.hide_space(tx, id, rules.NAMES["space"])
    await skills.forget(tx, ids.Whose(space=id))
    await budgets.forget(tx, "space", id)
    await budget_rows.forget_space(tx, id)


async def _begin_person(tx: Transaction, caller: Principal, id: str) -> Target:
    await in_turn(tx, "owners", id)  # two owners erased at once must not both find the other
    person = await access_rows.select_person(tx, id)
    if person is None:
        raise NotFound(f"There is no person {id!r}.")
    if person.role == "owner" and not [p for p in await access_rows.select_owners(tx, limit=2) if p.id != id]:
        raise Conflict("This is the only owner. Make somebody else an owner first.")
    target = Target("person", id, person.name)
    if await rows.insert_begun(tx, target):
        note(tx, caller, "person.erased", "person", id)
    for space_id in await space_rows.select_dms_with_agents(tx, id):
        await _begin_space(tx, caller, space_id)
    for space_id, kind, _ in await space_rows.select_spaces_of(tx, id, limit=100_000):
        if kind != "dm":
            await spaces.put_out(tx, space_id, id)
    await files.remove_portrait(tx, id)
    await access_rows.erase_person(tx, id, rules.NAMES["person"])
    await inbox_rows.delete_waiting_for(tx, id)
    for token_id, holder_id in await access_rows.erase_tokens(tx, id):
        access_changed(tx, holder_id, token_id)
    await spaces.renamed(tx, id)  # in DMs with other people, who keep them
    access_changed(tx, id)
    return target


_BEGINNINGS: Mapping[Begun, Callable[[Transaction, Principal, str], Awaitable[Target]]] = {
    "space": _begin_space,
    "person": _begin_person,
}


# ── the rest ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def finish(store: Store, target: Target, interrupt: Interrupt) -> None:
    """Everything that is left to do. May be stopped anywhere, and begun again."""
    await _stop_runs(store, target, interrupt)
    for step in _STEPS[target.kind]:
        await step(store, target)

    if target.kind == "space":
        await store.transact(lambda tx: _remove_space(tx, target.id))
    await _forget_words(store)
    await store.shred()
    # Last, so that a process that dies before has everything done again. The mark holds a name: that is shredded, too.
    await store.transact(lambda tx: rows.delete_begun(tx, target))
    await store.shred()


async def _remove_space(tx: Transaction, id: str) -> None:
    await in_turn(tx, id)
    if await space_rows.select_room(tx, id) is None:
        return  # it was removed by a process that died afterwards
    await _close_space(tx, id)  # somebody may have been added meanwhile
    await space_rows.delete_space(tx, id)
    spaces.tell_erased(tx, id)


async def _forget_words(store: Store) -> None:
    """On PostgreSQL the index forgets by itself, when the table is vacuumed."""
    if store.shared:
        return
    await store.transact(lambda tx: space_rows.merge_words(tx, -MERGE))
    await _until_none(store, lambda tx: space_rows.merge_words(tx, MERGE))


async def finish_all(store: Store, interrupt: Interrupt) -> list[Target]:
    """Whatever has begun, here or in a process that died. Spaces first: those of a person are a part of theirs."""
    begun = sorted(await store.read(rows.select_begun), key=lambda target: target.kind != "space")
    for target in begun:
        await finish(store, target, interrupt)
    return begun


async def _stop_runs(store: Store, target: Target, interrupt: Interrupt) -> None:
    for run_id in await store.read(lambda tx: _UNDER_WAY[target.kind](tx, target.id)):
        await store.transact(lambda tx, id=run_id: _stop_run(tx, id))  # type: ignore[misc]
        interrupt(run_id)


# What must stop before their words can be taken out: it would write them down again.
_UNDER_WAY: Mapping[Kind, Callable[[Transaction, str], Awaitable[list[str]]]] = {
    "space": run_rows.select_under_way_told,
    "person": run_rows.select_under_way_for,
    "agent": run_rows.select_under_way_of,
}


async def _stop_run(tx: Transaction, id: str) -> None:
    """End it here and now. Whoever drives it finds that the thread is not theirs any more."""
    run = await run_rows.select_run(tx, id)
    lease = None if run is None else await leases.seize(tx, run.thread_id)
    run = await run_rows.select_run(tx, id)
    if run is not None and lease is not None and run.finished_at is None:
        await runs.stop(tx, lease, run, await run_rows.select_entries(tx, id), "cancelled")


async def _in_windows(
    store: Store, table: str, work: Callable[[Transaction, Any, Any], Awaitable[None]], size: int = WINDOW
) -> None:
    """Do this to all rows, some at a time, each time in a transaction of its own."""
    after: Any = 0 if table == "events" else ""
    while after is not None:
        after = await store.transact(lambda tx, a=after: _window(tx, table, work, a, size))  # type: ignore[misc]
        await asyncio.sleep(0)


async def _window(
    tx: Transaction, table: str, work: Callable[[Transaction, Any, Any], Awaitable[None]], after: Any, size: int
) -> Any:
    upto = await rows.select_window(tx, table, after, size)
    if upto is not None:
        await work(tx, after, upto)
    return upto


async def _until_none(store: Store, work: Callable[[Transaction], Awaitable[int]]) -> None:
    while await store.transact(work):  # noqa: ASYNC110  nothing is waited for: others get their turn
        await asyncio.sleep(0)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _empty_messages(store: Store, target: Target) -> None:
    async def empty(tx: Transaction, said: Sequence[str]) -> None:
        await in_turn(tx, *said)
        for id in said:
            if not await space_rows.is_deleted(tx, id):
                await spaces.empty(tx, id)

    async def find(tx: Transaction, after: str, upto: str) -> list[str]:
        await space_rows.forget_client_ids(tx, target.id, after, upto)
        return await space_rows.select_said(tx, target.id, after, upto)

    await _in_pieces(store, "messages", find, empty)


async def _take_reactions(store: Store, target: Target) -> None:
    async def take(tx: Transaction, reacted: Sequence[tuple[str, str]]) -> None:
        await in_turn(tx, *(message_id for message_id, _ in reacted))
        for message_id, emoji in reacted:
            await spaces.take_reaction(tx, message_id, target.id, emoji)

    async def find(tx: Transaction, after: str, upto: str) -> list[tuple[str, str]]:
        return await space_rows.select_reacted(tx, target.id, after, upto)

    await _in_pieces(store, "reactions", find, take)


async def _in_pieces(
    store: Store,
    table: str,
    find: Callable[[Transaction, Any, Any], Awaitable[Sequence[T]]],
    change: Callable[[Transaction, Sequence[T]], Awaitable[None]],
) -> None:
    """Look through a table, and change what is found some at a time: each has an event, and followers to be told."""
    found: list[T] = []

    async def look(tx: Transaction, after: Any, upto: Any) -> None:
        found[:] = await find(tx, after, upto)

    after: Any = ""
    while after is not None:
        after = await store.transact(lambda tx, a=after: _window(tx, table, look, a, WINDOW))  # type: ignore[misc]
        for start in range(0, len(found), PIECE):
            piece = found[start : start + PIECE]
            await store.transact(lambda tx, p=piece: change(tx, p))  # type: ignore[misc]
            await asyncio.sleep(0)
        found.clear()


async def _scrub(store: Store, target: Target) -> None:
    """Take their words out of wherever they stand among those of others."""
    for table in rows.SHARED:
        await _in_windows(store, table, lambda tx, a, u, t=table: _scrub_window(tx, t, target, a, u))  # type: ignore[misc]


async def _scrub_window(tx: Transaction, table: str, target: Target, after: Any, upto: Any) -> None:
    for id, held in await rows.select_shared(tx, table, target, after, upto):
        clean = {
            column: None if value is None else _CLEAN[rows.SHARED[table][column]](value, target)
            for column, value in held.items()
        }
        if clean != held:
            await rows.rewrite_shared(tx, table, id, clean)
            if table == "messages":
                await spaces.read_anew(tx, id)


async def _scrub_prompts(store: Store, target: Target) -> None:
    """Others were told with whom they share a space, by name."""

    async def scrub(tx: Transaction, after: Any, upto: Any) -> None:
        for hash, text in await rows.select_prompts(tx, target.id, after, upto):
            if (clean := places.forget(text, target.whose)) != text:
                await rows.rewrite_prompt(tx, hash, clean)

    await _in_windows(store, "prompts", scrub)


_CLEAN: Mapping[Holds, Callable[[str, Target], str]] = {
    Holds.COPIES: rules.scrub_json,
    Holds.LINES: rules.scrub_lines,
    Holds.SUMMARY: rules.scrub_summary,
}


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _drop_files(store: Store, target: Target) -> None:
    """The rows; the bytes go after each commit, and whoever answers waits for the last of them."""

    async def find(tx: Transaction) -> tuple[list[str], list[str]]:
        if target.kind == "space":
            found = await file_rows.select_in_space(tx, target.id, before=LAST, limit=PIECE)
        else:
            found = await file_rows.select_given(tx, target.id, after="", limit=PIECE)
        file_ids = [file.id for file in found]
        return file_ids, sorted(await file_rows.select_showing(tx, file_ids))

    async def drop(tx: Transaction, file_ids: Sequence[str], showing: Sequence[str]) -> None:
        await in_turn(tx, *showing)
        for message_id in await files.drop_all(tx, file_ids):
            await spaces.lost_files(tx, message_id)

    while (found := await store.read(find))[0]:
        await store.transact(lambda tx, f=found: drop(tx, *f))  # type: ignore[misc]
        await asyncio.sleep(0)
    await store.transact(lambda tx: file_rows.delete_usage(tx, (target.kind, target.id)))


async def _forget_calls(store: Store, target: Target) -> None:
    """Calls of an agent or in a space; of a person, what they answered."""

    async def forget(tx: Transaction, after: str, upto: str) -> None:
        if target.kind == "person":
            await tool_rows.empty_answers_of(tx, target.id, after, upto)
        else:
            await tool_rows.delete_calls_of(tx, target.whose, after, upto)

    await _in_windows(store, "pending_calls", forget, BATCH)


async def _forget_stops(store: Store, target: Target) -> None:
    """Runs that they stopped say so by name."""
    await _in_windows(store, "runs", lambda tx, a, u: run_rows.forget_stopped_by(tx, target.id, a, u), BATCH)


# ── an agent ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _silence_runs(store: Store, target: Target) -> None:
    after: str | None = ""
    while after is not None:
        after = await store.transact(lambda tx, a=after: journals.silence_agent(tx, target.id, a, BATCH // 4))  # type: ignore[misc]
        await asyncio.sleep(0)


async def _forget_passages(store: Store, target: Target) -> None:
    await _until_none(store, lambda tx: memory_rows.delete_passages(tx, target.whose, BATCH))


async def _delete_agent_events(store: Store, target: Target) -> None:
    await _in_windows(store, "events", lambda tx, a, u: event_rows.delete_of_agent(tx, target.id, a, u))


# ── a space ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _delete_threads(store: Store, target: Target) -> None:
    for thread_id in await store.read(lambda tx: thread_rows.select_in_space(tx, target.id)):
        await _until_none(store, lambda tx, id=thread_id: journals.delete_thread(tx, id, BATCH // 4))  # type: ignore[misc]


async def _forget_items(store: Store, target: Target) -> None:
    await _in_windows(store, "inbox_items", lambda tx, a, u: journals.silence_told(tx, target.id, a, u), BATCH)
    await store.transact(lambda tx: thread_rows.leave_space(tx, target.id))


async def _delete_messages(store: Store, target: Target) -> None:
    await _until_none(store, lambda tx: space_rows.delete_messages_in(tx, target.id, BATCH))


async def _delete_space_events(store: Store, target: Target) -> None:
    await _in_windows(store, "events", lambda tx, a, u: event_rows.delete_of_space(tx, target.id, a, u))


_STEPS: Mapping[Kind, Sequence[Step]] = {
    "space": (
        _delete_threads,
        _forget_passages,
        _forget_items,
        _forget_calls,
        _delete_messages,
        _drop_files,
        _delete_space_events,
        _scrub,
        _scrub_prompts,
    ),
    "person": (
        _forget_passages,
        _empty_messages,
        _drop_files,
        _take_reactions,
        _forget_calls,
        _forget_stops,
        _scrub,
        _scrub_prompts,
    ),
    "agent": (
        _silence_runs,
        _forget_calls,
        _forget_passages,
        _empty_messages,
        _drop_files,
        _take_reactions,
        _delete_agent_events,
        _scrub,
        _scrub_prompts,
    ),
}
