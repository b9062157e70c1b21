"""A database that is away, in the log: one line a minute, however many notice it and however often they try.

While it lasts, every connection, every round of the engine and two libraries have something to say, most of it with a
traceback. All of that means the same, so it is said here.
"""

from __future__ import annotations

import logging
from time import monotonic

logger = logging.getLogger("bullpen.storage")

AGAIN_SECONDS = 60.0
# When a database stops, some connections still work for a moment. Only then is it back.
QUIET_SECONDS = 2.0
# What these libraries say, without an exception, when they cannot write what they have kept.
UNWRITTEN = "Shutdown flush failed"


class Outage:
    def __init__(self) -> None:
        self._began: float | None = None
        self._noticed = 0.0
        self._silent_until = 0.0

    def notice(self, error: BaseException | str) -> None:
        """Somebody could not use the database."""
        now = self._noticed = monotonic()
        if self._began is None:
            self._began = now
        if now >= self._silent_until:
            self._silent_until = now + AGAIN_SECONDS
            reason = str(error) or type(error).__name__
            logger.warning("the database cannot be used (%s); trying until it can, and saying so once a minute", reason)

    def end(self) -> None:
        """Somebody could use it."""
        if self._began is not None and monotonic() >= self._noticed + QUIET_SECONDS:
            logger.info("the database answers again, after %.0f s", self._noticed - self._began)
            self._began = None


class Muffler(logging.Filter):
    """For the loggers of libraries: takes what they say about an outage for a notice of it."""

    def __init__(self, outage: Outage, faults: tuple[type[Exception], ...]) -> None:
        super().__init__()
        self._outage = outage
        self._faults = faults

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, self._faults) and not str(record.msg).startswith(UNWRITTEN):
            return True
        self._outage.notice(error or record.getMessage())
        return False
