"""An answer from outside: its head at once, its body as it comes or whole, never more of it than was agreed.

Also the one place where what aiohttp raises becomes our own error. Those exceptions carry the URL and the headers of
the request, secrets included, so none of them is kept as a cause.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from bullpen.errors import EgressFailed, EgressTimeout, EgressTooLarge
from bullpen.net.connections import HEAD_BYTES, Exchange
from bullpen.net.decompress import Decompressor
from bullpen.net.types import Limits, Origin, Url

_PLAIN = frozenset({"", "identity"})
_COMPRESSED = frozenset({"gzip", "x-gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Header names are in lower case; a header that came twice is joined by a comma."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: Url  # the last one, after redirects


class Response:
    """An answer whose body is still to be read. Closing it closes the connection, unless the body has come whole."""

    def __init__(self, raw: aiohttp.ClientResponse, url: Url, limits: Limits, by: float | None) -> None:
        self.status = raw.status
        self.headers = _headers(raw)
        self.url = url
        self._raw = raw
        self._limits = limits
        self._by = by
        if raw.connection is not None and isinstance(raw.connection.protocol, Exchange):
            # Chunked transfer may say much around little; twice the body is enough for anybody who means well.
            raw.connection.protocol.expect(2 * limits.body_bytes + HEAD_BYTES)

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.iter()])

    async def iter(self) -> AsyncGenerator[bytes, None]:
        """The body, decompressed, in pieces as they come. Raises EgressTooLarge, EgressTimeout or EgressFailed."""
        decompressor = self._decompressor()
        left = self._limits.body_bytes
        if (self._raw.content_length or 0) > left and not self._raw.content.is_eof():
            raise self._too_large()
        while data := await self._more():
            for piece in (data,) if decompressor is None else decompressor.feed(data):
                left -= len(piece)
                if left < 0:
                    raise self._too_large()
                yield piece
        if decompressor is not None:
            decompressor.finish()

    def close(self) -> None:
        if self._raw.content.is_eof():
            self._raw.release()
        else:
            self._raw.close()

    async def _more(self) -> bytes:
        content = self._raw.content
        with told(self.url.origin):
            if content.is_eof():  # it is all there: a short answer needs no clock
                return content.read_nowait()
            async with asyncio.timeout_at(deadline(self._limits.idle, self._by)):
                return await content.readany()

    def _decompressor(self) -> Decompressor | None:
        encoding = self.headers.get("content-encoding", "").strip().lower()
        if encoding in _PLAIN:
            return None
        if encoding in _COMPRESSED:
            return Decompressor()
        raise EgressFailed(f"{self.url.origin} answers in an encoding that was not asked for.", sent=True)

    def _too_large(self) -> EgressTooLarge:
        most = self._limits.body_bytes
        return EgressTooLarge(f"{self.url.origin} answers with more than {most} bytes.", sent=True)


def deadline(seconds: float, by: float | None) -> float:
    """So many seconds from now, or `by` if that is earlier."""
    then = asyncio.get_running_loop().time() + seconds
    return then if by is None else min(then, by)


@contextmanager
def told(origin: Origin) -> Iterator[None]:
    """Whatever goes wrong inside, after the request may have been seen, is one of our errors."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError:
        raise EgressTimeout(f"{origin}: too many connections are open already. Try again later.") from None
    except TimeoutError:
        raise EgressTimeout(f"{origin} takes too long to answer.", sent=True) from None
    except aiohttp.ClientResponseError as error:
        if error.__cause__ is not None and isinstance(error.__cause__.__cause__, LineTooLong):
            raise EgressTooLarge(f"{origin} answers with a head that is too large.", sent=True) from None
        raise EgressFailed(f"{origin} does not answer in HTTP that can be understood.", sent=True) from None
    except aiohttp.ClientPayloadError:
        raise EgressFailed(f"{origin} ended its answer too early.", sent=True) from None
    except (aiohttp.ClientError, OSError):
        raise EgressFailed(f"The connection to {origin} was lost.", sent=True) from None


def _headers(raw: aiohttp.ClientResponse) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in raw.headers.items():
        low, text = name.lower(), value if value.isascii() else _readable(value)
        found[low] = f"{found[low]}, {text}" if low in found else text
    return found


def _readable(value: str) -> str:
    """Bytes that are no UTF-8 come as halves of surrogate pairs, which no database keeps; in HTTP they are Latin-1."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogateescape").decode("latin-1")
    return value
