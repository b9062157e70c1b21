"""Keeping secrets back: what the redactor costs a run when 200 of them are known, and what one text costs.

The story of `run.py`, one run at a time and a hundred at once. The share is what runs spend inside the redactor, by a
clock around it, to all they spend: both are of the same runs, so that whatever else the machine does happens to both.
Beside it stands the same run without any secret. The texts are our own prose: nothing in them has to be masked.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any

from bench import rooms
from bench.budgets import Figures
from bench.measure import folder, middle_ratio, spent
from bullpen.observe.redact import REDACTOR, Masker, Redactor

SECRETS = 200
PROSE = Path(__file__).parents[1] / "docs" / "internals" / "path.md"
WORK = ("clean", "clean_line", "clean_json", "clean_arguments", "is_clean", "so_far")


@dataclass(slots=True)
class Rounds:
    """A figure per round: CPU milliseconds of a run, and what part of them is the redactor's, in per cent."""

    none: list[float] = field(default_factory=list)
    known: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    share_at_once: list[float] = field(default_factory=list)


async def measure(*, quick: bool) -> Figures:
    count, few, many = (3, 3, 20) if quick else (15, 10, 100)
    rounds = Rounds()
    with folder() as data:
        async with rooms.opened(data / "office") as made:
            alone, crowd = await made.make("alone", few), await made.make("crowd", many)
            await made.answered([*alone, *crowd])
            for number in range(count):
                # Whoever comes second finds the caches warm: they take turns in that, too.
                for secrets in sorted((0, SECRETS), reverse=number % 2 == 1):
                    await _one_round(made, alone, crowd, secrets, rounds)
    return {
        "redact.run": median(rounds.known),
        "redact.run_to_none": middle_ratio(rounds.known, rounds.none),
        "redact.run_share": median(rounds.share),
        "redact.at_once_share": median(rounds.share_at_once),
        **_texts(20 if quick else 200),
    }


async def _one_round(
    made: rooms.Rooms, alone: Sequence[str], crowd: Sequence[str], secrets: int, rounds: Rounds
) -> None:
    with _known(secrets):
        for room in alone[:3]:
            await made.answered([room])  # what was made for these secrets is in the caches now
        with spent() as used:
            for room in alone:
                await made.answered([room])
        (rounds.known if secrets else rounds.none).append(used.cpu / len(alone) * 1000)
        if secrets:
            with spent() as used, _clocked() as clock:
                for room in alone:
                    await made.answered([room])
            rounds.share.append(clock.seconds / used.cpu * 100)
            with spent() as used, _clocked() as clock:
                await made.answered(crowd)
            rounds.share_at_once.append(clock.seconds / used.cpu * 100)


@contextlib.contextmanager
def _known(count: int) -> Iterator[None]:
    values = list(_values(count))
    for value in values:
        REDACTOR.add(value, name="BENCH")
    REDACTOR.clean("what has to be made for it is made now")
    yield
    for value in values:
        REDACTOR.forget(value)


def _values(count: int) -> Iterator[str]:
    """Like keys of providers: letters of both cases and digits."""
    chance = random.Random(7)
    for _ in range(count):
        yield "".join(chance.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", k=40))


@dataclass(slots=True)
class Clock:
    """CPU seconds inside the redactor. What it asks of itself is counted once."""

    seconds: float = 0.0
    inside: bool = False

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            if self.inside:
                return work(*args)
            self.inside = True
            began = thread_time()
            try:
                return work(*args)
            finally:
                self.seconds += thread_time() - began
                self.inside = False

        return timed


@contextlib.contextmanager
def _clocked() -> Iterator[Clock]:
    """Around every masker: a run's own, and the one for lines and errors."""
    clock = Clock()
    before = {name: getattr(Masker, name) for name in WORK}
    for name, work in before.items():
        setattr(Masker, name, clock.around(work))
    yield clock
    for name, work in before.items():
        setattr(Masker, name, work)


def _texts(times: int) -> Figures:
    with spent() as making:
        redactor = Redactor()
        for value in _values(SECRETS):
            redactor.add(value, name="BENCH")
        redactor.clean("ready")
    prose = PROSE.read_text() * 20
    short, long = prose[:2_000], prose[:64_000]
    return {
        "redact.making": making.cpu * 1000,
        "redact.2kb": _micros(lambda: redactor.clean(short), times * 10),
        "redact.64kb": _micros(lambda: redactor.clean(long), times),
    }


def _micros(work: Callable[[], object], times: int) -> float:
    costs = []
    for _ in range(7):
        with spent() as used:
            for _ in range(times):
                work()
        costs.append(used.cpu / times * 1e6)
    return median(costs)
