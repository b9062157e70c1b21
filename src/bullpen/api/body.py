"""Reading a request's body: never more than the cap, and never with a parser that a body can crash.

The standard library's parser recurses on deep input and lets lone surrogates through; orjson refuses both. Bodies are
read here, before FastAPI would, which makes a bare 400 of whatever reading raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from bullpen.api.office import office_of
from bullpen.errors import Invalid, RequestError, TooLarge

# What is read and thrown away of a body that is too large, so that the client gets to read our answer.
DISCARD = 8 * 1_048_576
# How deep values may nest, how many names one object may have, and how many names, lists and objects there may be in
# all: nobody means more, and each costs time when it is checked.
DEPTH = 64
KEYS = 5_000
PARTS = 80_000
# A text, or the rest of the body if it never ends: so the search never comes back, whatever the body.
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


Model = TypeVar("Model", bound=BaseModel)


class CappedRequest(Request):
    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await self._read(office_of(self.app).settings.limits.body_bytes)
        return self._body

    async def _read(self, cap: int) -> bytes:
        declared = self.headers.get("content-length", "")
        if declared.isdecimal() and (len(declared) > 12 or int(declared) > DISCARD):
            raise TooLarge(f"The body is larger than {cap} bytes.")  # the server throws away what is still to come
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in self.stream():
                size += len(chunk)
                if size <= cap:
                    chunks.append(chunk)
                elif size > DISCARD:
                    break
        except ClientDisconnect:
            # Nobody reads this, and it is nobody's bug.
            raise RequestError("The client left before its body was complete.") from None
        if size > cap:
            raise TooLarge(f"The body is larger than {cap} bytes.")
        return b"".join(chunks)

    async def load(self) -> None:
        """Read and parse it, or raise what the caller should be told."""
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise HTTPException(415, "Send the body as it is, without Content-Encoding")
        body = await self.body()
        if body and not is_json(self.headers.get("content-type", "")):
            raise HTTPException(415, "Send JSON, with Content-Type: application/json")
        if body:
            self._json = _parsed(body)

    async def model(self, kind: type[Model]) -> Model:
        """The body as this, for a route that looks at the caller before it reads anything. Refused like any other."""
        await self.load()
        try:
            return kind.model_validate(getattr(self, "_json", None))
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False)
            raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found]) from None


def is_json(content_type: str) -> bool:
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def _parsed(body: bytes) -> Any:
    brackets = body.count(b"{") + body.count(b"[")
    if brackets > PARTS:
        # Making so many objects would take longest of all, so those in texts are left out before, not after.
        bare = _TEXT.sub(b"", body)
        if bare.count(b"{") + bare.count(b"[") > PARTS:
            raise _too_many_parts()
    # Outside a text, only a name ends like this; inside one, the quote would have its backslash.
    if body.count(b'":') - body.count(b'\\":') > PARTS:
        raise _too_many_parts()
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The body is not valid JSON: {error}.", fields={"body": f"is not valid JSON: {error}"}) from None
    # Most bodies do not even hold so many brackets and colons, so that nothing needs to be walked.
    if brackets > DEPTH or body.count(b":") > KEYS:
        _check_shape(value)
    return value


def _too_many_parts() -> Invalid:
    return Invalid(f"The body holds more than {PARTS} parts.", fields={"body": "holds too many parts"})


def _check_shape(value: Any) -> None:
    parts = 0
    level: list[Any] = [value]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for outer in level:
            values = outer
            if isinstance(outer, dict):
                parts += len(outer)
                if len(outer) > KEYS:
                    raise Invalid(f"An object may have {KEYS} names.", fields={"body": "holds an object of too many"})
                values = outer.values()
            elif not isinstance(outer, list):
                continue
            inner += [each for each in values if isinstance(each, dict | list)]
        level = inner
        parts += len(level)
        if parts > PARTS:
            raise _too_many_parts()
    if level:
        raise Invalid(f"The body nests deeper than {DEPTH} levels.", fields={"body": "nests too deep"})


class CappedRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def capped(request: Request) -> Response:
            capped_request = CappedRequest(request.scope, request.receive)
            if self.body_field is not None:
                await capped_request.load()
            return await handle(capped_request)

        return capped
