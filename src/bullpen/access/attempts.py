"""How often somebody may try a secret. Counted before the secret is looked at, so that a crowd of guesses all count.

In memory, and bounded: whoever restarts the server forgets the guesses too, which gives an attacker nothing that a
minute would not. This machine is not exempt: any page open in its browser can reach the server.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from bullpen.clock import Clock
from bullpen.errors import TooManyRequests

KEYS = 10_000


class Attempts:
    """At most `allowed` tries per key in `seconds`."""

    def __init__(self, clock: Clock, *, allowed: int, seconds: int) -> None:
        self._clock = clock
        self._allowed = allowed
        self._millis = seconds * 1000
        self._tries: OrderedDict[str, deque[int]] = OrderedDict()

    def spend(self, key: str) -> None:
        """Count a try, or raise."""
        now = self._clock.millis()
        tries = self._tries.pop(key, None) or deque(maxlen=self._allowed)
        over = len(tries) == self._allowed and 0 <= now - tries[0] < self._millis
        wait = self._millis - (now - tries[0]) if over else 0
        if not over:
            tries.append(now)
        self._tries[key] = tries
        if len(self._tries) > KEYS:
            self._tries.popitem(last=False)
        if over:
            raise TooManyRequests("Too many wrong tries. Wait a little, then try again.", retry_after=wait / 1000)

    def exhausted(self, key: str) -> bool:
        tries = self._tries.get(key)
        if tries is None or len(tries) < self._allowed:
            return False
        return 0 <= self._clock.millis() - tries[0] < self._millis  # below 0: the clock was put back meanwhile

    def forgive(self, key: str) -> None:
        """It was the right one."""
        self._tries.pop(key, None)
