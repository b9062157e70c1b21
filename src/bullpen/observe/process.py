"""This process, as the operating system sees it, and how promptly its event loop wakes people.

Names are the ones that Prometheus expects of every process. What the system does not tell is left out.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from bullpen.observe.counts import LOOP_LAG
from bullpen.observe.metrics import Sample, sample

LOOK_SECONDS = 0.5
MANY_FILES = 0.9  # of the limit
TELL_AGAIN_SECONDS = 60.0
_STARTED = time.time()

logger = logging.getLogger("bullpen.process")


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


async def watch() -> None:
    """Ask to be woken, and see how late that happens: what everybody else in this process waits too.

    Also see whether files can still be opened. Without descriptors connections are closed before we hear of them.
    """
    loop = asyncio.get_running_loop()
    told = -math.inf
    while True:
        wanted = loop.time() + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)
        LOOP_LAG.observe(max(0.0, loop.time() - wanted))
        if loop.time() - told >= TELL_AGAIN_SECONDS and (reason := why_few_files()):
            logger.error("%s", reason)
            told = loop.time()


def why_few_files() -> str | None:
    """A sentence, if few or no files can be opened. A new one gets the lowest number that is free, so one is enough."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    advice = "Raise the limit (LimitNOFILE, `ulimit -n`), or find out who opens so many connections."
    try:
        probe = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return f"No file or connection can be opened: {error.strerror}. The limit is {soft}. {advice}"
    os.close(probe)
    if soft == resource.RLIM_INFINITY or probe < soft * MANY_FILES:
        return None
    return f"{probe} of {soft} files and connections are open. {advice}"
