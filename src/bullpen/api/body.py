"""Reading a request's body: never more than the cap, and never with a parser that a body can crash.

The standard library's parser recurses on deep input and lets lone surrogates through; orjson refuses both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from bullpen.errors import TooLarge

# What is read and thrown away of a body that is too large, so that the client gets to read our answer.
DISCARD = 8 * 1_048_576


class CappedRequest(Request):
    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await self._read(self.app.state.office.settings.limits.body_bytes)
        return self._body

    async def _read(self, cap: int) -> bytes:
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.stream():
            size += len(chunk)
            if size <= cap:
                chunks.append(chunk)
            elif size > DISCARD:
                break
        if size > cap:
            raise TooLarge(f"The body is larger than {cap} bytes.")
        return b"".join(chunks)

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = orjson.loads(await self.body())
        return self._json


class CappedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def capped(request: Request) -> Response:
            return await handle(CappedRequest(request.scope, request.receive))

        return capped
