"""A database that is away is told of once a minute, whoever notices it; what is no outage is said as it is."""

from __future__ import annotations

import logging

import pytest

from bullpen.storage import outage
from bullpen.storage.outage import AGAIN_SECONDS, QUIET_SECONDS, Muffler, Outage


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, to be changed by the test."""
    now = [1000.0]
    monkeypatch.setattr(outage, "monotonic", lambda: now[0])
    return now


def test_an_outage_is_logged_once_a_minute(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    found = Outage()
    for _ in range(3 * int(AGAIN_SECONDS)):
        found.notice(ConnectionResetError("gone"))
        clock[0] += 1
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 3
    assert all("gone" in record.message and record.exc_info is None for record in caplog.records)


def test_the_end_of_an_outage_is_logged_once(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    found = Outage()
    found.end()
    found.notice("gone")
    clock[0] += 9
    found.notice("gone")
    found.end()  # a connection that still works for a moment
    assert len(caplog.records) == 1
    clock[0] += QUIET_SECONDS
    found.end()
    found.end()
    assert [record.getMessage() for record in caplog.records[1:]] == ["the database answers again, after 9 s"]


def test_what_libraries_say_about_an_outage_is_muffled(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    library = logging.getLogger("tests.library")
    muffler = Muffler(Outage(), (OSError,))
    library.addFilter(muffler)
    try:
        for error in (ConnectionResetError("gone"), TimeoutError()):
            library.error("Flush failed", exc_info=error)
        library.warning("Shutdown flush failed, %d items remaining", 3)
        library.error("a bug", exc_info=ValueError("not an outage"))
    finally:
        library.removeFilter(muffler)
    assert [record.name for record in caplog.records] == ["bullpen.storage", "tests.library"]
    assert caplog.records[1].message == "a bug"
