"""A clock that stands still until the test moves it."""

from __future__ import annotations

from datetime import datetime

from bullpen.clock import Clock


class FakeClock(Clock):
    """Drop-in for `Clock`. Like the real one, `now()` never says the same twice, and follows when it is put back."""

    def __init__(self, start: str = "2026-01-01T00:00:00Z") -> None:
        super().__init__()
        self._micros = int(datetime.fromisoformat(start).timestamp() * 1_000_000)

    def advance(self, seconds: float) -> None:
        """Move it; a negative number puts it back."""
        self._micros += int(seconds * 1_000_000)

    def micros(self) -> int:
        return self._micros
