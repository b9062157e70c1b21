"""Time for people: never the same twice, and it sorts as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from bullpen.clock import Clock


def test_two_moments_are_never_the_same_and_sort_as_text() -> None:
    clock = Clock()
    moments = [clock.now() for _ in range(5000)]
    assert moments == sorted(set(moments))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", moment) for moment in moments)


def test_it_is_now_in_utc() -> None:
    clock = Clock()
    told = datetime.fromisoformat(clock.now())
    assert abs((told - datetime.now(UTC)).total_seconds()) < 60
    assert abs(clock.millis() / 1000 - told.timestamp()) < 60


def test_today_began_at_midnight_utc() -> None:
    clock = Clock()
    began = datetime.fromtimestamp(clock.midnight() / 1000, UTC)
    assert (began.hour, began.minute, began.second) == (0, 0, 0)
    assert 0 <= clock.millis() - clock.midnight() <= 86_400_000
