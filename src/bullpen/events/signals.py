"""Hints between processes, and live events.

On SQLite there is one process, so everything stays in it. On PostgreSQL four things travel by NOTIFY: "there are new
events" (coalesced: a NOTIFY in each transaction halves the commit rate), live frames, "look whether this run was
cancelled or paused", and "this variable was set or deleted" (its name, never its value). Sending and listening have
connections of their own. Nothing here is ever the truth: a lost NOTIFY is covered by the feed's poll, by the look that
comes with every renewal of the leases or by reading all secrets after a lost connection, and a lost live frame is
replaced by the next one. Cancels and variables come before all else and are never left out for want of room.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import orjson

from bullpen.ending import end

COALESCE_SECONDS = 0.01
ANSWER_SECONDS = 5.0
MOST_WAITING = 1000  # hints that have not been sent
# A NOTIFY payload may have 8,000 bytes.
FRAME_BYTES = 7_000
PIECE = 1_000  # characters
# How many growing texts are remembered, so that only what was added needs to travel.
KEPT = 1_000


# Whether it can wait, in which order it came, the channel and what is said there.
_Hint: TypeAlias = tuple[bool, int, str, str]


class Changed(NamedTuple):
    """A variable that another process has set or deleted. No name: all that was set in the scope is gone."""

    scope_kind: str
    scope_id: str
    name: str


class Signals(Protocol):
    on_events: Callable[[], None]
    on_live: Callable[[dict[str, Any]], None]
    on_cancel: Callable[[str], None]
    on_variable: Callable[[Changed | None], None]  # None: any may have changed while nobody listened

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    def events(self) -> None: ...
    def live(self, frame: dict[str, Any]) -> None: ...
    def cancel(self, run_id: str) -> None: ...
    def variable(self, changed: Changed) -> None: ...


class LocalSignals:
    """One process: a signal is a call."""

    def __init__(self) -> None:
        self.on_events: Callable[[], None] = lambda: None
        self.on_live: Callable[[dict[str, Any]], None] = lambda frame: None
        self.on_cancel: Callable[[str], None] = lambda run_id: None
        self.on_variable: Callable[[Changed | None], None] = lambda changed: None

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        return None

    def events(self) -> None:
        self.on_events()

    def live(self, frame: dict[str, Any]) -> None:
        self.on_live(frame)

    def cancel(self, run_id: str) -> None:
        self.on_cancel(run_id)

    def variable(self, changed: Changed) -> None:
        """Tells other processes; whoever changed it knows."""


def _remember(texts: dict[str, str], key: str, text: str) -> None:
    """The newest text under this key; what has not grown for longest is forgotten first."""
    texts.pop(key, None)
    texts[key] = text
    if len(texts) > KEPT:
        del texts[next(iter(texts))]


class PostgresSignals(LocalSignals):
    """Every process tells itself at once, and the others by NOTIFY."""

    def __init__(self, store: Any, origin: str) -> None:
        super().__init__()
        self._store = store
        self._origin = origin
        self._outgoing: asyncio.PriorityQueue[_Hint] = asyncio.PriorityQueue()
        self._numbers = itertools.count()
        self._events_pending = False
        self._sent: dict[str, str] = {}
        self._received: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._keep_connected(self._send)),
            asyncio.create_task(self._keep_connected(self._listen)),
        ]

    async def stop(self) -> None:
        await end(*self._tasks)

    def events(self) -> None:
        self.on_events()
        if not self._events_pending:
            self._events_pending = True
            asyncio.get_running_loop().call_later(COALESCE_SECONDS, self._flush_events)

    def _flush_events(self) -> None:
        self._events_pending = False
        self._put("bullpen_events", self._origin)

    def live(self, frame: dict[str, Any]) -> None:
        self.on_live(frame)
        for text in self._shortened(frame):
            self._put("bullpen_live", text)

    def cancel(self, run_id: str) -> None:
        self.on_cancel(run_id)
        self._put("bullpen_cancel", f"{self._origin} {run_id}", urgent=True)

    def variable(self, changed: Changed) -> None:
        self._put("bullpen_variable", orjson.dumps([self._origin, *changed]).decode(), urgent=True)

    def _put(self, channel: str, payload: str, *, urgent: bool = False) -> None:
        # Full: the sender cannot keep up or is reconnecting. A hint that does not fit is a hint that is lost.
        if urgent or self._outgoing.qsize() < MOST_WAITING:
            self._outgoing.put_nowait((not urgent, next(self._numbers), channel, payload))

    # ── long frames ─────────────────────────────────────────────────────────────────────────────────────

    def _shortened(self, frame: dict[str, Any]) -> list[str]:
        """A frame's accumulated text as what was added since the last one, when the whole would not fit."""
        key, text = frame.get("key"), frame.get("text")
        packed = {**frame, "origin": self._origin}
        if not isinstance(key, str) or not isinstance(text, str):
            whole = orjson.dumps(packed).decode()
            return [whole] if len(whole.encode()) <= FRAME_BYTES else []
        before = self._sent.get(key, "")
        _remember(self._sent, key, text)
        offset = len(before) if text.startswith(before) and len(text) > PIECE else 0
        return [
            orjson.dumps({**packed, "text": text[at : at + PIECE], "offset": at}).decode()
            for at in range(offset, max(len(text), 1), PIECE)
        ]

    def _whole(self, frame: dict[str, Any]) -> dict[str, Any] | None:
        key, offset = frame.get("key"), frame.pop("offset", None)
        if not isinstance(key, str) or offset is None:
            return frame
        known = self._received.get(key, "")
        if offset > len(known):
            return None  # the beginning was missed; a frame that restarts at 0 will come with the next call
        frame["text"] = known[:offset] + frame["text"]
        _remember(self._received, key, frame["text"])
        return frame

    # ── connections ─────────────────────────────────────────────────────────────────────────────────────

    async def _keep_connected(self, work: Callable[[Any], Awaitable[None]]) -> None:
        """Do `work` with a connection of its own, and again with another whenever that one breaks."""
        while True:
            try:
                connection = await self._store.connect()
                try:
                    await work(connection)
                finally:
                    connection.terminate()
            except self._store.connection_errors as error:
                self._store.notice(error)
                await asyncio.sleep(0.5)

    async def _send(self, connection: Any) -> None:
        while True:
            hint = await self._outgoing.get()
            try:
                await connection.execute("SELECT pg_notify($1, $2)", *hint[2:], timeout=ANSWER_SECONDS)
            except self._store.connection_errors:
                if not hint[0]:
                    self._outgoing.put_nowait(hint)  # somebody waits for it; whether it was sent does not matter
                raise

    async def _listen(self, connection: Any) -> None:
        await connection.add_listener("bullpen_events", self._hear_events)
        await connection.add_listener("bullpen_live", self._hear_live)
        await connection.add_listener("bullpen_cancel", self._hear_cancel)
        await connection.add_listener("bullpen_variable", self._hear_variable)
        # Whatever happened while nobody listened.
        self.on_events()
        self.on_variable(None)
        while True:
            await asyncio.sleep(1)
            await connection.execute("SELECT 1", timeout=ANSWER_SECONDS)  # notices one that died without a word

    def _hear_events(self, connection: Any, pid: int, channel: str, payload: str) -> None:
        if payload != self._origin:
            self.on_events()

    def _hear_live(self, connection: Any, pid: int, channel: str, payload: str) -> None:
        frame = orjson.loads(payload)
        if frame.pop("origin") != self._origin and (whole := self._whole(frame)) is not None:
            self.on_live(whole)

    def _hear_cancel(self, connection: Any, pid: int, channel: str, payload: str) -> None:
        origin, _, run_id = payload.partition(" ")
        if origin != self._origin:
            self.on_cancel(run_id)

    def _hear_variable(self, connection: Any, pid: int, channel: str, payload: str) -> None:
        origin, *changed = orjson.loads(payload)
        if origin != self._origin:
            self.on_variable(Changed(*changed))
