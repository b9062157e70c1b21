"""A child that holds an executor open, under its lease, until it is killed."""

from __future__ import annotations

import asyncio

from bullpen.app import open_store
from bullpen.storage import migrations
from bullpen.testing.crash import settings_for
from bullpen.testing.forks import Report
from bullpen.tools.open_executors import OpenExecutors
from tests.sessions import FakeSession, History

OWNER = "the child"


def hold(report: Report, *, url: str, data: str, lease_seconds: float) -> None:
    asyncio.run(_hold(report, url, data, lease_seconds))


async def _hold(report: Report, url: str, data: str, lease_seconds: float) -> None:
    settings = settings_for(url, data)
    store = open_store(settings)
    await store.open()
    await migrations.migrate(store, settings.backups)
    executors = OpenExecutors(store, OWNER, lease_seconds)
    await executors.open(FakeSession(History(), exclusive=True), seconds=60)
    report({"open": True})
    await asyncio.Event().wait()
