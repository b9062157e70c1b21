"""One HTTP connection that may not take for ever: to send a head, to send a body, or to read an answer.

uvicorn bounds only the pause between two requests, and its fast parser takes heads of any size. Here a connection notes
what it is waiting for and since when; the server looks over all of them now and then (`overdue`), which costs a request
nothing but two times of day. Whoever waits for us, an open event stream above all, is never overdue.

A body may take longer the more of it has come: a large file on a slow line arrives, a client that drips is cut off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# How fast a body must come, on the whole, after the time that any body may take: bytes in a second.
SLOWEST = 65_536
# In the scope of a request: the connection it came by.
CONNECTION = "bullpen.connection"
# A head beyond this is no head. Cookies and tokens are a few KiB.
MAX_HEAD = 65_536
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(HttpToolsProtocol):
    awaited: Literal["head", "body", None] = "head"  # what the client owes us
    since: float = 0.0
    stuck_since: float | None = None  # the client has not read for so long that we stopped writing
    _head_size: int = 0
    _body_size: int = 0

    # ── what is awaited ─────────────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await("head")

    def data_received(self, data: bytes) -> None:
        if self.awaited == "head":
            self._head_size += len(data)
        super().data_received(data)
        if self.awaited == "head" and self._head_size > MAX_HEAD and not self.transport.is_closing():
            self.transport.write(TOO_LARGE)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._await("body")
        self.scope[CONNECTION] = self  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        # An answer may come before the end of the question; then the next head is due.
        self._await("head" if self.cycle.response_complete else None)

    def on_response_complete(self) -> None:
        going_on = bool(self.pipeline)
        super().on_response_complete()
        if self.awaited is None and not going_on:
            self._await("head")

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stuck_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stuck_since = None

    def _await(self, awaited: Literal["head", "body", None]) -> None:
        self.awaited = awaited
        self.since = self.loop.time()
        self._head_size = 0
        self._body_size = 0

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def overdue(self, now: float, head_seconds: float, body_seconds: float) -> bool:
        if self.stuck_since is not None and now - self.stuck_since > body_seconds:
            return True
        if self.awaited == "body" and self.flow.read_paused:
            self.since, self._body_size = now, 0  # the client waits for us: a disk is slow
        allowed = {"head": head_seconds, "body": body_seconds + self._body_size / SLOWEST}.get(self.awaited or "")
        return allowed is not None and now - self.since > allowed

    def hang_up(self) -> None:
        """Say why, if anybody may be listening, and end it."""
        if self.stuck_since is not None or self.transport.is_closing():
            self.transport.abort()
            return
        if self.awaited == "head" and self._head_size:
            self.transport.write(TIMEOUT)
        self.transport.close()


def hang_up_on_the_slow(connections: Iterable[Any], now: float, head_seconds: float, body_seconds: float) -> int:
    """Close what is overdue; how many that were. 0 seconds: no bound."""
    head, body = head_seconds or float("inf"), body_seconds or float("inf")
    slow = [c for c in connections if isinstance(c, Connection) and c.overdue(now, head, body)]
    for connection in slow:
        connection.hang_up()
    return len(slow)
