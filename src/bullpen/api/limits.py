"""How often and how much: what one caller may ask for in a minute, and how many streams they may hold open.

In memory and per process: a restart forgives, which hurts nobody. What must be exact over crashes and processes, the
rate of the agents in a space, is a column of the space instead (spaces/rows.py). A limit of 0 limits nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import nsmallest
from ipaddress import IPv6Address, ip_address
from time import monotonic
from typing import Any

from bullpen.errors import TooManyRequests
from bullpen.settings import LimitSettings

WINDOW_SECONDS = 60.0
# Callers remembered at once, some 200 bytes each. Forgetting idle ones loses nothing; after them go the least busy.
KEYS = 20_000


class Rate:
    """So many a minute, per key. A minute's worth may come at once; then it is one at a time, evenly.

    A key has one number: when it will have paid for everything so far, each thing costing its share of a minute. It may
    be a minute in debt.
    """

    __slots__ = ("_free_at", "_now", "_price", "per_minute", "what")

    def __init__(self, per_minute: int, what: str, now: Callable[[], float] = monotonic) -> None:
        self.per_minute = per_minute
        self.what = what
        self._price = WINDOW_SECONDS / per_minute if per_minute else 0.0
        self._now = now
        self._free_at: dict[str, float] = {}

    def take(self, key: str) -> None:
        """Count one for this key, or refuse it. What is refused is not counted."""
        if not self.per_minute:
            return
        now = self._now()
        paid = max(now, self._free_at.get(key, 0.0)) + self._price
        wait = paid - now - WINDOW_SECONDS
        if wait > 1e-6:
            raise self.refusal(wait)
        self._free_at[key] = paid
        if len(self._free_at) > KEYS:
            self._forget(now)

    def refusal(self, wait: float) -> TooManyRequests:
        return TooManyRequests(
            f"That is more than {self.per_minute} {self.what} in a minute. Wait {wait:.1f} s, then go on slower.",
            retry_after=wait,
        )

    def _forget(self, now: float) -> None:
        self._free_at = {key: at for key, at in self._free_at.items() if at > now}
        if len(self._free_at) > KEYS // 2:
            for key in nsmallest(KEYS // 2, self._free_at, key=self._free_at.__getitem__):
                del self._free_at[key]

    def __len__(self) -> int:
        return len(self._free_at)


class AtOnce:
    """How many of something each caller has under way: streams, uploads."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._open: Counter[str] = Counter()

    def enter(self, key: str) -> None:
        if self._most and self._open[key] >= self._most:
            raise TooManyRequests(
                f"You have {self._most} {self._what} open, which is the most. Close one, then open another.",
                retry_after=1.0,
            )
        self._open[key] += 1

    def leave(self, key: str) -> None:
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]

    def total(self) -> int:
        return self._open.total()


class Limits:
    """One office's limits: each is asked by the route that it guards."""

    def __init__(
        self, settings: LimitSettings, now: Callable[[], float] = monotonic, *, uploads_at_once: int = 0
    ) -> None:
        self.requests = Rate(settings.requests_per_minute, "requests", now)
        self.messages = Rate(settings.messages_per_minute, "messages", now)
        self.reactions = Rate(settings.reactions_per_minute, "reactions", now)
        self.typing = Rate(settings.typing_per_minute, "signs of typing", now)
        self.edits = Rate(settings.edits_per_minute, "edits", now)
        self.streams = AtOnce(settings.streams_per_person, "event streams")
        self.uploads = AtOnce(uploads_at_once, "uploads")
        self._now = now
        # Who was refused a moment ago, by a hash of what they showed (and of what they asked), by what and until when.
        self.held: dict[int, tuple[float, Rate]] = {}

    def take_request(self, key: str, scope: Any) -> None:
        """Count a request of whoever this is."""
        try:
            self.requests.take(key)
        except TooManyRequests as error:
            self._hold(hash(_shown(scope["headers"])), error.retry_after, self.requests)
            raise

    def take_message(self, key: str, scope: Any) -> None:
        try:
            self.messages.take(key)
        except TooManyRequests as error:
            asked = (_shown(scope["headers"]), scope["method"], scope["path"])
            self._hold(hash(asked), error.retry_after, self.messages)
            raise

    def _hold(self, key: int, seconds: float, rate: Rate) -> None:
        if len(self.held) >= KEYS:
            self.held.clear()
        self.held[key] = (self._now() + seconds, rate)

    def refuse_held(self, scope: Any) -> None:
        """For the edge: a flood is refused again before anything is read, parsed or looked up for it."""
        shown = _shown(scope["headers"])
        for key in (hash(shown), hash((shown, scope["method"], scope["path"]))):
            until, rate = self.held.get(key, (0.0, self.requests))
            wait = until - self._now()
            if wait > 0:
                raise rate.refusal(wait)
            self.held.pop(key, None)


def _shown(headers: Sequence[tuple[bytes, bytes]]) -> tuple[bytes, ...]:
    """What a caller shows of itself."""
    return tuple(value for name, value in headers if name in (b"authorization", b"cookie"))


def address_of(scope: Any) -> str:
    """Where a request comes from, as one key per household: an IPv6 customer has a whole network of addresses."""
    client = scope.get("client")
    if client is None:
        return "local"
    try:
        address = ip_address(client[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped is not None else f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)
