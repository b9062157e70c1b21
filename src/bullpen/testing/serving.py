"""Real servers and workers as children of a fork server, so that hundreds of them can be killed in a minute.

`python -m bullpen.testing.serving` is the fork server's side; `Forks("bullpen.testing.serving")` starts it. A child is
`bullpen serve` or `bullpen worker` in all but the imports, which are done.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

# Before the first fork, so that no child pays for it.
import bullpen.engine.pgqueuer
import bullpen.storage.postgres  # noqa: F401
from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.client import Bullpen
from bullpen.settings import Settings
from bullpen.testing import crash, forks
from bullpen.testing.forks import Report


def serve(report: Report, *, url: str, data: str, port: int, lease_seconds: float) -> None:
    run_on_fast_loop(app.serve(_settings(url, data, port, lease_seconds)))


def worker(report: Report, *, url: str, data: str, port: int, lease_seconds: float) -> None:
    run_on_fast_loop(app.worker(_settings(url, data, port, lease_seconds)))


def _settings(url: str, data: str, port: int, lease_seconds: float) -> Settings:
    settings = crash.settings_for(url, data, lease_seconds=lease_seconds)
    return replace(settings, port=port, log_level="error")


@asynccontextmanager
async def owner_of(opened: app.Office) -> AsyncIterator[Bullpen]:
    """The API of an office in this very process, as its owner."""
    async with Bullpen("http://office", transport=httpx.ASGITransport(opened.local_api)) as bp:
        yield bp


def warm_up() -> None:
    """Have everything made that is made at first use, by an office that nobody will see."""
    crash.prepare()
    with tempfile.TemporaryDirectory() as folder:
        run_on_fast_loop(_use_once(Path(folder)))
    gc.freeze()


async def _use_once(folder: Path) -> None:
    settings = crash.settings_for(f"sqlite:///{folder}/bullpen.db", str(folder))
    async with crash.mortal_office(settings) as (opened, commits), owner_of(opened) as bp:
        await bp.apply(agents=[_ECHO], spaces=[{"id": "room", "members": ["echo"], "wake": {"people": "all"}}])
        message = await bp.spaces("room").send("hello")
        await bp.messages(message.id).react("👋")
        await crash.calm(opened, commits)
        await bp.agents.list()


_ECHO: Mapping[str, Any] = {"id": "echo", "name": "Echo", "model": "script:echo", "tools": ["messaging", "memory"]}


if __name__ == "__main__":
    # What servers say when they are ready is of no interest hundreds of times.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    warm_up()
    forks.serve({"serve": serve, "worker": worker})
