"""What a call may do, and what becomes of one that a crash interrupted. Pure."""

from __future__ import annotations

from bullpen.access import rules as access
from bullpen.tools.types import RunView, Tool

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
    return None if run.grants else "Denied: whoever caused this call may not do any more what it would do for them."


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


def no_space(tool: Tool, space_id: str | None) -> str | None:
    if tool.visible and space_id is None:
        return f'Tool "{tool.name}" is visible but you are not in a space. Call enter_space first.'
    return None


def interrupted(name: str) -> str:
    return f"{name} was interrupted while it ran; whether it took effect is unknown. It was not run again."


def stopped(name: str) -> str:
    return f"{name} was stopped while it ran, along with the run. It had no effect."


def has_no_effect_yet(tool: Tool) -> bool:
    """A call was stopped before it was done: is it certain that nothing has come of it?"""
    return tool.effect in ("tx", "pure")


def may_run_again(tool: Tool) -> bool:
    """A call had started when the process died: may it simply be run again?"""
    return tool.effect in REPEATABLE
