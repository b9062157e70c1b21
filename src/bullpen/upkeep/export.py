"""Export a space, a person or an agent: everything kept of it, as lines of JSON in the shapes of the API.

A line is `{"type": "message", "message": {…}}`: the noun under its own name, as in events. The first says what is
exported, the last how many lines there are, so that a cut file is noticed. Read page by page, never held whole: what
is written meanwhile may or may not be in it. `readable` are the spaces whose talk the reader may see; None: all.
Of files it says what they are; their bytes are fetched by their ids, one by one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar, get_args

import orjson

from bullpen.access import actions as access
from bullpen.access import rows as access_rows
from bullpen.agents import actions as agents
from bullpen.agents import rows as agent_rows
from bullpen.events.actions import encode
from bullpen.files import rows as file_rows
from bullpen.hooks import rows as hooks
from bullpen.ids import Whose
from bullpen.memory import actions as memory
from bullpen.memory import rows as memory_rows
from bullpen.mind import rows as mind_rows
from bullpen.runs import rows as run_rows
from bullpen.runs.types import Run
from bullpen.skills import rows as skills
from bullpen.spaces import rows as space_rows
from bullpen.storage import Store, Transaction
from bullpen.tasks import rows as tasks
from bullpen.upkeep import rows
from bullpen.upkeep.rules import Kind
from bullpen.webhooks import actions as webhook_actions
from bullpen.webhooks import rows as webhooks
from bullpen.wire import Message
from bullpen.wire.nouns import File, TaskStatus

FORMAT = 1
STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)
PAGE = 200
WINDOW = 1000
# Sorts after every id.
LAST = "\U0010ffff"

T = TypeVar("T")
Said = tuple[str, Any]


async def exists(tx: Transaction, kind: Kind, id: str) -> bool:
    found: Mapping[Kind, Callable[[], Awaitable[Any]]] = {
        "space": lambda: space_rows.select_room(tx, id),
        "person": lambda: access_rows.select_person(tx, id),
        "agent": lambda: agent_rows.select_agent(tx, id),
    }
    return await found[kind]() is not None


async def lines(
    store: Store, kind: Kind, id: str, *, readable: set[str] | None, journals: bool
) -> AsyncIterator[bytes]:
    """The caller has checked that it is there, and who may. `journals`: also what agents thought and called."""
    parts = {
        "space": lambda: _space(store, id, journals),
        "person": lambda: _person(store, id, readable),
        "agent": lambda: _agent(store, id, readable),
    }
    yield _line({"type": "export", "export": {"format": FORMAT, "kind": kind, "id": id, "at": store.clock.now()}})
    count = 2
    async for type, noun in parts[kind]():
        yield _line({"type": type, type: noun})
        count += 1
    yield _line({"type": "end", "end": {"lines": count}})


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value, default=encode) + b"\n"


async def _space(store: Store, id: str, journals: bool) -> AsyncIterator[Said]:
    yield "space", await store.read(lambda tx: space_rows.select_space(tx, id, ""))
    after = 0
    while page := await store.read(
        lambda tx, a=after: space_rows.select_messages(tx, id, after=a, limit=PAGE)  # type: ignore[misc]
    ):
        for message in page:
            yield "message", message
        after = page[-1].seq
    async for file in _files_in(store, id):
        yield "file", file
    before = LAST
    while found := await store.read(
        lambda tx, b=before: tasks.select_tasks(tx, space_ids=[id], statuses=STATUSES, before=b, limit=PAGE)  # type: ignore[misc]
    ):
        for task in found:
            yield "task", tasks.on_the_wire(task)
        before = found[-1].id
    for plan in await store.read(lambda tx: mind_rows.select_in_space(tx, id)):
        yield "plan", mind_rows.plan_on_the_wire(plan)
    async for said in _learned(store, Whose(space=id), None):
        yield said
    for said in await store.read(lambda tx: _written_down(tx, Whose(space=id))):
        yield said
    before = LAST
    while kept := await store.read(
        lambda tx, b=before: skills.select_skills(tx, space_ids=[id], before=b, limit=PAGE)  # type: ignore[misc]
    ):
        for skill in kept:
            yield "skill", skills.on_the_wire(skill)
        before = kept[-1].id
    async for said in _runs(store, journals, None, space_id=id):
        yield said


async def _learned(store: Store, whose: Whose, readable: set[str] | None) -> AsyncIterator[Said]:
    """What an agent remembers, or all that a group has told its agents."""
    for block in await store.read(lambda tx: memory_rows.export_group_blocks(tx, whose)):
        if readable is None or block["spaceId"] in readable:
            yield "block", block
    async for said in _passages(store, whose, readable):
        yield said


async def _passages(store: Store, whose: Whose, readable: set[str] | None) -> AsyncIterator[Said]:
    """Of an agent, of a space, or written by a person."""
    after = ""
    while page := await store.read(lambda tx, a=after: memory_rows.export_passages(tx, whose, a, PAGE)):  # type: ignore[misc]
        for stored in page:
            if readable is None or stored.read_in is None or stored.read_in in readable:
                yield "passage", memory.on_the_wire(stored)
        after = page[-1].id


async def _written_down(tx: Transaction, whose: Whose, readable: set[str] | None = None) -> list[Said]:
    """Goals and memories of an agent, or those that stay in a space."""
    goals = [goal for goal in await mind_rows.export_goals(tx, whose) if _may_read(goal.place, readable)]
    memories = [each for each in await mind_rows.export_memories(tx, whose) if _may_read(each.place, readable)]
    return [
        *(("goal", mind_rows.goal_on_the_wire(goal)) for goal in goals),
        *(("memory", mind_rows.memory_on_the_wire(memory)) for memory in memories),
    ]


def _may_read(place: str, readable: set[str] | None) -> bool:
    return readable is None or not place or place in readable


async def _skills_by(store: Store, id: str, readable: set[str] | None) -> AsyncIterator[Said]:
    """What somebody wrote, or proposed to others, wherever it is."""
    for skill in await store.read(lambda tx: skills.select_whose(tx, Whose(member=id))):
        wrote = id in (version.written_by for version in (skill.active, skill.proposed) if version is not None)
        if wrote and (readable is None or skill.space_id in readable):
            yield "skill", skills.on_the_wire(skill)


async def _person(store: Store, id: str, readable: set[str] | None) -> AsyncIterator[Said]:
    yield "person", await store.read(lambda tx: access.get_person(tx, id))
    for space_id, kind, name in await store.read(lambda tx: space_rows.select_spaces_of(tx, id, limit=100_000)):
        yield "membership", {"spaceId": space_id, "kind": kind, "name": name}
    after = LAST
    while page := await store.read(
        lambda tx, b=after: access_rows.select_tokens(tx, before=b, limit=PAGE, person_id=id)  # type: ignore[misc]
    ):
        for token in page:
            yield "token", token
        after = page[-1].id
    for hook in await store.read(lambda tx: hooks.select_of_person(tx, id)):
        yield "hook", hook
    for webhook in await store.read(lambda tx: webhooks.select_webhooks(tx, before=LAST, limit=PAGE, person_id=id)):
        yield "webhook", webhook if readable is None else webhook_actions.shown_to_others(webhook)
    for account in await store.read(lambda tx: access_rows.select_accounts_of(tx, id)):
        yield "account", account
    for task in await store.read(lambda tx: tasks.select_of_cause(tx, id)):
        if readable is None or task.space_id in readable:
            yield "task", tasks.on_the_wire(task)
    for plan in await store.read(lambda tx: mind_rows.select_of_cause(tx, id)):
        if readable is None or plan.space_id in readable:
            yield "plan", mind_rows.plan_on_the_wire(plan)
    async for skill in _skills_by(store, id, readable):
        yield skill
    async for passage in _passages(store, Whose(member=id), readable):
        yield passage
    for session in await store.read(lambda tx: access_rows.select_sessions(tx, id)):
        yield "session", {"id": session.id, "createdAt": session.created_at, "endedAt": session.ended_at}
    async for message in _written(store, id, readable):
        yield "message", message
    async for reaction in _reactions(store, id):
        yield "reaction", reaction
    async for file in _given(store, id, readable):
        yield "file", file


async def _agent(store: Store, id: str, readable: set[str] | None) -> AsyncIterator[Said]:
    yield "agent", await store.read(lambda tx: agents.get(tx, id))
    async for skill in _skills_by(store, id, readable):
        yield skill
    for block in await store.read(lambda tx: memory_rows.select_blocks(tx, id)):
        sources = {"outside": list(block.outside)} if block.outside else {}
        yield "block", {"label": block.label, "content": block.content, "updatedAt": block.updated_at, **sources}
    async for said in _learned(store, Whose(member=id), readable):
        yield said
    for said in await store.read(lambda tx: _written_down(tx, Whose(member=id), readable)):
        yield said
    for plan in await store.read(lambda tx: mind_rows.select_all_plans(tx, id)):
        if _may_read(plan.place, readable):
            yield "plan", mind_rows.plan_on_the_wire(plan)
    async for message in _written(store, id, readable):
        yield "message", message
    async for file in _given(store, id, readable):
        yield "file", file
    async for said in _runs(store, True, readable, agent_id=id):
        yield said


async def _files_in(store: Store, space_id: str) -> AsyncIterator[File]:
    before = LAST
    while page := await store.read(
        lambda tx, b=before: file_rows.select_in_space(tx, space_id, before=b, limit=PAGE)  # type: ignore[misc]
    ):
        for file in page:
            yield file
        before = page[-1].id


async def _given(store: Store, owner_id: str, readable: set[str] | None) -> AsyncIterator[File]:
    """What somebody uploaded, where the reader may see it."""
    after = ""
    while page := await store.read(
        lambda tx, a=after: file_rows.select_given(tx, owner_id, after=a, limit=PAGE)  # type: ignore[misc]
    ):
        for file in page:
            if readable is None or file.space_id in readable:
                yield file
        after = page[-1].id


async def _windows(
    store: Store, table: str, read: Callable[[Transaction, str, str], Awaitable[list[T]]]
) -> AsyncIterator[list[T]]:
    after: str | None = ""
    while after is not None:

        async def body(tx: Transaction, after: str = after) -> tuple[str | None, list[T]]:
            upto = await rows.select_window(tx, table, after, WINDOW)
            return upto, [] if upto is None else await read(tx, after, upto)

        after, found = await store.read(body)
        yield found


async def _written(store: Store, author_id: str, readable: set[str] | None) -> AsyncIterator[Message]:
    async def read(tx: Transaction, after: str, upto: str) -> list[str]:
        return await space_rows.select_written(tx, author_id, after, upto)

    async for found in _windows(store, "messages", read):
        for id in found:
            message = await store.read(lambda tx, id=id: space_rows.select_message(tx, id))  # type: ignore[misc]
            if message is not None and (readable is None or message.space_id in readable):
                yield message


async def _reactions(store: Store, member_id: str) -> AsyncIterator[dict[str, str]]:
    async def read(tx: Transaction, after: str, upto: str) -> list[tuple[str, str]]:
        return await space_rows.select_reacted(tx, member_id, after, upto)

    async for found in _windows(store, "reactions", read):
        for message_id, emoji in found:
            yield {"messageId": message_id, "emoji": emoji}


async def _runs(
    store: Store,
    journals: bool,
    readable: set[str] | None,
    *,
    agent_id: str | None = None,
    space_id: str | None = None,
) -> AsyncIterator[Said]:
    """Newest first, as lists are."""

    async def body(tx: Transaction, before: str) -> list[Run]:
        return await run_rows.select_runs(
            tx, agent_id=agent_id, space_id=space_id, status=None, before=before, limit=PAGE
        )

    before = LAST
    while page := await store.read(lambda tx, b=before: body(tx, b)):  # type: ignore[misc]
        for run in page:
            if readable is not None and run.space_id is not None and run.space_id not in readable:
                continue
            yield "run", run_rows.on_the_wire(run)
            if journals:
                async for entry in _journal(store, run.id):
                    yield "runMessage", entry
        before = page[-1].id


async def _journal(store: Store, run_id: str) -> AsyncIterator[Any]:
    after = -1
    while page := await store.read(
        lambda tx, a=after: run_rows.select_entry_page(tx, run_id, after=a, limit=PAGE)  # type: ignore[misc]
    ):
        for entry in page:
            yield run_rows.entry_on_the_wire(entry)
        after = page[-1].position
