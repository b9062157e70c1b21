"""Children that tell chapters of the story: each is a whole office in a process of its own, which may die in it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.client import ApiError
from bullpen.errors import Unavailable
from bullpen.settings import Settings
from bullpen.storage import Store
from bullpen.testing import invariants, snapshot, telling
from bullpen.testing.crash import Commits, calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.histories import Effect, Follower, read_effects
from bullpen.testing.serving import owner_of
from bullpen.testing.snapshot import CannotRead
from bullpen.toolbox import FAMILIES
from tests.durability import effects, follows, story
from tests.durability.chapters import CHAPTERS
from tests.durability.follows import followed
from tests.durability.outside import Death, outside
from tests.durability.waiting_story import ASIDE

T = TypeVar("T")


def tell(
    report: Report,
    *,
    url: str,
    data: str,
    chapters: list[str],
    die_after: int | None = None,
    die_in: int | None = None,
    stop_in: int | None = None,
) -> None:
    """Tell some chapters, from where an earlier life left them, and say what the database then tells.

    It dies after a commit, counted from its beginning (`die_after`) or from that of its first deed (`die_in`). Or it
    says that a commit has come (`stop_in`), and goes on: somebody stops the database then.
    """
    run_on_fast_loop(_tell(report, url, Path(data), chapters, die_after, die_in, stop_in))


async def _tell(
    report: Report,
    url: str,
    data: Path,
    chapters: list[str],
    die_after: int | None,
    die_in: int | None,
    stop_in: int | None,
) -> None:
    deeds = [deed for chapter in chapters for deed in CHAPTERS[chapter]]
    async with _lived(settings_for(url, str(data)), die_after) as (opened, commits):
        began = commits.count
        if die_in is not None:
            _after_commit(opened.store, began + die_in, lambda: os.kill(os.getpid(), signal.SIGKILL))
        if stop_in is not None:
            _after_commit(opened.store, began + stop_in, lambda: report({"stop": True}))
        async with owner_of(opened) as bp:
            await _do_what_is_left(story.Person(bp, commits.next), deeds, opened, commits, data / "acknowledged")
        count = commits.count
    told = await _insist(partial(found, url, read_effects(data / "effects")))
    report({"began": began, "commits": count, **told})


def _after_commit(store: Store, commit: int, work: Callable[[], None]) -> None:
    heard = store.on_commit

    def committed(count: int) -> None:
        if count == commit:
            work()
        heard(count)

    store.on_commit = committed


@asynccontextmanager
async def _lived(
    settings: Settings, die_after: int | None, death: Death | None = None
) -> AsyncIterator[tuple[app.Office, Commits]]:
    """An office that may die, in a world of its own."""
    async with (
        outside(settings.data, death) as egress,
        mortal_office(settings, die_after=die_after, egress=egress) as lived,
    ):
        yield lived


async def _do_what_is_left(
    person: story.Person, deeds: list[story.Deed], opened: app.Office, commits: Commits, notes: Path
) -> None:
    """A client that writes down what was acknowledged. Whatever it is not sure of, it does again."""
    done = len(notes.read_bytes()) if notes.exists() else 0
    if done:
        await calm(opened, commits)
    for deed in deeds[done:]:
        await _insist(partial(deed, person))
        with notes.open("ab") as file:
            file.write(b".")
        await _insist(partial(calm, opened, commits))


async def _insist(work: Callable[[], Awaitable[T]]) -> T:
    """A client that is told to come back later does: the database is away."""
    while True:
        try:
            return await work()
        except (Unavailable, CannotRead):
            pass
        except ApiError as error:
            if error.status != 503:
                raise
        await asyncio.sleep(0.05)


async def found(url: str, happened: Sequence[Effect] = (), followers: Sequence[Follower] = ()) -> dict[str, Any]:
    seen = invariants.Seen(await snapshot.read(url), at_rest=True, effects=happened, followers=followers)
    return {"told": telling.told(seen.rows), "violations": invariants.violations(seen)}


def wait(
    report: Report,
    *,
    url: str,
    data: str,
    chapters: list[str],
    die_after: int | None = None,
    death: Death | None = None,
    lease: float = 0.5,
) -> None:
    """Tell some chapters before the eyes of a follower, which comes back after every death with its last cursor."""
    run_on_fast_loop(_wait(report, settings_for(url, data, lease_seconds=lease), chapters, die_after, death))


async def _wait(
    report: Report, settings: Settings, chapters: list[str], die_after: int | None, death: Death | None
) -> None:
    url, data = settings.database_url, settings.data
    deeds = [deed for chapter in chapters for deed in (CHAPTERS | ASIDE)[chapter]]
    async with _lived(settings, die_after, death) as (opened, commits):
        began = commits.count
        async with owner_of(opened) as bp, followed(opened, data):
            await _do_what_is_left(story.Person(bp, commits.next), deeds, opened, commits, data / "acknowledged")
        count = commits.count
    happened = read_effects(data / "effects")
    followers = [Follower("f", follows.places(data), follows.places(data, "began")[0])]
    kinds = [effect.kind for effect in happened]
    report({"began": began, "commits": count, "effects": kinds, **await found(url, happened, followers)})


def act(report: Report, *, url: str, data: str, agent: str, die_after: int | None = None) -> None:
    """Ask an agent whose tools have effects outside to do its work, and say what became of it."""
    run_on_fast_loop(_act(report, url, Path(data), agent, die_after))


async def _act(report: Report, url: str, data: Path, agent: str, die_after: int | None) -> None:
    families = {**FAMILIES, **effects.sink(data)}
    settings = settings_for(url, str(data))
    async with mortal_office(settings, die_after=die_after, families=families) as (opened, commits):
        began = commits.count
        async with owner_of(opened) as bp:
            await bp.apply(agents=effects.AGENTS, spaces=effects.SPACES)
            await bp.spaces(f"{agent}-room").send("go", client_message_id="go")
            report({"asked": agent})
            await calm(opened, commits)
        count = commits.count
    happened = read_effects(data / "effects")
    kinds = [effect.kind for effect in happened]
    report({"began": began, "commits": count, "effects": kinds, **await found(url, happened)})
