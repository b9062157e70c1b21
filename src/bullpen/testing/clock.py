"""A clock that stands still until the test moves it."""

from __future__ import annotations

from datetime import UTC, datetime

from bullpen.clock import Clock


class FakeClock(Clock):
    """Drop-in for `Clock`. Like the real one, `now()` never says the same twice."""

    def __init__(self, start: str = "2026-01-01T00:00:00Z") -> None:
        super().__init__()
        self._micros = int(datetime.fromisoformat(start).timestamp() * 1_000_000)

    def advance(self, seconds: float) -> None:
        self._micros += int(seconds * 1_000_000)

    def millis(self) -> int:
        return self._micros // 1_000

    def now(self) -> str:
        self._last = max(self._micros, self._last + 1)
        seconds, micros = divmod(self._last, 1_000_000)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{micros:06}Z"
