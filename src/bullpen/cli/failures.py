"""Why a command could not do what it was asked, as one sentence that says what to do next."""

from __future__ import annotations

from collections.abc import Mapping


class CommandFailed(Exception):
    def __init__(self, message: str, *, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.fields = dict(fields or {})
