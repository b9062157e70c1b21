"""The nouns of a request to the outside: where it goes, what it asks, what it may cost.

A `Url` can only be made by `urls.parse`, so whoever holds one holds something that was read by the one parser we have.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Headers: TypeAlias = Sequence[tuple[str, str]]
Body: TypeAlias = bytes | AsyncIterable[bytes]
# Words that stand in a URL or a header for what nobody may see yet, and how to get it. Asked for when the request is
# written, and at no other time: what is logged, raised or redirected on the way holds the words.
StandIns: TypeAlias = Mapping[str, Callable[[], str]]

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """`host` is a name in lower case and ASCII, or an address in its one canonical form, without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """As the Host header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def address(self) -> Address | None:
        """The address that the host itself is, if it is one."""
        numeric = ":" in self.host or self.host.rpartition(".")[2].isdigit()  # no name ends in a number: urls.parse
        return ip_address(self.host) if numeric else None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@dataclass(frozen=True, slots=True)
class Url:
    """Path and query are ASCII, percent-encoded and free of dot segments. A fragment never leaves the caller."""

    origin: Origin
    path: str
    query: str = ""  # without the question mark

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it goes to one origin."""

    method: str
    url: Url
    headers: Headers = ()
    body: Body | None = None
    length: int | None = None  # of a body that is streamed, if it is known
    stand_ins: StandIns = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may cost. Seconds and bytes; a `total` of None leaves a stream open as long as it talks."""

    total: float | None = 30.0  # everything: names, connections, redirects, the last byte
    connect: float = 10.0  # finding and reaching one host, TLS included
    answer: float = 30.0  # on top of that, until the head of the answer is complete
    idle: float = 15.0  # between two pieces of the body
    body_bytes: int = 10 * 1024 * 1024  # decompressed
    hops: int = 5  # redirects that are followed
