"""Children in which a call's arguments are checked apart, and that die while this happens, or around it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Literal, NoReturn

from bullpen.apart.pool import ProcessPool
from bullpen.cli.loop import run_on_fast_loop
from bullpen.client import Bullpen
from bullpen.runs import loop
from bullpen.testing import invariants, snapshot
from bullpen.testing.crash import calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.serving import owner_of
from bullpen.testing.snapshot import Snapshot
from bullpen.tools import check_apart
from bullpen.wire.nouns import PendingCall
from tests.durability.story import say, script, turn
from tests.waits import until

ROOM = "sorting-room"
# In the check; after what was found of an earlier death is kept, and before anything is tried again.
Moment = Literal["check", "found"]

TOOL = {
    "name": "sort",
    "description": "Sort something",
    "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}, "left": {"$ref": "#"}}},
    "executionType": "internal",
}
AGENT = {
    "id": "sorter",
    "name": "Sorter",
    "tools": ["messaging", "sort"],
    "model": script(
        {"kind": "tool_result", "steps": [{"calls": [say("send_message", text="heard later")]}]},
        turn("", [say("sort", left={"n": 1})], [say("send_message", text="sorted")]),
    ),
}
SPACE = {"id": ROOM, "members": ["sorter"], "wake": {"people": "all", "agents": "none"}}


def check(report: Report, *, url: str, data: str, die: Moment | None = None) -> None:
    """Ask an agent for a call whose arguments are checked apart, and say what became of it."""
    if die == "check":
        ProcessPool.run = _die_in_check  # type: ignore[method-assign]
    elif die == "found":
        vars(loop)["_heed_mark"] = _die_when_found
    run_on_fast_loop(_check(report, url, Path(data)))


async def _die_in_check(*asked: Any, **limits: Any) -> NoReturn:
    _die()


heed_mark = loop._heed_mark


async def _die_when_found(drive: loop.Drive) -> None:
    await heed_mark(drive)
    _die()


def check_late(report: Report, *, url: str, data: str, die: bool = False) -> None:
    """The same for a call that somebody approves after its run has gone on. Only the check after that is deadly."""
    run_on_fast_loop(_check_late(report, url, Path(data), die))


async def _check_late(report: Report, url: str, data: Path, die: bool) -> None:
    approved = data / "approved"
    if die and approved.exists():
        ProcessPool.run = _die_in_check  # type: ignore[method-assign]
    async with mortal_office(settings_for(url, str(data))) as (opened, commits), owner_of(opened) as bp:
        if not approved.exists():
            await bp.apply(agents=[AGENT], spaces=[SPACE], tools=[{**TOOL, "policy": "ask", "timeout": 20}])
            await bp.spaces(ROOM).send("go", client_message_id="go")
            (waiting,) = await until(lambda: _late(bp))
            await calm(opened, commits)
            check_apart._verdicts.clear()
            if die:
                ProcessPool.run = _die_in_check  # type: ignore[method-assign]
            approved.touch()
            await bp.pending.resolve(waiting.call_id, {"approved": True})
        await calm(opened, commits)
    rows = await snapshot.read(url)
    (call,) = rows["pending_calls"]
    said = [row["text"] for row in sorted(rows["messages"], key=lambda row: row["seq"]) if row["space_id"] == ROOM]
    heard = [row["payload"] for row in rows["inbox_items"] if row["kind"] == "tool_result"]
    marks = [row["mark"] for row in rows["runs"] if row["mark"] is not None]
    violations = invariants.violations(invariants.Seen(rows, at_rest=True))
    delivered = call["delivered_via"]
    report({"delivered": delivered, "said": said, "heard": heard, "mark": marks or None, "violations": violations})


async def _late(bp: Bullpen) -> list[PendingCall]:
    """Calls whose run does not wait for them any more."""
    return list((await bp.pending.list(status="pending")).items)


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


async def _check(report: Report, url: str, data: Path) -> None:
    async with mortal_office(settings_for(url, str(data))) as (opened, commits), owner_of(opened) as bp:
        await bp.apply(agents=[AGENT], spaces=[SPACE], tools=[TOOL])
        await bp.spaces(ROOM).send("go", client_message_id="go")
        await calm(opened, commits)
    rows = await snapshot.read(url)
    report({**_found(rows), "violations": invariants.violations(invariants.Seen(rows, at_rest=True))})


def _found(rows: Snapshot) -> dict[str, Any]:
    (run,) = rows["runs"]
    said = [row["text"] for row in sorted(rows["messages"], key=lambda row: row["seq"]) if row["space_id"] == ROOM]
    kept = {name: run[name] for name in ("status", "stop_reason", "error", "mark")}
    results = [row["result"] for row in rows["run_messages"] if row["type"] == "tool_return_message"]
    return {**kept, "said": said, "results": results}
