"""What people can write with a slash: the office's own commands, in one table, and the skills of a space.

A command gets the message that gave it and returns the sentence that the office answers with. `say.py` finds it in the
table and posts the answer; `rules.py` says how answers read. No command does more than its author could do otherwise.
Skills cannot have these names: `skills/rules.py:RESERVED` holds them too, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeAlias

from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.errors import RunAlreadyFinished
from bullpen.operations import rules
from bullpen.runs import actions as runs
from bullpen.runs import rows as run_rows
from bullpen.skills import rows as skill_rows
from bullpen.spaces import actions as spaces
from bullpen.spaces import reasons
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.spaces.types import Draft, Room
from bullpen.storage import Transaction
from bullpen.tasks import rows as task_rows
from bullpen.threads.rules import SCOPES
from bullpen.tools import rows as tool_rows
from bullpen.wire.nouns import Command


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """A command that somebody gave: where, in which message, and what stood behind its name."""

    room: Room
    draft: Draft
    parameters: str
    chain_limit: int


CarryOut: TypeAlias = Callable[[Transaction, GivenCommand], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class OfficeCommand:
    description: str
    carry_out: CarryOut
    parameters: str | None = None  # how they are written, for people


async def list_commands(tx: Transaction, caller: Principal, space_id: str) -> list[Command]:
    """Everything that people can write in a space: the office's commands, then its active skills, by name."""
    return await _list_in(tx, await spaces.room_for(tx, caller, "see_skill", space_id))


async def _list_in(tx: Transaction, room: Room) -> list[Command]:
    own = [
        Command(name=name, description=command.description, parameters=command.parameters, kind="office")
        for name, command in COMMANDS.items()
    ]
    return own + [
        Command(name=skill.name, description=said.description, parameters=said.parameters, kind="skill")
        for skill in await skill_rows.select_active(tx, room.id)
        if (said := skill.active) is not None
    ]


async def _help(tx: Transaction, given: GivenCommand) -> str:
    return rules.help_text(await _list_in(tx, given.room))


async def _new(tx: Transaction, given: GivenCommand) -> str:
    """Changes nothing itself. The message is the mark that `runs/past.py` looks for."""
    present = await space_rows.select_recipients(tx, given.room)
    minds = [agent.name for agent in present if SCOPES[agent.scope].spans_spaces]
    return rules.new_text([agent.name for agent in present if not SCOPES[agent.scope].spans_spaces], minds)


async def _status(tx: Transaction, given: GivenCommand) -> str:
    room = given.room
    present = [recipient.agent_id for recipient in await space_rows.select_recipients(tx, room)]
    agents = [await agent_rows.select_agent(tx, id) for id in present]
    return rules.status_text(
        [(agent.name, agent.state) for agent in agents if agent is not None],
        open_calls=await tool_rows.count_open_in(tx, room.id),
        tasks=await task_rows.count_tasks(tx, room.id),
        proposed=await skill_rows.count_proposed(tx, room.id),
    )


async def _stop(tx: Transaction, given: GivenCommand) -> str:
    """Cancel the runs in this space, or those of the agents that are mentioned. Inboxes are not touched."""
    whom = given.parameters.strip()
    found = await run_rows.select_under_way_in(tx, given.room.id)
    names = await agent_rows.select_names(tx, sorted({run.agent_id for run in found}))
    meant = [
        run
        for run in found
        if not whom or space_rules.mentions(whom, id=run.agent_id, name=names.get(run.agent_id, run.agent_id))
    ]
    for run in meant:
        with suppress(RunAlreadyFinished):  # just now
            await runs.request_cancel(tx, run, given.draft.author.id)
    runs.interrupt(tx, [run.id for run in meant])
    who = ", ".join(sorted({names.get(run.agent_id, run.agent_id) for run in meant}))
    return f"{given.draft.author.name} stopped {who}." if meant else "There was nothing to stop."


async def _tasks(tx: Transaction, given: GivenCommand) -> str:
    most = rules.MOST_TASKS + 1
    found = await task_rows.select_tasks(tx, space_ids=[given.room.id], statuses=("active", "paused"), limit=most)
    return rules.tasks_text(found)


async def _why(tx: Transaction, given: GivenCommand) -> str:
    id = given.draft.reply_to or await space_rows.select_last_said(tx, given.room.id)
    message = None if id is None else await space_rows.select_message(tx, id)
    if message is None:
        return "Nothing was said here before."
    _, judged = await reasons.judge(tx, message, None, given.chain_limit)
    lines = list(dict.fromkeys(verdict.reason for _, _, verdict in judged)) or ["No agent is here."]
    quoted = f"About “{rules.short(message.text)}”:" if message.text else "About the message:"
    return "\n".join([quoted, *lines])


# The one table: what people are told about a command, and what it does.
COMMANDS: Final[Mapping[str, OfficeCommand]] = {
    "help": OfficeCommand("Show what can be written here with a slash.", _help),
    "new": OfficeCommand("Begin anew: what was said here before is not shown to the agents any more.", _new),
    "status": OfficeCommand("Show what the agents here are doing, and what waits for somebody.", _status),
    "stop": OfficeCommand("Stop whatever is under way here, or what those who are mentioned do.", _stop, "[@agent]"),
    "tasks": OfficeCommand("Show what is scheduled here.", _tasks),
    "why": OfficeCommand("Say why the last message, or the one you reply to, woke an agent or did not.", _why),
}
