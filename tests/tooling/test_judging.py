"""CI fails for a skip that nobody allowed, and for a folder that costs far more than its budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import costs, hangs
from tools import judge_run


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "SKIPS": "# why\ntests/a/test_a.py::test_it | no IPv6 here\n",
        "BUDGETS": "[cpu_seconds]\na = 10\n",
    }.items():
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(judge_run, name, tmp_path / name)


def run(cpu: float = 1.0, whole: bool = True, skipped: dict[str, str] | None = None) -> dict[str, Any]:
    return {"whole": whole, "folders": {"a": {"cpu": cpu}}, "skipped": skipped or {}}


@pytest.mark.usefixtures("rules")
def test_only_listed_skips_are_allowed() -> None:
    assert judge_run.judge(run(skipped={"tests/a/test_a.py::test_it[sqlite]": "no IPv6 here"})) == []
    (other,) = judge_run.judge(run(skipped={"tests/a/test_a.py::test_it": "PostgreSQL did not start"}))
    assert "PostgreSQL did not start" in other


@pytest.mark.usefixtures("rules")
def test_a_folder_may_exceed_its_budget_by_half() -> None:
    assert judge_run.judge(run(cpu=14.9)) == []
    assert judge_run.judge(run(cpu=15.1)) == ["tests/a took 15 CPU seconds; its budget is 10"]


@pytest.mark.usefixtures("rules")
def test_a_folder_without_a_budget_is_named() -> None:
    judged = judge_run.judge({"whole": True, "folders": {"new": {"cpu": 1.0}}, "skipped": {}})
    assert judged == ["tests/new has no budget in tests/costs.toml: it took 1 CPU seconds"]


@pytest.mark.usefixtures("rules")
def test_a_partial_run_is_not_judged() -> None:
    assert "run `make test` without ARGS" in judge_run.judge(run(whole=False))[0]


def test_a_run_writes_its_costs_skips_and_counts(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "WRITTEN", pytester.path / "run.json")
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest("pytest_plugins = ['tests.costs']")
    pytester.makepyfile(
        "import pytest, subprocess, sys\n"
        "def test_dear(): subprocess.run([sys.executable, '-c', 'for i in range(10**7): pass'], check=True)\n"
        "def test_skipped(): pytest.skip('because')\n"
        "def test_fails(): assert 0\n"
    )
    result = pytester.inline_run("-p", "no:cacheprovider")
    assert result.ret == 1
    written = json.loads((pytester.path / "run.json").read_text())
    assert written["outcomes"] == {"passed": 1, "skipped": 1, "failed": 1}
    assert list(written["skipped"].values()) == ["because"]
    folder, collecting = written["folders"].values()
    assert (folder["tests"], collecting["tests"]) == (3, 0)
    assert folder["cpu"] > 0.1  # of the process that it started
    assert collecting["cpu"] > 0


def test_a_second_on_a_crowded_machine_counts_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.getloadavg", lambda: (8.0, 0.0, 0.0))
    assert hangs.fair_share() == 0.25
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.0, 0.0))
    assert hangs.fair_share() == 1.0


@pytest.mark.usefixtures("rules")
def test_the_table_shows_costs_beside_budgets() -> None:
    lines = list(judge_run.describe_budgets({"a": {"cpu": 15.1}, "b": {"cpu": 20.0}}))
    assert [line.split() for line in lines[1:]] == [["b", "20.0", "0"], ["a", "15.1", "10"], ["all", "35.1", "10"]]
