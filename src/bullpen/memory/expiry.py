"""When a passage is forgotten: a time, or how long from now."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from bullpen.errors import Invalid

_FOR = re.compile(r"\s*(\d{1,6})\s*(minute|hour|day|week|month|year)s?\s*", re.IGNORECASE)
_MINUTE: Final = 60_000
_UNITS: Final = {"minute": 1, "hour": 60, "day": 1440, "week": 10_080, "month": 43_200, "year": 525_600}
FARTHEST: Final = 253_370_764_800_000  # the year 9999


def read(said: str, now: int) -> int:
    """In milliseconds."""
    if found := _FOR.fullmatch(said):
        moment = now + int(found[1]) * _UNITS[found[2].lower()] * _MINUTE
    else:
        moment = _read_time(said)
    if not now < moment < FARTHEST:
        raise Invalid("expires must lie ahead.", fields={"expiresAt": "must lie ahead"})
    return moment


def _read_time(said: str) -> int:
    try:
        time = datetime.fromisoformat(said)
        if time.tzinfo is None and len(said) > len("2026-01-31"):
            raise ValueError
        return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{said!r} is no time. Write it like 2030-01-31T09:00:00Z, or like '30 days'.",
            fields={"expiresAt": "is no time with a zone"},
        ) from None
