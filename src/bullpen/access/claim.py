"""The claim: a code that is printed where the server was started, for whoever becomes its first owner.

Kept in memory only: the process that printed it is the one that is asked. A few wrong guesses void it, and a new one
is printed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hmac import compare_digest

from bullpen.access.attempts import Attempts
from bullpen.clock import Clock
from bullpen.errors import Forbidden

GUESSES = 5


class Claim:
    def __init__(self, clock: Clock, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._guesses = Attempts(clock, allowed=GUESSES, seconds=60)
        self._left = GUESSES
        self.code = _new()

    def announce(self) -> None:
        self._announce(self.code)

    def check(self, code: str) -> None:
        """Return if it is the code; whether there is an owner already is for the database to say."""
        self._guesses.spend("claim")
        if compare_digest(code.strip().encode(), self.code.encode()):
            self._guesses.forgive("claim")
            return
        self._left -= 1
        if self._left == 0:
            self.code, self._left = _new(), GUESSES
            self.announce()
        raise Forbidden("This is not the claim code. It stands in the server's output, in the link after #claim=.")


def _new() -> str:
    return secrets.token_urlsafe(18)
