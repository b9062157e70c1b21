"""CI gives a test that fails a second try (`--reruns 1`), and says so; a few of them are luck, many are a fault.

Thousands of tests share two cores with servers, a browser and a database. One that loses a race there and passes when
it is tried again is a defect, of that test or of what it tests, and stays one until somebody has found out which; it
does not hold up everything else meanwhile. `make test` gives no second try.
"""

from __future__ import annotations

import pytest

MOST = 5
SHOWN = 3_000  # characters of what went wrong


def _again(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [] if reporter is None else list(reporter.stats.get("rerun", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not (again := _again(config)):
        return
    terminalreporter.section(f"tried a second time ({len(again)}; more than {MOST} fail the run): mend these")
    for report in again:
        terminalreporter.line(report.nodeid, bold=True)
        terminalreporter.line(report.longreprtext[-SHOWN:])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if len(_again(session.config)) > MOST:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
