"""What the system text says of an agent's goals, memories and plans. Pure.

Each of them has its share of the prompt. What does not fit is told of in a sentence. A text that was written after
reading from outside stands in a frame that names where that came from, as blocks do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, Final, TypeVar

from bullpen.mind.types import Goal, Memory, Plan, Shown
from bullpen.runs import bounds
from bullpen.runs.framing import framed
from bullpen.runs.lines import indent
from bullpen.tasks import times

TOKENS: Final = {"goals": 1_500, "memories": 3_000, "plans": 1_500}
LONGEST: Final = 400  # tokens of one line
REST: Final = {
    "goals": "{} more of your goals are not shown here. Delete those that are over.",
    "memories": "{} more of your memories are not shown here. Delete those that you do not need.",
    "plans": "{} more of your plans are not shown here; get_plans reads them.",
}

T = TypeVar("T")


def parts(shown: Shown) -> list[tuple[str, str]]:
    """The parts of the system text, each with its name. None for what the agent has none of."""
    found = [
        ("goals", _part("goals", "Your goals:", shown.goals, _goal)),
        ("memories", _part("memories", "What you keep under keys:", shown.memories, _memory)),
        ("plans", _part("plans", "Your plans:", sorted(shown.plans, key=_when), _plan)),
    ]
    return [(name, text) for name, text in found if text]


def _part(name: str, heading: str, each: Sequence[T], write: Callable[[T], str]) -> str:
    if not each:
        return ""
    lines, left = [heading], TOKENS[name]
    for count, one in enumerate(each):
        line = _framed(bounds.cut(write(one), LONGEST), one)
        left -= bounds.tokens(line)
        if left < 0:
            lines.append(REST[name].format(len(each) - count))
            break
        lines.append(line)
    return "\n".join(lines)


def _framed(line: str, one: Any) -> str:
    """Nobody can write a text that names its own hash, and the same text has the same frame in each run."""
    sources: Iterable[str] = one.outside
    return framed(line, sources, sha256(line.encode()).hexdigest()[:32]) if sources else line


def _goal(goal: Goal) -> str:
    about: list[str] = [goal.status] if goal.status != "active" else []
    about += [f"priority {goal.priority}"] if goal.priority else []
    told = f" ({', '.join(about)})" if about else ""
    return f"- [{goal.id}]{told} {indent(goal.description)}"


def _memory(memory: Memory) -> str:
    return f"- {memory.key}: {indent(memory.value)}"


def _when(plan: Plan) -> tuple[bool, int, str]:
    return plan.next_at is None, plan.next_at or 0, plan.id


def _plan(plan: Plan) -> str:
    zone = plan.shown_zone
    due = f"next {times.local(plan.next_at, zone)} ({zone})" if plan.next_at is not None else plan.status
    again = f", cron {plan.schedule.value}" if plan.schedule.type == "cron" else ""
    return f"- [{plan.ref}] {due}{again}: {indent(plan.name)}. {indent(plan.instruction)}"
