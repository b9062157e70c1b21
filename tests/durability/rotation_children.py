"""A child that turns the key ring of an office, and that dies at a chosen point of it.

A point is a file opened or renamed, a statement of PostgreSQL, or a commit.
"""

from __future__ import annotations

import asyncio
from typing import Any

from bullpen.access.rules import SYSTEM
from bullpen.app import open_store
from bullpen.testing.crash import settings_for
from bullpen.testing.forks import Report
from bullpen.upkeep import rotation
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from tests.durability.upkeep_children import Points

SMALL = 4  # secrets at once, so that there are many commits


def rotate(report: Report, *, url: str, data: str, die_at: int | None = None) -> None:
    asyncio.run(_rotate(report, url, data, die_at))


async def _rotate(report: Report, url: str, data: str, die_at: int | None) -> None:
    settings = settings_for(url, data)
    vars(rotation)["BATCH"] = SMALL
    store = open_store(settings)
    await store.open()
    points = Points(die_at)
    store.on_commit = points.reached
    try:
        done: Any = await rotation.rotate(store, Vault(Keys(settings.keys_path), {}), SYSTEM)
    finally:
        await store.close()
    report({"points": points.count, "resumed": done.resumed})
