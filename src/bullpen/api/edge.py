"""The browser's edge: what is refused, and what is said with every answer, before any route is looked for.

A web page anywhere can make its reader's browser send requests here. So a request must ask for us by a name of ours
(DNS rebinding), must not come from another origin's page (CSRF, foreign streams), must bring JSON, and must not carry a
token in its address. Plain ASGI, without a task or a copy of its own: all of it costs a few microseconds.

Headers that speak for somebody else (X-Forwarded-…) are read here and nowhere else, and only from proxies that the
settings name. After this module, `scope["client"]`, `scope["scheme"]` and the Host header are the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from math import ceil
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bullpen.api.body import is_json
from bullpen.api.door import LOCAL
from bullpen.api.errors import error_response
from bullpen.api.limits import Limits
from bullpen.errors import TooManyRequests
from bullpen.settings import Settings

Header = tuple[bytes, bytes]

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Where a body is a form instead of JSON: its one file comes with it.
UPLOADS = "/api/files"
FORM = b"multipart/form-data"
# A second one of these is an attempt to be read differently by somebody else.
SINGLE = frozenset({b"host", b"origin", b"authorization", b"content-type", b"sec-fetch-site", b"sec-fetch-mode"})
SECRETS = frozenset({"token", "access_token", "api_key", "apikey"})
WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104  to be refused
REMEMBERED = 1000

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; media-src 'self' blob:; worker-src 'self' blob:; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Sequence[Header] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
NO_STORE: Header = (b"cache-control", b"no-store")
HSTS: Header = (b"strict-transport-security", b"max-age=31536000")


class Refused(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class Edge:
    def __init__(self, settings: Settings, limits: Limits, build: str = "") -> None:
        """`build` is told with every answer of the API, so that a page can see that its server is newer."""
        self._limits = limits
        self._build: Header = (b"bullpen-build", build.encode())
        self._names = Names(settings)
        self._proxies = Proxies(settings.trusted_proxies)
        secure = settings.public_url.startswith("https:")
        self._headers = [*HEADERS, *([HSTS] if secure else [])]
        public = urlsplit(settings.public_url)
        self._public = f"{public.scheme}://{public.netloc}".lower().encode() if settings.public_url else None

    async def __call__(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on to `app`, or answer it here."""
        if scope["type"] != "http" or scope.get(LOCAL):
            await app(scope, receive, send)
            return
        headers = self._headers
        under_api = scope["path"].startswith("/api")

        # Not a coroutine: it only adds to what is sent, and lets the server's own `send` be awaited.
        def guarded(message: Message) -> Any:
            if message["type"] == "http.response.start":
                said = message.get("headers", ())
                more = [*said, *headers]
                if under_api:
                    more.append(self._build)
                    if not any(name == b"cache-control" for name, _ in said):
                        more.append(NO_STORE)
                message = {**message, "headers": more}
            return send(message)

        try:
            self._check(scope)
        except Refused as refused:
            await _answer(refused, scope, receive, guarded)
        except TooManyRequests as error:
            waits = {"Retry-After": str(ceil(error.retry_after))}
            await error_response(429, error.code, error.message, headers=waits)(scope, receive, guarded)
        else:
            await app(scope, receive, guarded)

    def _check(self, scope: Scope) -> None:
        """Refuse it, or make the scope say how it really was made."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if len(headers) != len(scope["headers"]):
            _refuse_doubles(scope["headers"])
        if self._proxies.trust(scope):
            self._proxies.unwrap(scope, headers)
        host = headers.get(b"host", b"")
        if not self._names.know(host, scope):
            raise Refused(421)
        origin = headers.get(b"origin")
        if origin is not None and not self._same(origin, host, scope):
            raise Refused(403, "forbidden", "This request comes from a page of another origin, which may not ask here.")
        _check_site(scope, headers)
        if self._limits.held:
            self._limits.refuse_held(scope)
        if scope["query_string"]:
            _check_query(scope["query_string"])
        if scope["method"] not in SAFE:
            _check_body(scope, headers)

    def _same(self, origin: bytes, host: bytes, scope: Scope) -> bool:
        """Is the page that asks one of ours? Behind a proxy that speaks TLS, what we see as http is https to them."""
        origin, host = origin.lower(), host.lower()
        if origin == self._public or origin == b"https://" + host:
            return True
        return bool(scope["scheme"] == "http" and origin == b"http://" + host)


def _refuse_doubles(headers: Sequence[Header]) -> None:
    names = [name for name, _ in headers]
    doubled = sorted(name.decode() for name in SINGLE if names.count(name) > 1)
    if doubled:
        raise Refused(400, "bad_request", f"The header {doubled[0]} may come only once.")


def _check_site(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Browsers say which site a request comes from. A link from elsewhere may open a page, and do nothing else."""
    site = headers.get(b"sec-fetch-site")
    if site is None or site in (b"same-origin", b"none"):
        return
    opens_page = (
        scope["method"] in ("GET", "HEAD")
        and headers.get(b"sec-fetch-mode") == b"navigate"
        and headers.get(b"sec-fetch-dest", b"document") == b"document"
        and not scope["path"].startswith("/api")
    )
    if not opens_page:
        raise Refused(403, "forbidden", "This request comes from a page of another site, which may not ask here.")


