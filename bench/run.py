"""A whole run: a message is posted, an agent wakes, thinks three times, makes three calls, and rests.

In process, on the offline model, so that what is counted is ours alone. The same story is told to rooms with a short
and with a long history and to the bare loop of `journal.py`, in turn, and then to a hundred rooms at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from sqlalchemy import func, select

from bench import journal, rooms
from bench.budgets import Figures
from bench.measure import folder, middle_ratio, spent
from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import runs
from tests.postgres import started, why_absent

LONG = 2_000
AT_ONCE = 100

_SELECT_SPOKEN = Statement(select(func.count()).select_from(runs).where(runs.c.outcome == "spoke"))


@dataclass(slots=True)
class Rounds:
    """CPU milliseconds per run, a figure per round."""

    alone: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)


async def measure(*, quick: bool) -> Figures:
    figures = await _on_sqlite(quick=quick)
    if why_absent() is None:
        figures |= await _on_postgres(quick=quick)
    return figures


async def _on_sqlite(*, quick: bool) -> Figures:
    with folder() as data:
        async with rooms.opened(data / "office") as made:
            few = 3 if quick else 10
            short, long = await made.make("short", few), await made.make("long", few, LONG)
            many = await made.make("many", AT_ONCE)
            bare = await _bare_loop(made, short[0], data)
            rounds = await _rounds(made, short, long, many, bare, count=2 if quick else 9)
        bare.close()
    return {
        "run.alone": median(rounds.alone),
        "run.at_once": median(rounds.at_once),
        "run.bare": median(rounds.bare),
        "run.alone_to_bare": middle_ratio(rounds.alone, rounds.bare),
        "run.at_once_to_bare": middle_ratio(rounds.at_once, rounds.bare),
        "run.long_to_short": middle_ratio(rounds.long, rounds.alone),
        "run.commits": bare.commits,
        "run.rows": bare.rows,
    }


async def _bare_loop(made: rooms.Rooms, room: str, data: Path) -> journal.BareLoop:
    """From the second run of a room: the first also makes the thread."""
    await made.answered([room])
    path = journal.copied(data / "office" / "bullpen.db", data / "bare.db")
    with journal.recorded() as recording:
        await made.answered([room])
    return journal.BareLoop(recording, path)


async def _rounds(
    made: rooms.Rooms, short: list[str], long: list[str], many: list[str], bare: journal.BareLoop | None, *, count: int
) -> Rounds:
    rounds = Rounds()
    await made.answered(many)
    for room in [*short, *long]:
        await made.answered([room])
    before = await made.office.store.read(_spoken)
    for _ in range(count):
        await _taking_turns(made, short, long, bare, rounds)
        rounds.at_once.append(await _at_once(made, many))
    told = await made.office.store.read(_spoken) - before
    assert told == count * (len(short) + len(long) + len(many)), f"only {told} runs went as written"
    return rounds


async def _taking_turns(
    made: rooms.Rooms, short: list[str], long: list[str], bare: journal.BareLoop | None, rounds: Rounds
) -> None:
    """One run of each kind after another, so that whatever else the machine does happens to all of them."""
    cpu = {"alone": 0.0, "long": 0.0, "bare": 0.0}
    for number, (one, other) in enumerate(zip(short, long, strict=True)):
        # Whoever comes second finds the caches warm: they take turns in that, too.
        for kind, room in sorted({"alone": one, "long": other}.items(), reverse=number % 2 == 1):
            with spent() as used:
                await made.answered([room])
            cpu[kind] += used.cpu
        if bare is not None:
            cpu["bare"] += _replay(bare)
    for kind, seconds in cpu.items():
        getattr(rounds, kind).append(seconds / len(short) * 1000)


def _replay(bare: journal.BareLoop) -> float:
    prepared = bare.prepared()
    with spent() as used:
        bare.replay(prepared)
    return used.cpu


async def _at_once(made: rooms.Rooms, many: list[str]) -> float:
    with spent() as used:
        await made.answered(many)
    return used.cpu / len(many) * 1000


async def _spoken(tx: Transaction) -> int:
    row = await tx.one(_SELECT_SPOKEN)
    assert row is not None
    return int(row[0])


async def _on_postgres(*, quick: bool) -> Figures:
    """CPU of this process only: what the database itself spends is its own."""
    with folder() as data:
        loop = asyncio.get_running_loop()
        server = started()
        running = await loop.run_in_executor(None, server.__enter__)
        try:
            async with rooms.opened(data / "office", running.url()) as made:
                few = 3 if quick else 10
                short, long = await made.make("short", few), await made.make("long", few, 40)
                many = await made.make("many", AT_ONCE)
                rounds = await _rounds(made, short, long, many, None, count=2 if quick else 5)
        finally:
            await loop.run_in_executor(None, server.__exit__, None, None, None)
    return {"run.postgres_alone": median(rounds.alone), "run.postgres_at_once": median(rounds.at_once)}
