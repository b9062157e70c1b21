"""A run as a tree of spans: run, step, tool. Built from its journal, which is the truth about what happened when.

Names and attributes follow the OpenTelemetry conventions for generative AI. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bullpen.budgets.types import DOLLAR
from bullpen.runs import steps
from bullpen.runs.types import Entry, Run


def spans(run: Run, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Parents before children; times as the journal has them."""
    ended = run.finished_at or (entries[-1].at if entries else run.started_at)
    root = _span(run.id, None, "invoke_agent", run.started_at, ended, _of_run(run))
    found = [root]
    last = run.started_at
    for step in range(1, run.step + 1):
        inside = [entry for entry in entries if entry.step == step and entry.type != "user_message"]
        if inside:
            id = f"{run.id}/{step}"
            usage = steps.read(inside[0])
            began = max(last, _before(inside[0].at, usage.get("ms", 0) + usage.get("awayMs", 0))) if usage else last
            found.append(_span(id, run.id, "chat", began, inside[-1].at, _of_step(step, usage)))
            found += _tools(inside, id)
            last = inside[-1].at
    return found


def _before(at: str, millis: int) -> str:
    """So long before: a run may have lain for days between its steps, and that is no part of either."""
    return f"{datetime.fromisoformat(at) - timedelta(milliseconds=millis):%Y-%m-%dT%H:%M:%S.%f}Z"


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": run.agent_id,
        "gen_ai.usage.input_tokens": run.input_tokens,
        "gen_ai.usage.output_tokens": run.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": run.cached_tokens,
        "bullpen.cost": run.cost,
        "bullpen.outcome": run.outcome,
        "bullpen.stop_reason": run.stop_reason,
        "bullpen.paused_reason": run.paused_reason,
        "bullpen.messages": len(run.message_ids),
    }


def _of_step(step: int, usage: dict[str, Any]) -> dict[str, Any]:
    """What is kept beside the answer. `fallback`: another model answered than the one that was asked first."""
    if not usage:
        return {"bullpen.step": step}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": usage.get("asked", usage["model"]),
        "gen_ai.response.model": usage["model"],
        "gen_ai.usage.input_tokens": usage["in"],
        "gen_ai.usage.output_tokens": usage["out"],
        "gen_ai.usage.cache_read.input_tokens": usage["cached"],
        "gen_ai.usage.cache_creation.input_tokens": usage["written"],
        "bullpen.step": step,
        "bullpen.cost": usage["nano"] / DOLLAR,
        "bullpen.priced": not usage.get("unpriced", False),
        "bullpen.model_ms": usage["ms"],
        "bullpen.tries": usage.get("tries", 1),
        "bullpen.away_ms": usage.get("awayMs"),
        "bullpen.fallback": "asked" in usage,
    }


def _tools(inside: Sequence[Entry], parent: str) -> list[dict[str, Any]]:
    """Calls run one after another, so each begins when the one before it ended."""
    asked = [entry for entry in inside if entry.type == "tool_call_message"]
    settled = {entry.call_id: entry for entry in inside if entry.type == "tool_return_message"}
    found = []
    began = asked[0].at if asked else ""
    for call in asked:
        result = settled.get(call.call_id)
        ended = result.at if result is not None else None
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool_name,
            "gen_ai.tool.call.id": call.call_id,
            "error": None if result is None else bool(result.is_error),
        }
        found.append(_span(call.call_id or call.id, parent, "execute_tool", began, ended, about))
        began = ended or began
    return found


def _span(
    id: str, parent: str | None, name: str, began: str, ended: str | None, attributes: dict[str, Any]
) -> dict[str, Any]:
    return {
        "spanId": id,
        "parentId": parent,
        "name": name,
        "startedAt": began,
        "finishedAt": ended,
        "attributes": {key: value for key, value in attributes.items() if value is not None},
    }
