"""Say something in a space: the one place where a slash is understood, for the page, programs and bridges alike.

A person's message may be a word to the office itself, which is answered in the space, or start a skill of the space;
every other one is an ordinary message, whatever it begins with. All of it happens in the commit that keeps the
message. Agents give no commands: what they write is only ever said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from bullpen.agents import rows as agent_rows
from bullpen.errors import RunAlreadyFinished
from bullpen.operations import rules
from bullpen.operations.types import Answer, Asked, Said, Understood
from bullpen.runs import actions as runs
from bullpen.runs import rows as run_rows
from bullpen.skills import actions as skills
from bullpen.skills import rows as skill_rows
from bullpen.spaces import actions as spaces
from bullpen.spaces import reasons
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.spaces.types import Author, Room
from bullpen.storage import Transaction
from bullpen.tasks import rows as task_rows
from bullpen.tools import rows as tool_rows
from bullpen.wire.nouns import Command

CarryOut: TypeAlias = Callable[[Transaction, Asked], Awaitable[Answer]]


async def say(tx: Transaction, room: Room, author: Author, text: str, *, chain_limit: int, **posting: Any) -> Said:
    """Post a message and do what it asks for. `posting` is what `spaces.post` takes besides."""
    found = await understood(tx, room, author, text)
    kept = None if found is None else found.kept
    draft = await spaces.post(tx, room, author, text, chain_limit=chain_limit, command=kept, **posting)
    if found is None or not draft.created:
        return Said(draft)
    if found.skill is not None:
        started = await skills.start(tx, room, found.skill, draft, found.parameters)
        if started is None:
            await spaces.announce(tx, room.id, skills.NOBODY, reply_to=draft.id)
        return Said(draft, started=started)
    answer = await OFFICE[found.name](tx, Asked(room, draft, found.parameters, chain_limit))
    await spaces.announce(tx, room.id, answer.text, reply_to=draft.id)
    return Said(draft, answer.stopped)


async def understood(tx: Transaction, room: Room, author: Author, text: str) -> Understood | None:
    """What the message means, if it is more than a message."""
    found = space_rules.slash(text) if author.kind == "person" else None
    if found is None:
        return None
    name, parameters = found
    if name in OFFICE:
        return Understood(name, parameters)
    skill = await skill_rows.select_skill(tx, room.id, name)
    return None if skill is None or skill.active is None else Understood(name, parameters, skill)


async def preview(
    tx: Transaction, room: Room, author: Author, text: str, *, reply_to: str | None, chain_limit: int
) -> list[str]:
    """Whom this would wake, if it were said now. Nothing is changed."""
    found = await understood(tx, room, author, text)
    if found is None:
        return await spaces.preview(tx, room, author, text, reply_to=reply_to, chain_limit=chain_limit)
    if found.skill is None or found.skill.active is None:
        return []
    agent = await skills.follower(tx, room, found.skill.active, found.parameters)
    return [] if agent is None else [agent.agent_id]


async def offered(tx: Transaction, space_id: str) -> list[Command]:
    """What people can write here with a slash."""
    return rules.offered(await skill_rows.select_active(tx, space_id))


# ── words to the office ─────────────────────────────────────────────────────────────────────────────────────────────


async def _help(tx: Transaction, asked: Asked) -> Answer:
    return Answer(rules.help_text(await offered(tx, asked.room.id)))


async def _new(tx: Transaction, asked: Asked) -> Answer:
    """The message itself is the mark: see runs/past.py."""
    present = await space_rows.select_recipients(tx, asked.room)
    minds = [agent.name for agent in present if agent.scope == "agent"]
    return Answer(rules.new_text([agent.name for agent in present if agent.scope != "agent"], minds))


async def _status(tx: Transaction, asked: Asked) -> Answer:
    room = asked.room
    present = [recipient.agent_id for recipient in await space_rows.select_recipients(tx, room)]
    agents = [await agent_rows.select_agent(tx, id) for id in present]
    text = rules.status_text(
        [(agent.name, agent.state) for agent in agents if agent is not None],
        open_calls=await tool_rows.count_open_in(tx, room.id),
        tasks=await task_rows.count_tasks(tx, room.id),
        proposed=await skill_rows.count_proposed(tx, room.id),
    )
    return Answer(text)


async def _stop(tx: Transaction, asked: Asked) -> Answer:
    """Whatever is under way in this space, or of those who are mentioned. What waits in an inbox is not touched."""
    whom = asked.parameters.strip()
    found = await run_rows.select_under_way_in(tx, asked.room.id)
    names = await agent_rows.select_names(tx, sorted({run.agent_id for run in found}))
    meant = [
        run
        for run in found
        if not whom or space_rules.mentions(whom, id=run.agent_id, name=names.get(run.agent_id, run.agent_id))
    ]
    for run in meant:
        with suppress(RunAlreadyFinished):  # just now
            await runs.request_cancel(tx, run)
    who = ", ".join(sorted({names.get(run.agent_id, run.agent_id) for run in meant}))
    said = f"{asked.draft.author.name} stopped {who}." if meant else "There was nothing to stop."
    return Answer(said, [run.id for run in meant])


async def _tasks(tx: Transaction, asked: Asked) -> Answer:
    most = rules.MOST_TASKS + 1
    found = await task_rows.select_tasks(tx, space_ids=[asked.room.id], statuses=("active", "paused"), limit=most)
    return Answer(rules.tasks_text(found))


async def _why(tx: Transaction, asked: Asked) -> Answer:
    id = asked.draft.reply_to or await space_rows.select_last_said(tx, asked.room.id)
    message = None if id is None else await space_rows.select_message(tx, id)
    if message is None:
        return Answer("Nothing was said here before.")
    _, judged = await reasons.judge(tx, message, None, asked.chain_limit)
    lines = [verdict.reason for _, _, verdict in judged] or ["No agent is here."]
    quoted = f"About “{rules.short(message.text)}”:" if message.text else "About the message:"
    return Answer("\n".join([quoted, *lines]))


OFFICE: Mapping[str, CarryOut] = {
    "help": _help,
    "new": _new,
    "status": _status,
    "stop": _stop,
    "tasks": _tasks,
    "why": _why,
}
