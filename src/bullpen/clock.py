"""Time, in one place, so that tests can move it.

`now()` is what people read (RFC 3339 UTC, microseconds, sorts as text); `millis()` is what deadlines are made of.
Leases do not use this clock: they use the database's, which all workers share.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    def __init__(self) -> None:
        self._last = 0
        self._second = 0
        self._shown = ""  # that second, written out

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    def midnight(self) -> int:
        """When today began, in UTC, in milliseconds."""
        now = self.millis()
        return now - now % 86_400_000

    @staticmethod
    def at(millis: int) -> str:
        """A moment as people read it."""
        return f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"

    def now(self) -> str:
        # Never the same twice, so that lists ordered by time have an order.
        self._last = max(time.time_ns() // 1_000, self._last + 1)
        second, micros = divmod(self._last, 1_000_000)
        if second != self._second:  # writing out a date costs seven times what the rest does
            self._second = second
            self._shown = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
        return f"{self._shown}.{micros:06}Z"
