"""A sample is small and the same each time; slices with consecutive numbers come to try everything."""

from __future__ import annotations

from itertools import chain

import pytest

from tests import effort


def test_a_sample_is_spread_over_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "EVERYTHING", False)
    monkeypatch.setattr(effort, "SLICE", None)
    assert effort.pick(range(100), sample=4) == [0, 25, 50, 75]
    assert effort.pick(range(3), sample=10) == [0, 1, 2]
    assert effort.pick([], sample=4) == []
    assert effort.count(1000, sample=7) == 7


def test_everything_is_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "EVERYTHING", True)
    assert effort.pick(range(100), sample=4) == list(range(100))
    assert effort.count(1000, sample=7) == 1000


@pytest.mark.parametrize("cases", [1, 3, 10, 57])
def test_slices_together_try_every_case(cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "EVERYTHING", False)
    numbers = range(0, effort.TEST_SLICES * effort.CASE_SLICES, effort.TEST_SLICES)
    found = []
    for number in numbers:
        monkeypatch.setattr(effort, "SLICE", number)
        found.append(effort.pick(range(cases), sample=1))
    assert set(chain(*found)) == set(range(cases))
    assert all(found)


def test_slices_together_run_every_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('n', range(60))\ndef test_it(n): pass\n")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest("from tests.effort import pytest_collection_modifyitems\n")
    run: set[str] = set()
    for number in range(effort.TEST_SLICES):
        monkeypatch.setattr(effort, "SLICE", number)
        passed, _, _ = pytester.inline_run("-q", "-n0").listoutcomes()
        kept = {report.nodeid for report in passed}
        assert 0 < len(kept) <= 60 // effort.TEST_SLICES + 1
        run |= kept
    assert len(run) == 60


def test_what_was_tried_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    effort.take_tried()
    effort.pick(range(100), sample=4)
    assert effort.take_tried() >= 4
    assert effort.take_tried() == 0
