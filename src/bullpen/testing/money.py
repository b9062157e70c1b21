"""What must be true of spending and of what budgets hold back, in every database: sums are the sums of the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from bullpen.testing.snapshot import Row, Snapshot

DOLLAR = 1_000_000_000
_COUNTED = {"input_tokens": "in", "output_tokens": "out", "cached_tokens": "cached"}


def spending_faults(rows: Snapshot) -> Iterator[str]:
    """A run has used what its answers came to, and what is added up is what all answers came to."""
    kept_all = not any(row["action"] == "space.erased" for row in rows["audit"])  # its runs are gone with it
    steps: Counter[Any] = Counter()
    for run in rows.runs:
        answers = [entry for entry in rows.journals.get(run["id"], []) if entry["type"] == "assistant_message"]
        if len(answers) != run["step"] or any(entry["usage"] is None for entry in answers):
            kept_all = False  # its journal was forgotten, or is older than this
            continue
        usages = [orjson.loads(entry["usage"]) for entry in answers]
        used = {name: run[name] for name in _COUNTED} | {"cost": round(run["cost"] * DOLLAR)}
        sums = {name: sum(usage[short] for usage in usages) for name, short in _COUNTED.items()}
        if used != sums | {"cost": sum(usage["nano"] for usage in usages)}:
            yield f"run {run['id']} used {used}, and its steps {sums}"
        for n, (entry, usage) in enumerate(zip(answers, usages, strict=True)):
            steps.update(_counted(run, entry, usage, first=n == 0))
    added: Counter[Any] = Counter()
    for row in rows["spending"]:
        key = (row["kind"], row["id"], row["day"], row["model"])
        added.update({(*key, name): row[name] for name in ("steps", "runs", *_COUNTED, "nanodollars")})
    for key in (+added | +steps) if kept_all else ():
        if added[key] != steps[key]:
            yield f"spending {key}: {added[key]} is added up, and the steps come to {steps[key]}"


def _counted(run: Row, entry: Row, usage: dict[str, Any], *, first: bool) -> dict[Any, int]:
    found: dict[Any, int] = {}
    whose = {"agent": run["agent_id"], "space": run["space_id"] or "", "person": ""}
    if run["cause_kind"] == "person":
        whose["person"] = run["cause_id"]
    if task_id := orjson.loads(run["trigger"]).get("taskId") or run["chain_id"].partition("@")[2]:
        whose["task"] = task_id
    counts = {name: usage[short] for name, short in _COUNTED.items()}
    counts |= {"steps": 1, "runs": int(first), "nanodollars": usage["nano"]}
    for kind, id in whose.items():
        for name, count in counts.items():
            found[(kind, id, entry["at"][:10], usage["model"], name)] = count
    return found


def hold_faults(rows: Snapshot) -> Iterator[str]:
    """Whatever is held back is a run under way that says why, and nobody drives it."""
    for hold in rows["holds"]:
        run, thread = rows.run.get(hold["run_id"]), rows.thread.get(hold["thread_id"])
        if thread is None or run is None or run["finished_at"] is not None:
            yield f"thread {hold['thread_id']} is held for a run that is over"
        elif run["paused_reason"] != hold["reason"]:
            yield f"run {run['id']} is held because of {hold['reason']!r}, and says {run['paused_reason']!r}"
        elif thread["state"] != "queued":
            yield f"thread {thread['id']} is held, and {thread['state']}"
