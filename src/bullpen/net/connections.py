"""Our half of aiohttp: connections to pinned addresses, and an eye on what comes back.

aiohttp is only ever given addresses, never names. Its pool is keyed by address, port, name and TLS context, so a
connection is used again only by a request that was judged, just now, to lead to that same address under that same name.
The names with underscores that are overridden here are aiohttp's own seams; the version is pinned for their sake.
"""

from __future__ import annotations

import asyncio
import ssl
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage

from bullpen.errors import EgressError, EgressFailed, EgressTimeout, EgressTooLarge
from bullpen.net.sockets import Opener

if TYPE_CHECKING:
    from aiohttp.client_middlewares import ClientHandlerType
    from aiohttp.streams import StreamReader
    from aiohttp.tracing import Trace

HEAD_BYTES = 64 * 1024
FIELD_BYTES = 16 * 1024
MOST_FIELDS = 256
KEEP_SECONDS = 15.0
MOST_CONNECTIONS = 512

_SLICE = 16 * 1024
_AHEAD = 1024 * 1024  # what may come of a body before anybody reads it; flow control stops it long before


class Unreached(Exception):
    """No connection to this address; another one of the same name may do better. `error` is for when there is none."""

    def __init__(self, error: EgressError) -> None:
        super().__init__(error.message)
        self.error = error


class Lost(Exception):
    """The connection broke before any answer. `stale`: it came from the pool, where the server may have closed it."""

    def __init__(self, *, stale: bool) -> None:
        super().__init__()
        self.stale = stale


class Asked(aiohttp.ClientRequest):
    """A request that knows whether a connection was opened for it."""

    fresh = False


async def fail_once(request: aiohttp.ClientRequest, handler: ClientHandlerType) -> aiohttp.ClientResponse:
    """Keeps aiohttp from silently repeating what may have had an effect; the client decides that."""
    assert isinstance(request, Asked)
    try:
        return await handler(request)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        raise Lost(stale=not request.fresh) from None


class Exchange(ResponseHandler):
    """One connection. Cuts off heads without end, bodies over their bound, and answers to questions nobody asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._waiting = False  # for a head
        self._left = 0  # bytes that may still come

    def set_response_params(self, **options: Any) -> None:
        self._waiting = True
        self._left = HEAD_BYTES
        super().set_response_params(**options)

    def expect(self, most: int) -> None:
        """From now on so many bytes may come."""
        self._left = most

    def data_received(self, data: bytes) -> None:
        idle = not self._waiting and (self._payload is None or self._payload.is_eof())
        if data and idle:
            self.abort()
            return
        # In slices, so that a flood of tiny heads is noticed before all of it was parsed.
        while self._waiting and len(data) > _SLICE:
            self._receive(data[:_SLICE])
            data = data[_SLICE:]
        self._receive(data)

    def _receive(self, data: bytes) -> None:
        if data and self.transport is None:
            return
        self._left -= len(data)
        if self._left < 0:
            self._cut()
            return
        super().data_received(data)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        status = data[0].code
        if not self._waiting:
            self.abort()
        elif not 100 <= status < 200 or status == 101:  # an interim answer counts as part of the head
            self._waiting = False
            self._left = _AHEAD
            super().feed_data(data, size)

    def _cut(self) -> None:
        what = "The head of the answer" if self._waiting else "The answer"
        error = EgressTooLarge(f"{what} is larger than was asked for.", sent=True)
        if not self._waiting and self._payload is not None:
            self._payload.set_exception(error)
        self.abort()
        if self._waiting:
            self.set_exception(error)

    def close(self) -> None:
        # At once, whatever TLS or a full buffer would still like to say.
        self.abort()

    def abort(self) -> None:
        payload = self._payload
        super().abort()
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(aiohttp.ClientConnectionError("closed"))


class PinnedConnector(aiohttp.BaseConnector):
    """Opens connections to addresses by our own opener, and speaks TLS under the name that was asked for."""

    def __init__(self, opener: Opener) -> None:
        super().__init__(limit=MOST_CONNECTIONS, keepalive_timeout=KEEP_SECONDS)
        self._opener = opener

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  aiohttp's own seam
    ) -> ResponseHandler:
        assert isinstance(req, Asked)
        req.fresh = True
        where = req.headers["Host"]
        try:
            async with asyncio.timeout(timeout.sock_connect):
                return await self._connected(req)
        except TimeoutError:
            raise Unreached(EgressTimeout(f"{where} could not be reached in time.")) from None
        except ssl.SSLCertVerificationError as error:
            raise EgressFailed(f"{where} cannot be trusted: {error.verify_message}.") from None
        except ssl.SSLError as error:
            raise EgressFailed(f"{where} and Bullpen cannot agree on TLS: {error.reason}.") from None
        except OSError:
            raise Unreached(EgressFailed(f"{where} cannot be reached.")) from None

    async def _connected(self, req: aiohttp.ClientRequest) -> ResponseHandler:
        assert req.port is not None
        opened = await self._opener.open(ip_address(req.host), req.port)
        tls = req.ssl if req.is_ssl() else None
        assert not isinstance(tls, bool | aiohttp.Fingerprint)
        # From here on the socket belongs to the loop, which closes it if TLS fails or we are cancelled.
        _, protocol = await self._loop.create_connection(
            lambda: Exchange(self._loop), sock=opened, ssl=tls, server_hostname=req.server_hostname if tls else None
        )
        return protocol
