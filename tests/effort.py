"""How many cases a test tries: a sample in `make test`, one numbered slice in CI, all of them in `make prove`.

The environment variable BULLPEN_EFFORT says which: unset for a sample, `3/40` for slice 3 of 40, `all` for everything.
A sample is the same each time. Slices change with the number, and all slices together are everything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

_ASKED = os.environ.get("BULLPEN_EFFORT", "")
EVERYTHING = _ASKED == "all"
# (number, of how many), or None.
SLICE = None if _ASKED in ("", "all") else (int(_ASKED.partition("/")[0]), int(_ASKED.partition("/")[2]))
# Both databases also for tests marked `one_database`.
EVERY_DATABASE = EVERYTHING
# For whatever draws at random.
SEED = SLICE[0] if SLICE else 0


def pick(cases: Sequence[T], *, sample: int) -> list[T]:
    """The cases to try now: `sample` of them spread evenly, those of this slice, or all."""
    if EVERYTHING or not cases:
        return list(cases)
    if SLICE:
        number, slices = SLICE
        return list(cases[number % slices :: slices]) or [cases[number % len(cases)]]
    step = max(1, len(cases) / sample)
    return [cases[int(index * step)] for index in range(min(sample, len(cases)))]


def count(full: int, *, sample: int) -> int:
    """How many repetitions, examples or requests to try now."""
    if EVERYTHING:
        return full
    return max(1, -(-full // SLICE[1])) if SLICE else min(sample, full)


# Examples are the same each time unless slices ask for others; nothing is judged by how long it takes.
settings.register_profile(
    "tests", deadline=None, database=None, derandomize=not SLICE, max_examples=count(500, sample=50), print_blob=True
)
settings.load_profile("tests")
