"""Children that copy files between threads, and die at it: at a chosen point, or whenever somebody kills them.

A point is anything they ask of the file system by a name: a file or a folder opened, made, renamed or removed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from bullpen.files import copying
from bullpen.files.folders import Folders
from bullpen.testing import forks
from bullpen.testing.forks import Report

POINTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.scandir", "fcntl.flock"})


def copy_once(report: Report, *, root: str, to: str, paths: list[str], key: str, die_at: int) -> None:
    """Copy a batch; die at the n-th point of it, if there are so many."""
    count = 0

    def heard(event: str, _: Any) -> None:
        nonlocal count
        if event in POINTS:
            count += 1
            if count == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)
    report({"places": asyncio.run(copying.copy_between(Folders(Path(root)), "thr_parent", to, paths, key=key))})


def copy_for_ever(report: Report, *, root: str, to: str, paths: list[str], keys: list[str]) -> None:
    folders = Folders(Path(root))
    report({"begun": True})
    while True:
        for key in keys:
            asyncio.run(copying.copy_between(folders, "thr_parent", to, paths, key=key))


if __name__ == "__main__":
    forks.serve({"copy_once": copy_once, "copy_for_ever": copy_for_ever})
