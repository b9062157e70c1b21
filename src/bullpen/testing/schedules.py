"""What must be true of tasks, plans and their firings, in every database: each time fired once, and none was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import orjson

from bullpen.tasks import times
from bullpen.tasks.types import Schedule
from bullpen.testing.snapshot import Row, Snapshot, grouped

PATIENCE_MS = 60_000


def firing_faults(rows: Snapshot, *, at_rest: bool) -> Iterator[str]:
    items = {item["id"]: item for item in rows["inbox_items"]}
    wanted = Counter((firing["task_id"], firing["nominal_at"]) for firing in rows["task_firings"])
    yield from (f"task {task} fired {count} times for {at}" for (task, at), count in wanted.items() if count > 1)
    refs = {plan["id"]: plan["ref"] for plan in rows["plans"]}
    began = Counter(firing["run_id"] for firing in rows["task_firings"] if firing["run_id"] is not None)
    yield from (f"run {run} is that of {count} firings" for run, count in began.items() if count > 1)
    for firing in rows["task_firings"]:
        where = f"firing {firing['task_id']} {firing['nominal_at']}"
        item, run = items.get(firing["item_id"]), rows.run.get(firing["run_id"] or "")
        if run is not None and not _is_of(orjson.loads(run["trigger"]), firing["task_id"], refs):
            yield f"{where} names the run {run['id']}, which is of something else"
        if firing["status"] == "fired" and firing["run_id"] is None and item is None:
            yield f"{where} has woken nobody"
        if item is not None and item["claimed_by"] != firing["run_id"]:
            yield f"{where} was taken by {item['claimed_by']}, and says {firing['run_id']}"
    for item in rows["inbox_items"]:
        if item["kind"] in ("task", "plan") and item["id"] not in {
            firing["item_id"] for firing in rows["task_firings"]
        }:
            task_id = item["key"].split(":")[1]
            if task_id in refs or any(task["id"] == task_id for task in rows["tasks"]):
                yield f"item {item['id']} is of no firing"
    for each in (*rows["tasks"], *rows["plans"]):
        yield from _time_faults(rows, each, at_rest=at_rest)
    for task in rows["tasks"]:
        yield from _schedule_faults(rows, task)


def _is_of(trigger: Row, id: str, refs: Row) -> bool:
    """Was the run begun by the task, or the plan, of this firing?"""
    return trigger.get("planId") == refs[id] if id in refs else trigger.get("taskId") == id


def _time_faults(rows: Snapshot, task: Row, *, at_rest: bool) -> Iterator[str]:
    if (task["status"] == "active") != (task["next_at"] is not None):
        yield f"task {task['id']} is {task['status']} and due at {task['next_at']}"
    if at_rest and task["next_at"] is not None and task["next_at"] < rows.now - PATIENCE_MS:
        yield f"task {task['id']} was due at {task['next_at']} and nobody has fired it"


def _schedule_faults(rows: Snapshot, task: Row) -> Iterator[str]:
    touched = {
        row["object_id"] for row in rows["audit"] if row["action"] in ("task.paused", "task.changed", "task.moved")
    }
    if task["id"] in touched or task["schedule_type"] == "once":
        return
    schedule = Schedule(task["schedule_type"], task["schedule_value"], task["timezone"], task["anchor_at"])
    fired = grouped(rows["task_firings"], "task_id").get(task["id"], [])
    kept = sorted((f for f in fired if not f["manual"]), key=lambda firing: firing["nominal_at"])
    # Not more are counted, however long nobody looked. Those that have a firing of their own are among them.
    most = times.COUNTED - (times.MADE_UP_FOR if task["missed"] == "all" else 1)
    for earlier, later in pairwise(kept):
        between = min(_between(schedule, earlier["nominal_at"], later["nominal_at"]), most)
        if between != later["missed"]:
            yield f"task {task['id']}: {between} times before {later['nominal_at']}, and {later['missed']} are told of"


def _between(schedule: Schedule, after: int, before: int) -> int:
    """How many times lie between two, and neither of them."""
    count, at = 0, times.next_after(schedule, after)
    while at is not None and at < before:
        count, at = count + 1, times.next_after(schedule, at)
    return count
