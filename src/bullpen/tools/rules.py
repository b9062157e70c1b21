"""What a call may do, what becomes of one that a crash interrupted, and the states of one that waits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal

from bullpen.access import rules as access
from bullpen.errors import Broken
from bullpen.tools.types import RunView, Tool, Waiting

REPEATABLE = frozenset({"tx", "pure", "idempotent"})


def not_granted(tool: Tool, run: RunView) -> str | None:
    """Why this call is refused for want of a right, if it is. What a run may do was settled when it began."""
    if tool.grant is None or tool.grant in access.parsed(run.grants):
        return None
    return (
        f"Denied: {tool.name} takes the right {tool.grant!r}. Whoever you are working for does not hold it, or it does "
        "not go as far as this space. Do not try again; say so if somebody should know."
    )


def no_rights(run: RunView) -> str | None:
    """Why a call that was approved late is refused: who caused it may have lost every right since."""
    return None if run.grants else "Denied: the person this call was made for no longer has access."


def denied(tool: Tool) -> str:
    return f"Denied: you may not use {tool.name} like this here. Do not try again; say so if somebody should know."


def moved(tool: Tool) -> str:
    return f"What {tool.name} was to act on was changed meanwhile, so nothing was done. Look again, then try again."


def over_budget(tool: Tool, run: RunView) -> str | None:
    """Why this call is refused for having used up the run's share, if it is."""
    most = run.agent.limits.max_messages
    if tool.act == "spoke" and run.message_count >= most:
        return (
            f"You have sent {run.message_count} of {most} messages of this run, so this one was not "
            "sent. Finish here; you may speak again when you are woken again."
        )
    return None


def repeats(tool: Tool, run: RunView) -> bool:
    """Was a tool with effects outside called before, in a run that this one does once more?

    It is the tool that counts, whatever the arguments: a model that is asked again words them in another way.
    """
    return tool.effect in ("once", "idempotent") and tool.name in run.begun


def no_space(tool: Tool, space_id: str | None) -> str | None:
    if tool.visible and space_id is None:
        return f'Tool "{tool.name}" is visible but you are not in a space. Call enter_space first.'
    return None


def interrupted(name: str) -> str:
    return f"{name} was interrupted while it ran; whether it took effect is unknown. It was not run again."


def changed(tool: Tool) -> str:
    return (
        f"{tool.name} was changed while this call waited for its values, so nothing was done. Call it again if it is "
        "still wanted."
    )


def stopped(name: str) -> str:
    return f"{name} was stopped while it ran, along with the run. It had no effect."


def has_no_effect_yet(tool: Tool) -> bool:
    """A call was stopped before it was done: is it certain that nothing has come of it?"""
    return tool.effect in ("tx", "pure")


def may_run_again(tool: Tool) -> bool:
    """A call had started when the process died: may it simply be run again?"""
    return tool.effect in REPEATABLE


# ── the states of a call that waits ─────────────────────────────────────────────────────────────────────────────────


class PendingState(Enum):
    """Where a pending call stands: its kind (an answer or an approval), `status`, `execution` and `delivered_via`.

    A call that waits for values of variables stands where one that waits for an approval does: it goes on when people
    let it. They may do so late, after its run has gone on; `pending`, `queued` and `started` are on that side.
    docs/internals/pending.md draws this and PENDING_MOVES.
    """

    AWAITED = ("answer", "waiting", None, None)  # its run waits
    EXPECTED = ("answer", "pending", None, None)  # its run goes on
    ANSWERED = ("answer", "resolved", None, None)  # its run has yet to read it
    ANSWER_READ = ("answer", "resolved", None, "inline")
    ANSWER_SENT = ("answer", "resolved", None, "inbox")
    ANSWER_EXPIRED = ("answer", "expired", None, None)
    ANSWER_CANCELLED = ("answer", "cancelled", None, None)

    ASKED = ("approval", "waiting", None, None)  # its run waits
    ASKED_LATE = ("approval", "pending", None, None)  # its run goes on
    DECIDED = ("approval", "resolved", None, None)  # approved or refused: its run has yet to act on it
    BEGUN = ("approval", "resolved", "inline", None)  # its run has begun an effect outside
    DECISION_READ = ("approval", "resolved", None, "inline")
    BEGUN_READ = ("approval", "resolved", "inline", "inline")
    QUEUED = ("approval", "resolved", "queued", None)  # approved late: the next driver of the thread carries it out
    STARTED = ("approval", "resolved", "started", None)  # that driver has begun an effect outside
    REFUSAL_SENT = ("approval", "resolved", None, "inbox")
    QUEUED_SENT = ("approval", "resolved", "queued", "inbox")
    STARTED_SENT = ("approval", "resolved", "started", "inbox")
    EXPIRED = ("approval", "expired", None, None)
    CANCELLED = ("approval", "cancelled", None, None)
    QUEUED_CANCELLED = ("approval", "cancelled", "queued", None)


