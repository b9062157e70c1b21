"""An office whose agent writes a file and sends it, and dies at it: after a commit, or before a file is in place."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from bullpen.cli.loop import run_on_fast_loop
from bullpen.testing import snapshot
from bullpen.testing.crash import calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.serving import owner_of
from tests.durability.story import say, script, turn

CONTENT = b"all is well " * 15_000
POINTS = frozenset({"os.rename", "os.mkdir"})


PATH = "/workspace/out/report.txt"
AGENT = {
    "id": "rita",
    "name": "Rita",
    "tools": ["files"],
    "model": script(
        turn(
            "",
            [say("write_file", path=PATH, content=CONTENT.decode())],
            [say("send_file", path=PATH, caption="Done.")],
        )
    ),
}


def send(report: Report, *, url: str, data: str, die_after: int | None = None, die_at: int | None = None) -> None:
    run_on_fast_loop(_send(report, url, data, die_after, _count_points(die_at)))


def _count_points(die_at: int | None) -> Callable[[], int]:
    """How many points were reached. At one of them the process dies."""
    reached = 0

    def heard(event: str, _: Any) -> None:
        nonlocal reached
        if event in POINTS:
            reached += 1
            if reached == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)
    return lambda: reached


async def _send(report: Report, url: str, data: str, die_after: int | None, points: Callable[[], int]) -> None:
    async with mortal_office(settings_for(url, data), die_after=die_after) as (opened, commits):
        async with owner_of(opened) as bp:
            await bp.apply(agents=[AGENT], spaces=[{"id": "desk", "members": ["rita"], "wake": {"people": "all"}}])
            before = commits.count
            await bp.spaces("desk").send("go", client_message_id="go")
            await calm(opened, commits)
            after = commits.count
            found = await bp.spaces("desk").messages()
            sent = [[file.sha256 for file in each.attachments] for each in found.items if each.author_id == "rita"]
        blobs = [id async for id in opened.blobs.ids()]
        swept = await opened.sweeper.round(idle=0)
        folders = _names(Path(data) / "folders")
        kept = {"sent": sent, "blobs": len(blobs), "orphans": swept.orphans, "folders": folders}
        results = "SELECT result FROM run_messages WHERE type = 'tool_return_message' ORDER BY position"
        kept["written"] = orjson.loads((await snapshot.ask(url, results))[0][0])
        # An office that a crash made forget who wrote the file would not vouch for it.
        kept["vouched"] = [row[0] for row in await snapshot.ask(url, "SELECT outside FROM files")]
    report({**kept, "of": [before, after], "points": points()})


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
