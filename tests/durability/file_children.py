"""Children that upload, show and take back files, and that die at a chosen point of it.

A point is anything they ask of the file system where bytes are kept, and every commit. The n-th of them kills the
process. What it knew to be done before is written down, so that the next one can be asked about it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.client import Bullpen
from bullpen.testing.crash import settings_for
from bullpen.testing.forks import Report
from bullpen.testing.serving import owner_of
from tests.files.offering import picture

POINTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.scandir"})
SMALL = picture("PNG", (32, 32))


class Points:
    """Counts points, and dies at one of them."""

    def __init__(self, blobs: Path, die_at: int | None) -> None:
        self.count = 0
        self._blobs = str(blobs)
        self._die_at = die_at
        sys.addaudithook(self._heard)

    def _heard(self, event: str, args: Any) -> None:
        if event in POINTS and args and str(args[0]).startswith(self._blobs):
            self.reached()

    def reached(self, *_: Any) -> None:
        self.count += 1
        if self.count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def upload(report: Report, *, url: str, data: str, die_at: int | None = None) -> None:
    """Upload a picture and a note, show both, take the message back, and upload once more."""
    run_on_fast_loop(_upload(report, url, Path(data), die_at))


async def _upload(report: Report, url: str, data: Path, die_at: int | None) -> None:
    settings = settings_for(url, str(data))
    async with app.office(settings, drive=False) as opened, owner_of(opened) as bp:
        await bp.spaces.create(id="general")
        points = Points(settings.blobs, die_at)
        opened.store.on_commit = points.reached
        await _tell(bp, data / "acknowledged")
        await opened.sweeper.stop()
        report({"points": points.count})


async def _tell(bp: Bullpen, notes: Path) -> None:
    def note(word: str) -> None:
        with notes.open("a") as file:
            file.write(word + "\n")

    first = await bp.files.upload(SMALL, name="p.png", space="general")
    note(first.id)
    second = await bp.files.upload(b"x" * 300_000, name="note.txt")
    note(second.id)
    message = await bp.spaces("general").send("both", attachments=[first, second])
    note(message.id)
    await bp.messages(message.id).delete()
    note("deleted")
    last = await bp.files.upload(b"the last", name="last.txt")
    note(last.id)
