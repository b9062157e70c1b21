"""The names of events. Stored ones are numbered and replayed; live ones are seen by whoever is there, and gone."""

from __future__ import annotations

from typing import Final

STORED_EVENTS: Final = frozenset(
    {
        "message_created",
        "message_updated",
        "message_deleted",
        "reaction_added",
        "reaction_removed",
        "member_joined",
        "member_left",
        "space_created",
        "space_updated",
        "space_erased",
        "agent_created",
        "agent_updated",
        "agent_deleted",
        "agents_paused",
        "agents_resumed",
        "run_started",
        "run_waiting",
        "run_paused",
        "run_resumed",
        "run_finished",
        "tool.started",
        "tool.done",
        "tool.error",
        "tool.requires_action",
        "pending_resolved",
        "task_created",
        "task_updated",
        "task_deleted",
        "task_fired",
        "skill_created",
        "skill_updated",
        "skill_deleted",
        "chain_stopped",
        "budget_warned",
        "budget_reached",
        "access_changed",
    }
)

LIVE_EVENTS: Final = frozenset(
    {"agent_typing", "agent_done", "tool.streaming", "tool.progress", "message_streaming", "presence", "space_read"}
)

RESET: Final = "reset"
