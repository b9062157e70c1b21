"""Time, in one place, so that tests can move it.

`now()` is what people read (RFC 3339 UTC, microseconds, sorts as text); `millis()` is what deadlines are made of.
Leases do not use this clock: they use the database's, which all workers share.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

# How far `now()` may run ahead of the machine's clock to keep rising. A clock that is put back further is followed:
# it was wrong before, and dates would be wrong until it had caught up.
AHEAD_MS: Final = 1_000


class Clock:
    def __init__(self) -> None:
        self._last = 0
        self._second = 0
        self._shown = ""  # that second, written out

    def micros(self) -> int:
        """What the machine's clock says. The only reading: a clock for tests replaces this one function."""
        return time.time_ns() // 1_000

    def millis(self) -> int:
        return self.micros() // 1_000

    def midnight(self) -> int:
        """When today began, in UTC, in milliseconds."""
        now = self.millis()
        return now - now % 86_400_000

    @staticmethod
    def at(millis: int) -> str:
        """A moment as people read it."""
        return f"{datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec='microseconds')[:-6]}Z"

    @staticmethod
    def read(moment: str) -> int:
        """A moment that people read, in milliseconds."""
        return round(datetime.fromisoformat(moment).timestamp() * 1000)

    def now(self) -> str:
        # Never the same twice, so that lists ordered by time have an order.
        wall = self.micros()
        self._last = wall if self._last - wall > AHEAD_MS * 1_000 else max(wall, self._last + 1)
        second, micros = divmod(self._last, 1_000_000)
        if second != self._second:  # writing out a date costs seven times what the rest does
            self._second = second
            self._shown = datetime.fromtimestamp(second, UTC).isoformat()[:-6]
        return f"{self._shown}.{micros:06}Z"
