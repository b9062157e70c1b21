"""Which promises the tests prove.

Promises are the lines of tests/promises.txt; a test claims one with `@pytest.mark.proves("S0-01")`. As a pytest plugin
this prints, after a whole run, every promise that no passed test proved. `claims()` reads the marks from source
instead, so that it gives the same answer under xdist, in a partial run, and where a test is skipped.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.selection import is_whole_run
from tools.syntax import nodes, parse_folder

TESTS = Path(__file__).parent
MANIFEST = TESTS / "promises.txt"


@dataclass(frozen=True, slots=True)
class Promise:
    id: str
    issue: str  # "-": a later one
    sentence: str


@dataclass(frozen=True, slots=True)
class Claim:
    id: str
    where: str  # file:line


def promises(manifest: Path = MANIFEST) -> list[Promise]:
    found = []
    for line in manifest.read_text().splitlines():
        if line and not line.startswith("#"):
            id, issue, sentence = line.split(maxsplit=2)
            found.append(Promise(id, issue, sentence))
    return found


def claims(folder: Path = TESTS) -> Iterator[Claim]:
    """Every id in a `proves(...)` mark under `folder`. Raises for one that is not a plain string."""
    for path, tree in parse_folder(folder).items():
        for node in nodes(tree, ast.Call) if path.name.startswith("test_") else ():
            if isinstance(node.func, ast.Attribute) and node.func.attr == "proves":
                for argument in node.args:
                    where = f"{path.relative_to(folder.parent)}:{argument.lineno}"
                    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                        raise TypeError(
                            f"{where}: write the ids of `proves` as plain strings, so that tools can read them"
                        )
                    yield Claim(argument.value, where)


# ── the plugin ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(eq=False)  # pluggy keeps plugins in sets
class Proofs:
    proven: set[str] = field(default_factory=set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.proven.update(str(id) for name, id in report.user_properties if name == "proves")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        if not is_whole_run(config):
            return
        known = promises()
        open_ones = [promise for promise in known if promise.id not in self.proven]
        terminalreporter.section(
            f"promises: {len(known) - len(open_ones)} of {len(known)} proven, {len(open_ones)} not yet"
        )
        for issue in sorted({promise.issue for promise in open_ones}):
            ids = " ".join(promise.id for promise in open_ones if promise.issue == issue)
            title = "a later issue" if issue == "-" else f"issue {issue}"
            terminalreporter.write_line(textwrap.fill(f"{title}: {ids}", 118, subsequent_indent="    "))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Proofs(), "proofs-summary")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The ids travel with the report, which is all that xdist brings back from its workers.
    for item in items:
        for mark in item.iter_markers("proves"):
            item.user_properties.extend(("proves", id) for id in mark.args)
