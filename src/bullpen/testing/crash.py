"""An office that dies by its own hand, exactly after its n-th commit.

SIGKILL, so nothing is closed, flushed or said: what the next process finds is what was durable. The commit counts from
the opening of the store; on SQLite a commit may hold several transactions (group commit), as in real life.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

# What PgQueuer would import in every child, at its first job.
import anyio._backends._asyncio  # noqa: F401
from sqlalchemy import bindparam, select

from bullpen import app
from bullpen.api import server
from bullpen.bridges.types import Bridge
from bullpen.net.client import Egress
from bullpen.settings import EngineSettings, Settings
from bullpen.storage import Statement, Store, Transaction
from bullpen.storage.paused import held_back, is_held, is_paused
from bullpen.storage.postgres import PostgresStore
from bullpen.storage.statements import POSTGRES, SQLITE
from bullpen.storage.tables import inbox_items, leases, threads
from bullpen.testing.limits import UNLIMITED
from bullpen.toolbox import FAMILIES
from bullpen.tools import Tool

# Whoever is paused rests with what there is to do, once nobody drives it any more.
_AWAKE = Statement(
    select(threads.c.id)
    .select_from(threads.join(leases, leases.c.thread_id == threads.c.id))
    .where(threads.c.state == "queued", ~held_back | (leases.c.owner == bindparam("me")))
    .limit(1)
)
_WAITING = Statement(
    select(inbox_items.c.id)
    .select_from(inbox_items.join(threads, threads.c.id == inbox_items.c.thread_id))
    # A run that waits for somebody's answer rests too, and what came in meanwhile waits for it.
    .where(inbox_items.c.claimed_by.is_(None), threads.c.state != "waiting", ~is_paused(threads.c.agent_id), ~is_held)
    .limit(1)
)


def settings_for(url: str, data: str, **engine: float) -> Settings:
    """Settings of an office on this database. Leases are short, so that a dead driver's thread is soon free.

    Not shorter than a busy machine needs for a few statements: who cannot renew in time begins again, for ever.
    """
    return Settings(
        data=Path(data),
        database_url=url,
        engine=EngineSettings(**{"lease_seconds": 1.5, **engine}),  # type: ignore[arg-type]
        limits=UNLIMITED,
    )


class Commits:
    """Counts the commits of a store, tells who waits for the next one, and kills the process after one of them."""

    def __init__(self, store: Store, die_after: int | None) -> None:
        self.count = 0
        self._die_after = die_after
        self._next = asyncio.Event()
        store.on_commit = self._committed

    def _committed(self, count: int) -> None:
        self.count = count
        if count == self._die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        self._next.set()

    async def next(self, after: int | None = None) -> None:
        """The next commit (after that many), or a while later: on a shared database others may commit too."""
        if after is not None and self.count > after:
            return
        self._next.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._next.wait(), 0.25)


@asynccontextmanager
async def mortal_office(
    settings: Settings,
    *,
    die_after: int | None = None,
    families: Mapping[str, Sequence[Tool]] = FAMILIES,
    egress: Egress | None = None,
    bridges: Sequence[Bridge] = (),
) -> AsyncIterator[tuple[app.Office, Commits]]:
    store = _open_store(settings)
    commits = Commits(store, die_after)
    async with app.office(settings, store=store, families=families, egress=egress, bridges=bridges) as opened:
        yield opened, commits


def _open_store(settings: Settings) -> Store:
    if not settings.on_postgres:
        return app.open_store(settings)
    # In a life of a second, opening connections would be most of the work.
    return PostgresStore(settings.database_url, pool_size=2)


async def calm(opened: app.Office, commits: Commits, seconds: float = 60) -> None:
    """Until every thread rests or waits for somebody's answer, and nothing waits for one that rests.

    Threads are queued by the commit that wakes them, and the next of a group is woken by the commit that ends the one
    before: this cannot come too early.
    """
    async with asyncio.timeout(seconds):
        before = commits.count
        while await opened.store.read(partial(_busy, me=opened.owner)):
            await commits.next(before)
            before = commits.count


async def _busy(tx: Transaction, me: str) -> Any:
    return await tx.one(_AWAKE, me=me) or await tx.one(_WAITING)


def prepare() -> None:
    """For a fork server: make once what every child would make for itself, since that takes longer than its work.

    Statements are compiled, and all offices share one application, whose routes FastAPI prepares at their first use.
    """
    shared: list[Any] = []
    build = server.build

    def build_once(opened: Any, *more: Any) -> Any:
        if not shared:
            shared.append(build(opened, *more))
        shared[0].state.office = opened
        return shared[0]

    vars(app)["build"] = build_once
    for statement in [found for found in gc.get_objects() if isinstance(found, Statement)]:
        statement.on(SQLITE)
        statement.on(POSTGRES)
