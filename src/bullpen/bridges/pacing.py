"""How soon the next thing may be sent, to a chat and in all. Knows no clock: it is told the time.

Kept in memory by the process that holds the bridge's lease. After a takeover it starts empty; a service that finds that
too fast says so, and is waited for.
"""

from __future__ import annotations

from collections import deque

from bullpen.bridges.types import Pace

MOST_CHATS = 1000  # remembered at once


class Window:
    """When the last few were sent: as many as the pace counts."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._sent: deque[float] = deque(maxlen=pace.count)

    def free_at(self, now: float) -> float:
        return now if len(self._sent) < self._pace.count else max(now, self._sent[0] + self._pace.seconds)

    def add(self, at: float) -> None:
        self._sent.append(at)


class Pacing:
    """A chat has one sender at a time, which asks, waits, and says when it sends. In all, places are given in turn."""

    def __init__(self, paces: tuple[Pace, ...], chat_paces: tuple[Pace, ...]) -> None:
        self._everywhere = [Window(pace) for pace in paces]
        self._chat_paces = chat_paces
        self._chats: dict[str, list[Window]] = {}

    def chat_free_at(self, chat: str, now: float) -> float:
        return _free_at(self._windows(chat), now)

    def count_sent(self, chat: str, now: float) -> None:
        for window in self._windows(chat):
            window.add(now)

    def reserve(self, now: float) -> float:
        """The next place in all; when that is."""
        at = _free_at(self._everywhere, now)
        for window in self._everywhere:
            window.add(at)
        return at

    def _windows(self, chat: str) -> list[Window]:
        found = self._chats.pop(chat, None) or [Window(pace) for pace in self._chat_paces]
        self._chats[chat] = found
        if len(self._chats) > MOST_CHATS:
            del self._chats[next(iter(self._chats))]  # nothing was sent there for longest
        return found


def _free_at(windows: list[Window], now: float) -> float:
    return max((window.free_at(now) for window in windows), default=now)
