"""Around every request: an id for it, how long it took, what was answered, and a line in the log where it matters.

Outermost, so that what the edge refuses and what breaks is seen too. A line says the route's template and never the
address, so neither a body nor a token in a query can get into the log this way. Routes and methods are labels, so
those that nobody defined share one.
"""

from __future__ import annotations

import logging
from itertools import count
from secrets import token_hex
from time import monotonic, perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bullpen.observe import counts, logs

logger = logging.getLogger("bullpen.access")

# Who asked, once the door knows: the id of a principal.
CALLER = "bullpen.caller"
# When the request came, as `monotonic` says it.
ARRIVED = "bullpen.arrived"
SLOW_SECONDS = 1.0
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
NO_ROUTE = "none"
API = "/api"

# Ids of requests are for looking things up in a log: unique, cheap, and nothing can be told from them.
_PREFIX = token_hex(5)
_numbers = count(1)


class Watch:
    """One request, as far as it has come."""

    __slots__ = ("_began", "_scope", "_send", "id", "seconds", "status")

    def __init__(self, scope: Scope, send: Send) -> None:
        self.id = f"req_{_PREFIX}{next(_numbers):08x}"
        self.status = 0
        self.seconds = 0.0
        self._began = perf_counter()
        self._scope = scope
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.seconds = perf_counter() - self._began
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.id.encode())]
        await self._send(message)

    def end(self) -> None:
        route = template(self._scope)
        method = self._scope["method"] if self._scope["method"] in METHODS else NO_ROUTE
        if self.status == 0:  # the client left before there was an answer
            self.seconds = perf_counter() - self._began
        counts.REQUESTS.add(method, route, f"{self.status // 100}xx" if self.status else "none")
        counts.REQUEST_SECONDS.observe(self.seconds, route)
        level = logging.WARNING if self.status >= 500 or self.seconds > SLOW_SECONDS else logging.DEBUG
        if logger.isEnabledFor(level):
            fields: dict[str, Any] = {"status": self.status, "ms": round(self.seconds * 1000, 1)}
            if (caller := self._scope.get(CALLER)) is not None:
                fields["caller_id"] = caller
            logger.log(level, "%s %s", method, route, extra=fields)


def template(scope: Scope) -> str:
    """The route as it was defined. A router knows its paths without the prefix under which it was included."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None:
        return NO_ROUTE
    return API + path if scope["path"].startswith(API) and not path.startswith(API) else path


async def watched(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        await app(scope, receive, send)
        return
    watch = Watch(scope, send)
    scope[ARRIVED] = monotonic()
    with logs.alone_about(request_id=watch.id):
        try:
            await app(scope, receive, watch.send)
        finally:
            watch.end()
