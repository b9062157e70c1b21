"""Judges the last run of the tests, for CI: no skip that is not allowed, no folder far over its budget.

The run wrote .test-run.json. tests/allowed_skips.txt lists skips that may happen in CI. tests/costs.toml has a budget
of CPU seconds for each folder, which may be exceeded by half. `--count` prints how many tests passed.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RUN = ROOT / ".test-run.json"
SKIPS = ROOT / "tests" / "allowed_skips.txt"
BUDGETS = ROOT / "tests" / "costs.toml"
TOO_MUCH = 1.5


def allowed_skips() -> list[tuple[str, str]]:
    """Pairs of a test (without parameters) and the reason it may give."""
    lines = [line.strip() for line in SKIPS.read_text().splitlines()]
    return [
        (test.strip(), reason.strip())
        for line in lines
        if line and line[0] != "#"
        for test, _, reason in [line.partition(" | ")]
    ]


def wrong_skips(skipped: Mapping[str, str]) -> Iterator[str]:
    allowed = allowed_skips()
    for test, reason in skipped.items():
        if (re.sub(r"\[.*", "", test), reason) not in allowed:
            yield f"{test} was skipped: {reason}"


def read_budgets() -> dict[str, float]:
    with BUDGETS.open("rb") as file:
        budgets: dict[str, float] = tomllib.load(file)["cpu_seconds"]
    return budgets


def overspent(folders: Mapping[str, Any]) -> Iterator[str]:
    budgets = read_budgets()
    for name, cost in folders.items():
        if name not in budgets:
            yield f"tests/{name} has no budget in tests/costs.toml: it took {cost['cpu']:.0f} CPU seconds"
        elif cost["cpu"] > TOO_MUCH * budgets[name]:
            yield f"tests/{name} took {cost['cpu']:.0f} CPU seconds; its budget is {budgets[name]:.0f}"


def judge(run: Mapping[str, Any]) -> list[str]:
    if not run["whole"]:
        return ["the last run was not a whole one: run `make test` without ARGS"]
    return [*wrong_skips(run["skipped"]), *overspent(run["folders"])]


def describe_budgets(folders: Mapping[str, Any]) -> Iterator[str]:
    """A table of what each folder took beside its budget, the most expensive first."""
    budgets = read_budgets()
    yield f"{'folder':<16}{'CPU s':>9}{'budget':>9}"
    for name, cost in sorted(folders.items(), key=lambda item: -item[1]["cpu"]):
        yield f"{name:<16}{cost['cpu']:>9.1f}{budgets.get(name, 0.0):>9.0f}"
    yield f"{'all':<16}{sum(cost['cpu'] for cost in folders.values()):>9.1f}{sum(budgets.values()):>9.0f}"


def describe_counts(run: Mapping[str, Any]) -> str:
    counts = run["outcomes"]
    return f"{counts.get('passed', 0)} passed, {counts.get('failed', 0)} failed, {counts.get('skipped', 0)} skipped"


def main(arguments: Sequence[str]) -> int:
    if not RUN.exists():
        print("There is no .test-run.json: run `make test` first.")
        return 2
    run = json.loads(RUN.read_text())
    if "--count" in arguments:
        print(describe_counts(run))
        return 0
    wrong = judge(run)
    for line in [*describe_budgets(run["folders"]), *wrong]:
        print(line)
    if wrong:
        print(
            "Allow a skip in tests/allowed_skips.txt. Make a folder cheaper, or raise its budget in tests/costs.toml."
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
