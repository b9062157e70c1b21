"""The event loop of processes that stay: uvloop, where it exists."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine


def run_on_fast_loop(work: Coroutine[object, object, None]) -> None:
    if sys.platform == "win32":
        asyncio.run(work)
        return
    import uvloop  # not built for Windows

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)
