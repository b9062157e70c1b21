"""Ending a process that was asked to end: gently, and within a bound.

The first SIGTERM or SIGINT asks. A second one, or too long a wait, ends it at once: what was acknowledged is durable
and every commit is a place to go on from, so nothing is lost by that. The bound is kept by a thread, since what keeps
a process from ending may be the very loop that would have to notice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger("bullpen")

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Service managers commonly kill after ten.
SECONDS = 9.0
AGAIN_SECONDS = 0.5


class Ending:
    """While this is entered, signals are its business."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.asked = asyncio.Event()
        self.on_asked: Callable[[], None] = lambda: None
        self._seconds = seconds
        self._bound: threading.Timer | None = None

    def __enter__(self) -> Ending:
        loop = asyncio.get_running_loop()
        for name in SIGNALS:
            loop.add_signal_handler(name, self._ask, name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for name in SIGNALS:
            loop.remove_signal_handler(name)
        if kind is not None and self._bound is not None:
            self._bound.cancel()  # it did not get as far as ending: whoever called us hears why

    def _ask(self, name: signal.Signals) -> None:
        if self.asked.is_set():
            logger.warning("asked to end a second time: ending at once; work goes on when it is started again")
            _leave(128 + name)
        self.asked.set()
        # Not cancelled when all is closed: what the interpreter still has to wait for may be what hangs.
        self._bound = threading.Timer(self._seconds, self._late)
        self._bound.daemon = True
        self._bound.start()
        self.on_asked()

    def _late(self) -> None:
        logger.warning(
            "not everything ended within %.0f s; leaving it. Work goes on when it is started again", self._seconds
        )
        _leave(0)


async def end(*tasks: asyncio.Task[None]) -> None:
    """Cancel these, and once more if need be, until they have ended.

    A cancellation can get lost: what runs below may take it for its own, or swallow it because it had just finished.
    Whoever waited for a loop that has missed it would wait for ever.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)  # so that nobody says that nobody asked how they ended


def _leave(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