def _check_query(query: bytes) -> None:
    lowered = query.lower()
    if b"token" not in lowered and b"key" not in lowered and b"%" not in lowered:
        return
    # latin-1: any byte is a character, so that no query can break this.
    names = {name.lower() for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True)}
    if names & SECRETS:
        raise Refused(
            401,
            "unauthenticated",
            "A token does not belong in an address, where histories and logs keep it. Send `Authorization: Bearer "
            "<token>`, and revoke this one if anybody may have seen it.",
        )


def _check_body(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Forms and plain text are what another site's page could send without asking; we take JSON only."""
    kind = headers.get(b"content-type")
    if kind is None:
        if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
            return
    elif kind == b"application/json" or is_json(kind.decode("latin-1")) or _is_upload(scope, kind):
        return
    raise Refused(415, "unsupported_media_type", "Send JSON, with Content-Type: application/json.")


def _is_upload(scope: Scope, kind: bytes) -> bool:
    return scope["path"] == UPLOADS and kind.partition(b";")[0].strip().lower() == FORM


async def _answer(refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    if refused.status == 421:  # whoever this is was looking for somebody else: not a word
        await send({"type": "http.response.start", "status": 421, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
        return
    await error_response(refused.status, refused.code, refused.message)(scope, receive, send)


# ── our names ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Names:
    """Under which names we may be asked for: those of this machine, and those that the settings give us.

    An address that the connection really came to is a name of ours, too: no other site can make it point elsewhere.
    """

    def __init__(self, settings: Settings) -> None:
        self._host = settings.host.lower()
        self._on_loopback = is_loopback(self._host)
        public = urlsplit(settings.public_url)
        self._at_any_port = {host.lower() for host in settings.hosts}
        self._exactly = {host.lower() for host in settings.hosts}
        if settings.public_url:
            self._exactly |= {public.netloc.lower(), f"{public.hostname}:{public.port or _port_of(public.scheme)}"}
        self._known: set[tuple[bytes, Any]] = set()

    def know(self, host: bytes, scope: Scope) -> bool:
        server = scope.get("server")
        if (host, server) in self._known:
            return True
        if not self._are_ours(host.decode("latin-1").lower(), server, scope["scheme"]):
            return False
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known.add((host, server))
        return True

    def _are_ours(self, host: str, server: tuple[str, int | None] | None, scheme: str) -> bool:
        name, port = _split(host, _port_of(scheme))
        if port is None:
            return False
        if host in self._exactly or name in self._at_any_port:
            return True
        here = server is not None and server[1] == port
        if is_loopback(name):
            return self._on_loopback or here
        if name in WILDCARDS:
            return False
        return here and (name == self._host or (server is not None and name == server[0]))


def is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _port_of(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _split(host: str, default: int) -> tuple[str, int | None]:
    """Name and port; no port means that it cannot be read."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    name = name.removeprefix("[").removesuffix("]")
    if colon and port:
        return name, int(port) if port.isdecimal() and len(port) <= 5 else None
    return name, default if name else None


# ── proxies ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Proxies:
    """Those whose word is taken for where a request came from."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._networks = [ip_network(each) for each in trusted]
        self._known: dict[str, bool] = {}

    def trust(self, scope: Scope) -> bool:
        client = scope.get("client")
        return bool(self._networks) and client is not None and self._trusts(client[0])

    def _trusts(self, address: str) -> bool:
        found = self._known.get(address)
        if found is None:
            parsed = _parsed(address)
            found = parsed is not None and any(parsed in network for network in self._networks)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[address] = found
        return found

    def unwrap(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Make of both the request as the proxy got it."""
        scope["client"] = (self._origin_of(scope), 0)
        proto = _last(headers.get(b"x-forwarded-proto"))
        if proto in (b"http", b"https"):
            scope["scheme"] = proto.decode()
        host = _last(headers.get(b"x-forwarded-host"))
        if host:
            headers[b"host"] = host
            scope["headers"] = [(b"host", host), *(pair for pair in scope["headers"] if pair[0] != b"host")]

    def _origin_of(self, scope: Scope) -> str:
        """The nearest address that is no proxy of ours: what stands left of it, anybody may have written."""
        peer: str = scope["client"][0]
        said = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        for part in reversed(b",".join(said).decode("latin-1").split(",")):
            address = _parsed(part.strip())
            if address is None:
                break
            peer = str(address)
            if not self._trusts(peer):
                break
        return peer


def _last(value: bytes | None) -> bytes:
    return b"" if value is None else value.rpartition(b",")[2].strip().lower()


def _parsed(text: str) -> Any:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
