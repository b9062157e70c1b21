"""How many cases a test tries: a sample in `make test`, one numbered slice in CI, all of them in `make prove`.

The environment variable BULLPEN_EFFORT says which: unset for a sample, `7` for slice 7, `all` for everything. A sample
is the same each time. A slice takes some tests of each file, and some cases of each of these; which ones depends on its
number, so that slices with consecutive numbers come to try everything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")

TEST_SLICES = 24  # a slice runs one in so many tests of a file,
CASE_SLICES = 10  # and one in so many cases of each

_ASKED = os.environ.get("BULLPEN_EFFORT", "")
if _ASKED not in ("", "all") and not _ASKED.isdecimal():
    raise pytest.UsageError(f"BULLPEN_EFFORT is '{_ASKED}'; it takes 'all' or the number of a slice.")
EVERYTHING = _ASKED == "all"
SLICE = int(_ASKED) if _ASKED.isdecimal() else None
# Whether tests marked `one_database` run on both all the same.
EVERY_DATABASE = EVERYTHING or SLICE is not None
# For whatever draws at random.
SEED = int(os.environ.get("BULLPEN_SEED", SLICE or 0))

_tried = 0


def pick(cases: Sequence[T], *, sample: int) -> list[T]:
    """The cases to try now: `sample` of them spread evenly, those of this slice, or all."""
    chosen = _chosen(cases, sample)
    _add(len(chosen))
    return chosen


def _chosen(cases: Sequence[T], sample: int) -> list[T]:
    if EVERYTHING or not cases:
        return list(cases)
    if SLICE is not None:
        number = SLICE // TEST_SLICES
        return list(cases[number % CASE_SLICES :: CASE_SLICES]) or [cases[number % len(cases)]]
    step = max(1.0, len(cases) / sample)
    return [cases[int(index * step)] for index in range(min(sample, len(cases)))]


def count(full: int, *, sample: int) -> int:
    """How many repetitions, examples or requests to try now."""
    chosen = full if EVERYTHING else min(sample, full) if SLICE is None else max(1, full // CASE_SLICES)
    _add(chosen)
    return chosen


def _add(number: int) -> None:
    global _tried  # noqa: PLW0603  one counter for the process
    _tried += number


def take_tried() -> int:
    """How many cases were chosen since this was last asked."""
    global _tried
    number, _tried = _tried, 0
    return number


# Nothing is judged by how long it takes. A sample is the same each time.
settings.register_profile(
    "tests",
    deadline=None,
    database=None,
    derandomize=not _ASKED,
    max_examples=count(500, sample=50),
    print_blob=True,
)
settings.load_profile("tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A slice runs some tests of each file, at least one."""
    if SLICE is None:
        return
    kept: list[pytest.Item] = []
    for _, group in groupby(items, key=lambda item: item.path):
        tests = list(group)
        kept += tests[SLICE % TEST_SLICES :: TEST_SLICES] or [tests[SLICE % len(tests)]]
    dropped = set(items) - set(kept)
    config.hook.pytest_deselected(items=list(dropped))
    items[:] = kept
