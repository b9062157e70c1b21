"""What a run costs: CPU and wall time by folder, and the most expensive tests, printed at its end.

CPU time counts the test process, the processes it started (servers, PostgreSQL, a browser) and what those started. What
a whole session shares is paid for by the first test that asks for it. Imports and collection, which each worker does
anew, have a row of their own. tests/costs.toml holds a budget for each folder,
in CPU seconds. Every run writes what it measured and what it skipped to .test-run.json, which `tools/judge_run.py`
compares with the budgets and with tests/allowed_skips.txt.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from tests import effort
from tests.selection import is_whole_run

ROOT = Path(__file__).parents[1]
WRITTEN = Path(os.environ.get("BULLPEN_TEST_RUN", ROOT / ".test-run.json"))
DEAREST = 20
COLLECTING = "collecting"
TICKS = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


# ── measuring, in the process that runs a test ──────────────────────────────────────────────────────────────────────


def cpu_seconds() -> float:
    """CPU time of this process and of its descendants, living and dead."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system + _ticks_below(os.getpid()) / TICKS


def _ticks_below(ancestor: int) -> int:
    """Clock ticks of all processes below this one. A process counts its own children once they have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for name in os.listdir(PROC) if PROC.is_dir() else ():  # noqa: PTH208  names, not paths
        if name.isdecimal() and (fields := _read_stat(name)):
            parents[int(name)] = int(fields[1])
            ticks[int(name)] = sum(map(int, fields[11:15]))
    return sum(count for pid, count in ticks.items() if _is_below(pid, ancestor, parents))


def _read_stat(pid: str) -> list[bytes]:
    """The fields after the program's name, which may hold spaces."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []  # it has just ended


def _is_below(pid: int, ancestor: int, parents: Mapping[int, int]) -> bool:
    while (pid := parents.get(pid, 0)) > 1:
        if pid == ancestor:
            return True
    return False


class Meter:
    """Puts a test's cost on its last report, and on the first of these what it took to find all tests."""

    def __init__(self) -> None:
        self._cpu = 0.0  # the process began with nothing, and had imported much before it came here
        self._began = time.monotonic()
        self._collecting: tuple[float, float] | None = None

    def pytest_collection_finish(self) -> None:
        self._cpu = cpu_seconds()
        self._collecting = self._cpu, time.monotonic() - self._began

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._began = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            before, self._cpu = self._cpu, cpu_seconds()
            report.cost = (max(0.0, self._cpu - before), time.monotonic() - self._began)  # type: ignore[attr-defined]
            report.tried = effort.take_tried()  # type: ignore[attr-defined]
            report.collecting, self._collecting = self._collecting, None  # type: ignore[attr-defined]
        return report


# ── telling, in the process that a person sees ──────────────────────────────────────────────────────────────────────


@dataclass
class Cost:
    tests: int = 0
    cpu: float = 0.0
    wall: float = 0.0


@dataclass(eq=False)  # pluggy keeps plugins in sets
class Costs:
    tests: dict[str, tuple[float, float]] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    collecting: Cost = field(default_factory=Cost)
    tried: int = 0
    began: float = field(default_factory=time.monotonic)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (cost := getattr(report, "cost", None)) is not None:
            self.tests[report.nodeid] = (cost[0], cost[1])
        if collecting := getattr(report, "collecting", None):
            self.collecting = Cost(0, self.collecting.cpu + collecting[0], self.collecting.wall + collecting[1])
        self.tried += getattr(report, "tried", 0)
        if report.when == "call" or not report.passed:
            self.outcomes[report.nodeid] = report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped[report.nodeid] = str(report.longrepr[2]).removeprefix("Skipped: ")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not self.tests or config.option.collectonly:
            return
        wall = time.monotonic() - self.began
        folders = {**by_folder(self.tests), COLLECTING: self.collecting}
        self._write(wall, folders, is_whole_run(config))
        if len(self.tests) > 1:
            terminalreporter.section("what it cost")
            for line in describe(folders, wall, dearest(self.tests)):
                terminalreporter.write_line(line)

    def _write(self, wall: float, folders: Mapping[str, Cost], whole: bool) -> None:
        found = {
            "whole": whole,
            "outcomes": Counter(self.outcomes.values()),
            "failed": [test for test, outcome in self.outcomes.items() if outcome == "failed"],
            "tried": self.tried,
            "seed": effort.SEED,
            "wall": round(wall, 1),
            "folders": {name: asdict(cost) for name, cost in folders.items()},
            "skipped": self.skipped,
        }
        WRITTEN.write_text(json.dumps(found, indent=1))


def by_folder(tests: Mapping[str, tuple[float, float]]) -> dict[str, Cost]:
    found: dict[str, Cost] = defaultdict(Cost)
    for test, (cpu, wall) in tests.items():
        cost = found[folder_of(test)]
        cost.tests, cost.cpu, cost.wall = cost.tests + 1, cost.cpu + cpu, cost.wall + wall
    return dict(sorted(found.items(), key=lambda item: -item[1].cpu))


def folder_of(test: str) -> str:
    """`spaces` for tests/spaces/test_rooms.py::test_it."""
    return test.partition("::")[0].removeprefix("tests/").partition("/")[0]


def dearest(tests: Mapping[str, tuple[float, float]]) -> Sequence[tuple[str, float, float]]:
    return sorted(((test, cpu, wall) for test, (cpu, wall) in tests.items()), key=lambda row: -row[1])[:DEAREST]


def describe(folders: Mapping[str, Cost], wall: float, tests: Iterable[tuple[str, float, float]]) -> Iterator[str]:
    yield f"{'folder':<16}{'tests':>7}{'CPU s':>9}{'wall s':>9}"
    for name, cost in folders.items():
        yield f"{name:<16}{cost.tests:>7}{cost.cpu:>9.1f}{cost.wall:>9.1f}"
    total = Cost(*(sum(getattr(cost, part) for cost in folders.values()) for part in ("tests", "cpu", "wall")))
    yield f"{'all':<16}{total.tests:>7}{total.cpu:>9.1f}{total.wall:>9.1f}   {wall / 60:.1f} minutes in all"
    yield ""
    for test, cpu, seconds in tests:
        yield f"{cpu:>8.1f}{seconds:>8.1f}  {test}"


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(Meter(), "cost-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs(), "cost-table")