# run: the run that made the call. late: who drives its thread after that run has gone on. answer: a person or a
# program. cancel: somebody who will not have it answered. stop: the run is ended from outside. expiry: the sweep.
# deletion: the agent is deleted.
Mover = Literal["run", "late", "answer", "cancel", "stop", "expiry", "deletion"]

PENDING_BEGINNINGS: Final = frozenset(
    {PendingState.AWAITED, PendingState.EXPECTED, PendingState.ASKED, PendingState.ASKED_LATE}
)
PENDING_MOVES: Final[Mapping[PendingState, Mapping[PendingState, frozenset[Mover]]]] = {
    PendingState.AWAITED: {
        PendingState.ANSWERED: frozenset({"answer"}),
        PendingState.EXPECTED: frozenset({"run", "stop"}),  # its time is over, or its run is
        PendingState.ANSWER_EXPIRED: frozenset({"expiry"}),
        PendingState.ANSWER_CANCELLED: frozenset({"cancel", "deletion"}),
    },
    PendingState.EXPECTED: {
        PendingState.ANSWER_SENT: frozenset({"answer"}),
        PendingState.ANSWER_EXPIRED: frozenset({"expiry"}),
        PendingState.ANSWER_CANCELLED: frozenset({"cancel", "deletion"}),
    },
    PendingState.ANSWERED: {
        PendingState.ANSWER_READ: frozenset({"run"}),
        PendingState.ANSWER_SENT: frozenset({"stop"}),
    },
    PendingState.ANSWER_READ: {},
    PendingState.ANSWER_SENT: {},
    PendingState.ANSWER_EXPIRED: {},
    PendingState.ANSWER_CANCELLED: {},
    PendingState.ASKED: {
        PendingState.DECIDED: frozenset({"answer"}),
        PendingState.ASKED_LATE: frozenset({"run"}),  # its time is over
        PendingState.EXPIRED: frozenset({"expiry"}),
        PendingState.CANCELLED: frozenset({"cancel", "stop", "deletion"}),
    },
    PendingState.ASKED_LATE: {
        PendingState.QUEUED: frozenset({"answer"}),
        PendingState.REFUSAL_SENT: frozenset({"answer"}),
        PendingState.EXPIRED: frozenset({"expiry"}),
        PendingState.CANCELLED: frozenset({"cancel", "deletion"}),
    },
    PendingState.DECIDED: {
        PendingState.ASKED: frozenset({"run"}),  # it is approved and has no values yet, or the other way round
        PendingState.BEGUN: frozenset({"run"}),
        PendingState.DECISION_READ: frozenset({"run", "stop"}),
        PendingState.ASKED_LATE: frozenset({"run"}),  # what was approved has changed
        PendingState.AWAITED: frozenset({"run"}),  # the approved tool is answered by somebody
        PendingState.EXPECTED: frozenset({"run"}),
    },
    PendingState.BEGUN: {
        PendingState.BEGUN: frozenset({"run"}),  # begun again after a crash
        PendingState.BEGUN_READ: frozenset({"run", "stop"}),
    },
    PendingState.DECISION_READ: {},
    PendingState.BEGUN_READ: {},
    PendingState.QUEUED: {
        PendingState.STARTED: frozenset({"late"}),
        PendingState.QUEUED_SENT: frozenset({"late"}),
        PendingState.ASKED_LATE: frozenset({"late"}),
        PendingState.EXPECTED: frozenset({"late"}),
        PendingState.QUEUED_CANCELLED: frozenset({"deletion"}),
    },
    PendingState.STARTED: {
        PendingState.STARTED: frozenset({"late"}),
        PendingState.STARTED_SENT: frozenset({"late"}),
    },
    PendingState.REFUSAL_SENT: {},
    PendingState.QUEUED_SENT: {},
    PendingState.STARTED_SENT: {},
    PendingState.EXPIRED: {},
    PendingState.CANCELLED: {},
    PendingState.QUEUED_CANCELLED: {},
}


def pending_state(waiting: Waiting) -> PendingState:
    """Broken: there is no such state."""
    kind = "approval" if waiting.is_held else "answer"
    columns = (kind, waiting.status, waiting.execution, waiting.delivered_via)
    try:
        return PendingState(columns)
    except ValueError:
        raise Broken(f"Call {waiting.call_id} is in no state that there is: {columns}.") from None


def check_begin(waiting: Waiting) -> None:
    if pending_state(waiting) not in PENDING_BEGINNINGS:
        raise Broken(f"Call {waiting.call_id} cannot begin as {pending_state(waiting).name}.")


def check_move(before: Waiting, after: Waiting, by: Mover) -> None:
    was, will_be = pending_state(before), pending_state(after)
    if by not in PENDING_MOVES[was].get(will_be, ()):
        raise Broken(f"Call {before.call_id} cannot go from {was.name} to {will_be.name} by {by}.")


def is_queued(waiting: Waiting) -> bool:
    """It was approved late, and nobody has begun it."""
    return pending_state(waiting) is PendingState.QUEUED
