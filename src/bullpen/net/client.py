"""Egress: asks somebody outside, within limits, and only whom its rules allow.

A request is judged, its name resolved once, its addresses judged, and the connection made to one of them; each redirect
starts anew. The answer is a value whatever its status, whole (`request`) or as it comes (`stream`); all else is an
EgressError. No cookies, nothing from the environment, no silent repetition of what may have had an effect.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

import aiohttp
from yarl import URL

from bullpen.errors import EgressDenied, EgressError, EgressFailed, EgressTimeout
from bullpen.net import connections, rules, urls
from bullpen.net.allowance import Allowance
from bullpen.net.connections import Asked, Lost, PinnedConnector, Unreached
from bullpen.net.decompress import ENCODINGS
from bullpen.net.dns import Dns, SystemDns
from bullpen.net.response import Answer, Response, deadline, told
from bullpen.net.sockets import Opener, TcpOpener
from bullpen.net.types import Address, Body, Call, Headers, Limits, Origin, StandIns, Url

logger = logging.getLogger("bullpen.net")

MOST_ADDRESSES = 4  # tried for one name
MOST_REMEMBERED = 1024
MOST_STALE = 3  # connections of the pool that turn out to be dead, one after another
PIECE = 64 * 1024
_OUR_HEADERS = (("Accept", "*/*"), ("Accept-Encoding", ENCODINGS), ("User-Agent", "Bullpen"))


class Egress:
    def __init__(
        self,
        allowance: Allowance | None = None,
        *,
        dns: Dns | None = None,
        opener: Opener | None = None,
        tls: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        if tls is not None and (tls.verify_mode is not ssl.CERT_REQUIRED or not tls.check_hostname):
            raise ValueError("a TLS context that does not verify is no use here")
        self.allowance = allowance or Allowance()
        self.limits = limits or Limits()
        self._dns: Dns = dns or SystemDns()
        self._opener = opener or TcpOpener()
        self._tls = tls
        self._open_session: aiohttp.ClientSession | None = None
        self._closed = False
        self._worked: dict[Origin, Address] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cuts every connection, streams included, and opens no other."""
        self._closed = True
        if self._open_session is not None:
            await self._open_session.close()
            self._open_session = None
        if isinstance(self._dns, SystemDns):
            self._dns.close()

    async def request(
        self,
        use: str,
        method: str,
        url: str | Url,
        *,
        headers: Mapping[str, str] | Headers | None = None,
        body: Body | None = None,
        length: int | None = None,
        limits: Limits | None = None,
        stand_ins: StandIns | None = None,
    ) -> Answer:
        """Ask, and read the answer whole. `use` says who asks, and so which private hosts are open to it."""
        asked = self.stream(
            use, method, url, headers=headers, body=body, length=length, limits=limits, stand_ins=stand_ins
        )
        async with asked as response:
            return Answer(response.status, response.headers, await response.read(), response.url)

    @asynccontextmanager
    async def stream(
        self,
        use: str,
        method: str,
        url: str | Url,
        *,
        headers: Mapping[str, str] | Headers | None = None,
        body: Body | None = None,
        length: int | None = None,
        limits: Limits | None = None,
        stand_ins: StandIns | None = None,
    ) -> AsyncIterator[Response]:
        """Ask, and read the answer as it comes. Leaving the block early, or being cancelled in it, cuts the connection.

        A streamed body goes out once, chunked unless its `length` is known. `stand_ins` are words of the URL or the
        headers that are replaced in the last function before the socket.
        """
        limits = limits or self.limits
        by = None if limits.total is None else deadline(limits.total, None)
        try:
            where = urls.parse(url) if isinstance(url, str) else url
            named = rules.header_list(headers)
            call = rules.check_call(Call(method.upper(), where, named, body, length, stand_ins or {}))
            response = await self._follow(use, call, limits, by)
        except EgressDenied as denied:
            logger.info("denied to %s by the rule %s: %s", use, denied.rule, denied.message)
            raise
        try:
            yield response
        finally:
            response.close()

    # ── from one origin to the next ─────────────────────────────────────────────────────────────────────────────────

    async def _follow(self, use: str, call: Call, limits: Limits, by: float | None) -> Response:
        sent = False
        try:
            for _ in range(limits.hops + 1):
                response = await self._ask(use, call, limits, by)
                sent = True
                location = response.headers.get("location") if response.status in rules.REDIRECTS else None
                if location is None:
                    return response
                response.close()
                call = rules.redirected(call, response.status, location)
            raise EgressFailed(f"{call.url.origin} redirects more than {limits.hops} times.")
        except EgressError as error:
            error.sent = error.sent or sent
            raise

    async def _ask(self, use: str, call: Call, limits: Limits, by: float | None) -> Response:
        """One origin: judge it, reach it, and read the head of its answer."""
        reach_by = deadline(limits.connect, by)
        origin = call.url.origin
        addresses = await self._judged(use, origin, reach_by)
        turns = rules.in_turn(addresses, self._worked.get(origin), MOST_ADDRESSES)
        for number, address in enumerate(turns):
            seconds = (reach_by - asyncio.get_running_loop().time()) / (len(turns) - number)
            try:
                raw = await self._exchange(call, address, seconds, deadline(seconds + limits.answer, by))
            except Unreached as unreached:
                if number + 1 == len(turns):
                    raise unreached.error from None
                continue
            self._remember(origin, address)
            return Response(raw, call.url, limits, by)
        raise EgressFailed(f"{origin} has no address.")

    async def _judged(self, use: str, origin: Origin, by: float) -> Sequence[Address]:
        """Every address of the origin, if the use may go to all of them. The resolver is asked once, here."""
        if self._closed:
            raise EgressFailed("The server is stopping, so nothing is asked of anybody any more.")
        listed = self.allowance.lists(use, origin)
        rules.check_origin(use, origin, listed=listed)
        literal = origin.address
        if literal is not None:
            return rules.check_addresses(use, origin, [literal], listed=listed)
        try:
            async with asyncio.timeout_at(by):
                found = await self._dns.addresses(origin.host)
        except TimeoutError:
            raise EgressTimeout(f"The name servers take too long to find {origin.host}.") from None
        return rules.check_addresses(use, origin, found, listed=listed)

    def _remember(self, origin: Origin, address: Address) -> None:
        """What worked is tried first next time, if the name still leads there: its connection may be open."""
        if len(self._worked) >= MOST_REMEMBERED and origin not in self._worked:
            del self._worked[next(iter(self._worked))]
        self._worked[origin] = address

    # ── one question, one answer ────────────────────────────────────────────────────────────────────────────────────

    async def _exchange(self, call: Call, address: Address, reach_within: float, by: float) -> aiohttp.ClientResponse:
        """The head of the answer. Raises Unreached while another address may still be tried."""
        origin = call.url.origin
        for _ in range(MOST_STALE):
            try:
                with told(origin):
                    async with asyncio.timeout_at(by):
                        raw = await self._send(call, address, reach_within)
            except Lost as lost:
                # Only what has no effect is asked again, and only if the server may have hung up before it heard us.
                if lost.stale and call.method in rules.SAFE_METHODS and call.body is None:
                    continue
                break
            if raw.status == 101:
                raw.close()
                raise EgressFailed(f"{origin} switches to a protocol that was not asked for.", sent=True)
            return raw
        raise EgressFailed(f"{origin} closed the connection before it answered.", sent=True)

    async def _send(self, call: Call, address: Address, reach_within: float) -> aiohttp.ClientResponse:
        origin, secure = call.url.origin, call.url.origin.scheme == "https"
        url = URL.build(
            scheme=origin.scheme,
            host=str(address) if address.version == 4 else f"[{address}]",
            port=origin.port,
            path=rules.in_url(call.url.path, call.stand_ins),
            query_string=rules.in_url(call.url.query, call.stand_ins),
            encoded=True,
        )
        return await self._session().request(
            call.method,
            url,
            headers=_headers(call),
            data=_outgoing(call),
            allow_redirects=False,
            # The second counts from when there is room for another connection, and comes to `Unreached` if it is over.
            timeout=aiohttp.ClientTimeout(connect=reach_within + 1.0, sock_connect=reach_within),
            ssl=self._context() if secure else True,
            server_hostname=origin.host,  # also for http: it keeps names that share an address apart in the pool
        )

    def _session(self) -> aiohttp.ClientSession:
        if self._open_session is None:
            self._open_session = aiohttp.ClientSession(
                connector=PinnedConnector(self._opener),
                request_class=Asked,
                middlewares=(connections.fail_once,),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
                auto_decompress=False,
                trust_env=False,
                max_line_size=connections.FIELD_BYTES,
                max_field_size=connections.FIELD_BYTES,
                max_headers=connections.MOST_FIELDS,
            )
        return self._open_session

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def _headers(call: Call) -> list[tuple[str, str]]:
    headers = [("Host", call.url.origin.authority), *rules.in_headers(call.headers, call.stand_ins)]
    given = {name.lower() for name, _ in call.headers}
    headers += [(name, value) for name, value in _OUR_HEADERS if name.lower() not in given]
    length = len(call.body) if isinstance(call.body, bytes) else call.length
    return headers if length is None else [*headers, ("Content-Length", str(length))]


def _outgoing(call: Call) -> Body | None:
    if call.body is None or (isinstance(call.body, bytes) and len(call.body) <= PIECE):
        return call.body
    return _in_pieces(call.body) if isinstance(call.body, bytes) else call.body


async def _in_pieces(body: bytes) -> AsyncIterator[bytes]:
    """So that a large body is written as fast as it is taken, not all at once."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
