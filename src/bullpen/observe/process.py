"""This process, as the operating system sees it, and how promptly its event loop wakes people.

Names are the ones that Prometheus expects of every process. What the system does not tell is left out.
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from bullpen.observe.counts import LOOP_LAG
from bullpen.observe.metrics import Sample, sample

LOOK_SECONDS = 0.5
_STARTED = time.time()


def samples() -> Iterator[Sample]:
    times = os.times()
    yield sample("process_cpu_seconds_total", "CPU time, user and system.", times.user + times.system, "counter")
    yield sample("process_start_time_seconds", "When the process began, in Unix time.", _STARTED)
    if (memory := resident_bytes()) is not None:
        yield sample("process_resident_memory_bytes", "Memory in use.", memory)
    if (files := open_files()) is not None:
        yield sample("process_open_fds", "Open files and sockets.", files)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield sample("process_max_fds", "How many may be open.", soft)


def resident_bytes() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None


def open_files() -> int | None:
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  names are enough
    except OSError:
        return None


async def watch_lag() -> None:
    """Ask to be woken, and see how late that happens: what everybody else in this process waits too."""
    loop = asyncio.get_running_loop()
    while True:
        wanted = loop.time() + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)
        LOOP_LAG.observe(max(0.0, loop.time() - wanted))
