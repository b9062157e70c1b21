"""Ends a test process whose test hangs, with the stacks of all its threads. xdist reports it and starts another.

A second on a crowded machine counts for less: with eight processes on two cores it is a quarter of one. So a slow
machine never looks like a hang.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator

import pytest

MOST_SECONDS = 240  # more than any wait in a test
TICK_SECONDS = 1.0
EXIT_CODE = 70


def fair_share() -> float:
    """How much of a core each runnable process gets at present: at most 1."""
    try:
        running = os.getloadavg()[0]
    except OSError:
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / max(running, 1.0))


class HangWatch:
    def __init__(self) -> None:
        self._stderr = os.dup(sys.stderr.fileno())  # pytest captures the usual one
        self._test: str | None = None
        self._seconds = 0.0
        threading.Thread(target=self._watch, daemon=True, name="hang-watch").start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._seconds, self._test = 0.0, item.nodeid
        try:
            return (yield)
        finally:
            self._test = None

    def _watch(self) -> None:
        wait = threading.Event()
        while True:
            wait.wait(TICK_SECONDS)
            self._seconds += TICK_SECONDS * fair_share()
            if self._test is not None and self._seconds > MOST_SECONDS:
                os.write(self._stderr, f"\n{self._test} has hung:\n".encode())
                faulthandler.dump_traceback(self._stderr)
                os._exit(EXIT_CODE)


def pytest_configure(config: pytest.Config) -> None:
    # Only where tests run: in a worker of xdist, or here when there are none.
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(HangWatch(), "hang-watch")
