"""Reading a request's body: never more than the cap, and never with a parser that a body can crash.

The standard library's parser recurses on deep input and lets lone surrogates through; orjson refuses both. Bodies are
read here, before FastAPI would, which makes a bare 400 of whatever reading raises.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from bullpen.errors import Invalid, TooLarge

# What is read and thrown away of a body that is too large, so that the client gets to read our answer.
DISCARD = 8 * 1_048_576
# How deep values may nest. What is parsed has to be written again later, and orjson writes 254 levels.
DEPTH = 100


class CappedRequest(Request):
    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await self._read(self.app.state.office.settings.limits.body_bytes)
        return self._body

    async def _read(self, cap: int) -> bytes:
        declared = self.headers.get("content-length", "")
        if declared.isdecimal() and (len(declared) > 12 or int(declared) > DISCARD):
            raise TooLarge(f"The body is larger than {cap} bytes.")  # the server throws away what is still to come
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

    async def load(self) -> None:
        """Read and parse it, or raise what the caller should be told."""
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise HTTPException(415, "Send the body as it is, without Content-Encoding")
        body = await self.body()
        if body and not _is_json(self.headers.get("content-type", "")):
            raise HTTPException(415, "Send JSON, with Content-Type: application/json")
        if body:
            self._json = _parsed(body)


def _is_json(content_type: str) -> bool:
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def _parsed(body: bytes) -> Any:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The body is not valid JSON: {error}.", fields={"body": f"is not valid JSON: {error}"}) from None
    # Most bodies do not even hold so many brackets, so that nothing needs to be walked.
    if body.count(b"{") + body.count(b"[") > DEPTH and _is_deep(value):
        raise Invalid(f"The body nests deeper than {DEPTH} levels.", fields={"body": "nests too deep"})
    return value


def _is_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


class CappedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def capped(request: Request) -> Response:
            capped_request = CappedRequest(request.scope, request.receive)
            if self.body_field is not None:
                await capped_request.load()
            return await handle(capped_request)

        return capped
