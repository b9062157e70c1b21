"""One connection to a server: a request in, JSON or an error out.

Knows HTTP, tokens and patience; knows no noun. A request that may be repeated without harm is repeated while the
server cannot be reached, until patience runs out; any other is sent once, because nobody can tell a lost request
from a lost answer. Proxies and netrc of the environment are ignored: a token goes to the URL it was given for.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic_core import to_jsonable_python

from bullpen.wire.errors import ApiError, Invalid, rebuild

T = TypeVar("T")

# httpx logs a line for every request, which nobody who uses an office has asked for. A level that was set is kept.
if (_log := logging.getLogger("httpx")).level == logging.NOTSET:
    _log.setLevel(logging.WARNING)

# Answers after which the same request may well succeed.
PASSING = frozenset({429, 502, 503, 504})
LONGEST_PAUSE = 5.0


class Unreachable(ApiError):
    """No server answered. Whether a request that changes something has arrived is unknown."""

    code = "unreachable"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Part of a list. `next` is the cursor to go on with, or None at the end."""

    items: list[T]
    next: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> T:
        return self.items[index]


def pause(attempt: int) -> float:
    """How long to wait before trying again. Jitter keeps a thousand clients from coming back at the same moment."""
    return min(LONGEST_PAUSE, 0.05 * 2.0 ** min(attempt, 10)) * random.uniform(0.5, 1.0)


def path(*parts: str) -> str:
    """A path under /api. Ids are quoted whole, so that none can name another place."""
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


class Connection:
    def __init__(
        self, url: str, token: str | None, *, transport: httpx.AsyncBaseTransport | None = None, patience: float = 10.0
    ) -> None:
        self.url = url
        self.patience = patience
        self.http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            transport=transport,
            timeout=httpx.Timeout(30.0, connect=5.0),
            # A follower holds its connection for good; they must not use up the pool.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
        )

    async def aclose(self) -> None:
        await self.http.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        repeatable: bool = False,
        seconds: float | None = None,
    ) -> Any:
        """The JSON of the answer, if it has any. Raises the ApiError that the server tells of, or Unreachable.

        `seconds` is how long the server may take for what it is known to be slow at.
        """
        request = self._build(method, path, body, query)
        if seconds is not None:
            request.extensions["timeout"] = httpx.Timeout(30.0, connect=5.0, read=seconds).as_dict()
        return await self._patiently(lambda: request, self.patience if repeatable or method == "GET" else 0)

    async def _patiently(self, build: Callable[[], httpx.Request], patience: float) -> Any:
        give_up = asyncio.get_running_loop().time() + patience
        attempt = 0
        while True:
            try:
                return _read(await self._send(build()))
            except ApiError as error:
                wait = error.retry_after if error.retry_after is not None else pause(attempt)
                passing = isinstance(error, Unreachable) or error.status in PASSING
                if not passing or asyncio.get_running_loop().time() + wait > give_up:
                    raise
            attempt += 1
            await asyncio.sleep(wait)

    async def upload(
        self, path: str, files: Mapping[str, tuple[str, BinaryIO]], *, query: Mapping[str, Any], seconds: float
    ) -> Any:
        """Send a form with files, again if no answer comes and they can be read again. The JSON of the answer."""

        def build() -> httpx.Request:  # anew for each attempt: httpx reads the files from their beginning
            request = self.http.build_request("POST", path, files=dict(files), params=_said(query))
            request.extensions["timeout"] = httpx.Timeout(30.0, connect=5.0, read=seconds).as_dict()
            return request

        again = all(opened.seekable() for _, opened in files.values())
        return await self._patiently(build, self.patience if again else 0)

    async def open_stream(self, path: str, *, query: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Response:
        """An answer that keeps coming. The caller closes it."""
        request = self.http.build_request("GET", path, params=_said(query), headers=dict(headers))
        # The server says something every 15 s, so three silent periods mean that it is gone.
        request.extensions["timeout"] = httpx.Timeout(45.0, connect=5.0, write=30.0, pool=30.0).as_dict()
        response = await self._send(request, stream=True)
        if response.status_code >= 300:
            try:
                await response.aread()
            except httpx.TransportError as error:
                raise self._unreachable(error) from error
            _read(response)
        return response

    async def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        """An answer that is no JSON, as its bytes come."""
        response = await self.open_stream(path, query={}, headers={})
        try:
            async for piece in response.aiter_raw():
                yield piece
        except httpx.TransportError as error:
            raise Unreachable("The download broke off. Try again.") from error
        finally:
            await response.aclose()

    def _build(self, method: str, path: str, body: Any, query: Mapping[str, Any] | None) -> httpx.Request:
        try:
            content = None if body is None else to_jsonable_python(body, by_alias=True)
            return self.http.build_request(method, path, json=content, params=_said(query or {}))
        except UnicodeEncodeError as error:
            raise Invalid("The request holds half of a surrogate pair, which is no text; remove it.") from error

    async def _send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        try:
            return await self.http.send(request, stream=stream)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        return Unreachable(f"No server answers at {self.url} ({str(error) or type(error).__name__}).")


def _said(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def _read(response: httpx.Response) -> Any:
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
    if response.is_success:
        return body
    retry_after = response.headers.get("Retry-After", "")
    raise rebuild(response.status_code, body, retry_after=float(retry_after) if retry_after.isdecimal() else None)
