"""Statuses and legal moves, limits, and what a run amounted to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final, get_args

import orjson

from bullpen.errors import Broken
from bullpen.replacing import replace
from bullpen.runs.types import Entry, Mark, Run
from bullpen.tasks import rules as task_rules
from bullpen.wire import Limits
from bullpen.wire.nouns import Outcome, RunStatus, StopReason

MOVES: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    "queued": frozenset({"thinking", "cancelled"}),
    "thinking": frozenset({"thinking", "acting", "waiting", "completed", "failed", "cancelled"}),
    "acting": frozenset({"acting", "thinking", "waiting", "completed", "failed", "cancelled"}),
    "waiting": frozenset({"waiting", "thinking", "acting", "completed", "failed", "cancelled"}),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
FIRST_AWAY: Final = 30.0  # seconds
LONGEST_AWAY: Final = 900.0
MOST_DEATHS: Final = 2  # so often a process may die over one call
FINISHED: Final = frozenset({status for status, moves in MOVES.items() if not moves})

# What wakes an agent without a person having asked for anything just then.
UNATTENDED: Final = frozenset({"trigger", "task", "plan"})

_STATUS_OF: Final[Mapping[StopReason, RunStatus]] = {
    "cancelled": "cancelled",
    "agent_deleted": "cancelled",
    "variables_required": "failed",
    "no_rights": "cancelled",
    "model_unavailable": "failed",
    "model_refused": "failed",
    "broken": "failed",
}
# In this order: the first that holds names the outcome.
_OUTCOMES: Final[tuple[Outcome, ...]] = ("spoke", "reacted", "acted")

CORRECTION: Final = """\
What you wrote reached nobody: text outside a tool call is not sent. If you meant to say it, call send_message now. If \
you meant to stay silent, {}."""
CUT_OFF: Final = """\
Your answer was longer than it may be and was cut off, so nothing of it was carried out. Do it again in smaller \
parts."""


def move(run: Run, to: RunStatus) -> RunStatus:
    if to not in MOVES[run.status]:
        raise Broken(f"Run {run.id} cannot go from {run.status} to {to}.")
    return to


def find_mark(mark: Mark, owner: str) -> Mark:
    """What becomes of a mark that a process finds. If another one set it, that one has died over the call.

    One that we set ourselves tells of a lost lease and not of a death, and one that was found before and not set again
    tells of a death elsewhere.
    """
    died = mark.owner not in (None, owner)
    return replace(mark, owner=None, deaths=mark.deaths + died)


def next_mark(found: Mark | None, call_id: str, owner: str) -> Mark:
    deaths = found.deaths if found is not None and found.call_id == call_id else 0
    return Mark(call_id, owner, deaths)


def died_twice(tool: str) -> str:
    return (
        f"The server died twice while it checked a call of {tool}, so the call was given up. `bullpen doctor` says "
        "whether the tool's schema is at fault; the machine may also have too little memory."
    )


def is_hopeless(mark: Mark) -> bool:
    return mark.deaths >= MOST_DEATHS


def stay_away(retries: int, retry_after: float | None, patience: float) -> float | None:
    """How many seconds a run leaves its provider alone, after having waited so often. None: that is too long for it."""
    waited = sum(_away(n) for n in range(retries))
    seconds = max(_away(retries), retry_after or 0.0)
    return seconds if waited + seconds <= patience else None


def _away(retries: int) -> float:
    return min(FIRST_AWAY * 2.0 ** min(retries, 20), LONGEST_AWAY)


def limit_reached(run: Run, limits: Limits) -> StopReason | None:
    """Asked before each model call, and nowhere else. What it counts is in rows, so a crash resets nothing.

    What a day may cost is a budget: see runs/holds.py.
    """
    if run.step >= limits.max_steps:
        return "max_steps"
    if run.active_ms >= limits.max_seconds * 1000:
        return "max_seconds"
    if limits.max_tokens_per_run is not None and run.input_tokens + run.output_tokens >= limits.max_tokens_per_run:
        return "max_tokens"
    return None


def status_of(reason: StopReason) -> RunStatus:
    return _STATUS_OF.get(reason, "completed")


def outcome(acts: frozenset[str], *, unsent_text: bool) -> Outcome:
    for act in _OUTCOMES:
        if act in acts:
            return act
    return "unsent_text" if unsent_text else "silent"


def is_unsent(run: Run, text: str) -> bool:
    """The model ended with words that nobody will read, and neither spoke, nor reacted, nor chose silence."""
    return bool(text.strip()) and not run.acts & {"spoke", "reacted", "silence"}


def needs_correction(run: Run, text: str, has: Set[str]) -> bool:
    """An agent that cannot send messages could only write the same again."""
    return run.addressed and not run.corrected and "send_message" in has and is_unsent(run, text)


def correct(has: Set[str]) -> str:
    """What an agent with these tools is told about text that reached nobody."""
    silently = next((f"call {name}" for name in ("do_nothing", "skip") if name in has), "write nothing")
    return CORRECTION.format(silently)


def is_not_needed(entries: Sequence[Entry]) -> bool:
    """A task asked a tool before anything else, and it found nothing to do. One that failed wakes the model."""
    results = [entry for entry in entries if entry.type == "tool_return_message" and entry.step == 0]
    return bool(results) and not any(
        entry.is_error or task_rules.wakes(orjson.loads(entry.result or "null")) for entry in results
    )


def agrees_with_the_wire() -> bool:
    return set(MOVES) == set(get_args(RunStatus))


def is_attended(run: Run) -> bool:
    """Did a person ask for it, just now? Nobody may be there to approve what a trigger or a schedule has begun."""
    return run.cause_kind == "person" and run.trigger.get("kind") not in UNATTENDED
