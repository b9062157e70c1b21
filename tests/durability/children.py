"""What the children of the fork server do: each is a whole office in a process of its own, which may die in it."""

from __future__ import annotations

import asyncio
import gc
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

# Before the first fork, so that no child pays for it.
import bullpen.engine.pgqueuer
import bullpen.storage.postgres  # noqa: F401
from bullpen import app
from bullpen.client import Bullpen
from bullpen.testing import forks, invariants, snapshot, telling
from bullpen.testing.crash import Commits, calm, mortal_office, prepare, settings_for
from bullpen.testing.forks import Report
from tests.durability import story

BOUND = 60


@asynccontextmanager
async def owner_of(opened: app.Office) -> AsyncIterator[Bullpen]:
    """The API, called in this very process, as the owner."""
    async with Bullpen("http://office", transport=httpx.ASGITransport(opened.local_api)) as bp:
        yield bp


def tell(report: Report, *, url: str, data: str, die_after: int | None) -> None:
    """Tell the story from where an earlier life left it, and say what the database then tells."""
    asyncio.run(_tell(report, url, Path(data), die_after))


async def _tell(report: Report, url: str, data: Path, die_after: int | None) -> None:
    settings = settings_for(url, str(data))
    async with mortal_office(settings, die_after=die_after) as (opened, commits), owner_of(opened) as bp:
        await _do_what_is_left(bp, opened, commits, data / "done")
        count = commits.count

    report({"commits": count, **await found(url)})


async def _do_what_is_left(bp: Bullpen, opened: app.Office, commits: Commits, notes: Path) -> None:
    """A client that writes down what was acknowledged. Whatever it is not sure of, it does again."""
    person = story.Person(bp, commits.next)
    done = len(notes.read_bytes()) if notes.exists() else 0
    if done and done - 1 not in story.RESTLESS:
        await calm(opened, commits)
    for number, deed in enumerate(story.DEEDS[done:], done):
        await deed(person)
        with notes.open("ab") as file:
            file.write(b".")
        if number not in story.RESTLESS:
            await calm(opened, commits)


async def found(url: str) -> dict[str, Any]:
    seen = await snapshot.read(url)
    return {"told": telling.told(seen), "violations": invariants.violations(invariants.Seen(seen, at_rest=True))}


def warm_up() -> None:
    """Tell the story once in the fork server itself: what is made at first use is then made for all children."""
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        tell(lambda _: None, url=f"sqlite:///{folder}/bullpen.db", data=folder, die_after=None)
    gc.freeze()


if __name__ == "__main__":
    warm_up()
    forks.serve({"tell": tell})
