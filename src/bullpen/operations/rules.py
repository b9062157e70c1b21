"""How the office's answers to commands read. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullpen.tasks import times
from bullpen.tasks.types import Task
from bullpen.wire.nouns import Command

SHORT: Final = 100  # characters of a text that an answer quotes
MOST_TASKS: Final = 20


def help_text(commands: Sequence[Command]) -> str:
    lines = ["You can write here:"]
    for command in commands:
        usage = f"/{command.name} {command.parameters or ''}".rstrip()
        lines.append(f"{short(usage)}: {short(command.description)}")
    return "\n".join(lines)


def tasks_text(tasks: Sequence[Task]) -> str:
    if not tasks:
        return "Nothing is scheduled here."
    lines = ["Scheduled here:"]
    for task in tasks[:MOST_TASKS]:
        zone = task.schedule.timezone
        due = f"next {times.local(task.next_at, zone)} ({zone})" if task.next_at is not None else task.status
        lines.append(f"“{short(task.prompt)}” by {task.agent_id}: {due}, {task.id}")
    if len(tasks) > MOST_TASKS:
        lines.append("and more.")
    return "\n".join(lines)


def status_text(agents: Sequence[tuple[str, str]], *, open_calls: int, tasks: int, proposed: int) -> str:
    """`agents`: the name of each, and what it is doing."""
    lines = [f"{name} is {state}." for name, state in agents] or ["No agent is here."]
    waiting = (
        (open_calls, "call waits for an answer", "calls wait for an answer"),
        (tasks, "task is scheduled", "tasks are scheduled"),
        (proposed, "skill waits for approval", "skills wait for approval"),
    )
    lines += [f"{count} {one if count == 1 else many}." for count, one, many in waiting if count]
    return "\n".join(lines)


def new_text(names: Sequence[str], minds: Sequence[str]) -> str:
    """`minds`: agents with one mind for all their spaces, of which this is not theirs alone to empty."""
    said = []
    if names:
        said.append(f"{_and(names)} begin{'s' if len(names) == 1 else ''} anew here.")
    if minds:
        many = len(minds) > 1
        said.append(
            f"{_and(minds)} {'have' if many else 'has'} one mind for all {'their' if many else 'its'} spaces, and "
            f"{'keep' if many else 'keeps'} it."
        )
    return " ".join(said) or "No agent is here."


def _and(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"
