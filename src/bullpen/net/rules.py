"""Who may be asked, and how: origins, addresses, headers and redirects, judged without touching the network.

Deny by default: an address is public only if nothing speaks against it, and whatever is near must be listed for the use
that asks. Sentences name the origin at most: a path or a query may hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import quote

from bullpen.errors import EgressDenied
from bullpen.net import urls
from bullpen.net.types import Address, Call, Headers, Origin, StandIns
from bullpen.net.urls import unwrapped

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
OPEN_PORTS = frozenset({80, 443})
REDIRECTS = frozenset({301, 302, 303, 307, 308})

# Names that mean "near here" by agreement (RFC 6761, 6762, 8375; ICANN for .internal). Nobody asks a resolver for them.
NEARBY = ("localhost", "local", "internal", "home.arpa", "onion")

# ── judging an address ──────────────────────────────────────────────────────────────────────────────────────────────

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers; a cloud's metadata service at 100.100.100.200
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's own service, at an address that looks public
        "169.254.0.0/16",  # link-local; most clouds' metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; a cloud's metadata service at 192.0.0.192
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays from IPv4 to 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")  # all that was ever given out; the mapped, NAT64, local, … forms are elsewhere
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID, …
        "2001:db8::/32",
        "2002::/16",  # 6to4: holds an IPv4 address
        "3fff::/20",
    )
)
# What an owner may open by listing a name: near, but not a metadata service, to which the name might be turned.
_NEAR: tuple[IPv4Network | IPv6Network, ...] = (
    *(IPv4Network(n) for n in ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    *(IPv6Network(n) for n in ("::1/128", "fc00::/7")),
)
_METADATA = frozenset({"100.100.100.200", "fd00:ec2::254", "fd20:ce::254"})
_METADATA_NAMES = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "instance-data",
        "metadata.azure.internal",
        "instance-data.ec2.internal",
    }
)


@lru_cache(maxsize=4096)
def is_public(address: Address) -> bool:
    """May anybody be sent there? Only if it is global unicast, and no form that holds another address."""
    address = unwrapped(address)
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in _NOT_PUBLIC_V4)
    return (
        address in _UNICAST_V6
        and address.scope_id is None
        and address.is_global
        and not any(address in network for network in _NOT_PUBLIC_V6)
    )


def is_near(address: Address) -> bool:
    """May a listed name lead there? Private and loopback addresses, yes; metadata services and the like, no."""
    address = unwrapped(address)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    return str(address) not in _METADATA and any(
        address in network for network in _NEAR if network.version == address.version
    )


def is_host(address: Address) -> bool:
    """Is it one machine at all? What an owner lists by its address is reached if it is."""
    address = unwrapped(address)
    return not (address.is_multicast or address.is_unspecified or address == IPv4Address("255.255.255.255"))


def is_odd(origin: Origin) -> bool:
    """Is it refused to whoever does not list it, as far as can be said before any name is resolved?"""
    try:
        check_origin("", origin, listed=False)
    except EgressDenied:
        return True
    return origin.address is not None and not is_public(origin.address)


def check_listable(origin: Origin) -> None:
    """What people may list while the server runs. Less than the operator: no link-local address, no metadata service.

    A name that leads to one is refused when it is resolved.
    """
    address = origin.address
    bad = origin.host in _METADATA_NAMES if address is None else not (is_public(address) or is_near(address))
    if bad:
        raise EgressDenied("address", f"{origin} cannot be listed: it is link-local, a metadata service, or no host.")


def check_origin(use: str, origin: Origin, *, listed: bool) -> None:
    """What can be said before any name is resolved."""
    if listed:
        return
    if origin.port not in OPEN_PORTS:
        raise EgressDenied("port", f"{origin} is no usual port of the web. {_advice(use, origin)}")
    if origin.address is None and (
        "." not in origin.host or origin.host in NEARBY or origin.host.endswith(tuple(f".{name}" for name in NEARBY))
    ):
        raise EgressDenied("address", f"{origin} is not on the public internet. {_advice(use, origin)}")


def check_addresses(use: str, origin: Origin, addresses: Iterable[Address], *, listed: bool) -> list[Address]:
    """The addresses, ready to connect to. One bad one condemns them all: the next answer might hold nothing else."""
    checked = [unwrapped(address) for address in addresses]
    literal = origin.address is not None
    for address in checked:
        if is_public(address) or (listed and (is_host(address) if literal else is_near(address))):
            continue
        if listed:
            raise EgressDenied(
                "address", f"{origin} is listed, yet it leads to an address that nobody may list by name."
            )
        raise EgressDenied("address", f"{origin} is not on the public internet. {_advice(use, origin)}")
    return checked


def _advice(use: str, origin: Origin) -> str:
    return f"If it should be reached, the owner can list it for {use}: egress.listed."


def in_turn(addresses: Sequence[Address], preferred: Address | None, most: int) -> list[Address]:
    """The order in which to try: the one that worked last, then both families alternately."""
    first = [address for address in addresses if address == preferred][:1]
    rest = [address for address in dict.fromkeys(addresses) if address != preferred]
    ours = [address for address in rest if address.version == rest[0].version]
    others = [address for address in rest if address.version != rest[0].version]
    mixed: list[Address] = []
    for number in range(max(len(ours), len(others))):
        mixed += ours[number : number + 1] + others[number : number + 1]
    return [*first, *mixed][:most]


# ── headers, redirects ──────────────────────────────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
# They say how the message travels, which is the client's business: two opinions on that are how requests are smuggled.
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"}
    | {"accept-encoding", "proxy-authorization", "proxy-connection", "http2-settings"}
)
# All that goes on to another origin. Any other header might be a secret, under whatever name.
_CARRIED = frozenset({"accept", "accept-language", "user-agent"})
_ABOUT_A_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location", "content-md5"})


def check_call(call: Call) -> Call:
    if call.method not in METHODS:
        raise EgressDenied("method", f"The method is one of {', '.join(sorted(METHODS))}.")
    for name, value in call.headers:
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise EgressDenied("header", "A header's name or value holds a character that no header can carry.")
        if name.lower() in _OURS:
            raise EgressDenied("header", f"The header {name} is set by Bullpen. Leave it out.")
    return call


def redirected(call: Call, status: int, location: str) -> Call:
    """The request to make next. Refused rather than followed with less than it needs, or with more than it may have."""
    to = urls.join(call.url, location)
    if call.url.origin.scheme == "https" and to.origin.scheme == "http":
        raise EgressDenied("downgrade", f"{call.url.origin} redirects from https to http.")
    becomes_get = (status == 303 and call.method != "HEAD") or (status in (301, 302) and call.method == "POST")
    method = "GET" if becomes_get else call.method
    elsewhere = to.origin != call.url.origin
    if elsewhere and method not in SAFE_METHODS:
        raise EgressDenied(
            "redirect",
            f"{call.url.origin} redirects a {method} to {to.origin}. If that is right, ask {to.origin} itself.",
        )
    body = None if becomes_get or elsewhere else call.body
    if body is not None and not isinstance(body, bytes):
        raise EgressDenied(
            "redirect", f"{call.url.origin} redirects a body that was streamed and cannot be sent again."
        )
    headers = [
        (name, value)
        for name, value in call.headers
        if not (elsewhere and name.lower() not in _CARRIED) and not (body is None and name.lower() in _ABOUT_A_BODY)
    ]
    return replace(call, method=method, url=to, headers=headers, body=body, length=None)


def header_list(headers: Mapping[str, str] | Headers | None) -> Headers:
    if headers is None:
        return ()
    return list(headers.items()) if isinstance(headers, Mapping) else list(headers)


# ── what nobody may see before the request is written ───────────────────────────────────────────────────────────────


def in_url(text: str, stand_ins: StandIns) -> str:
    """Part of a URL as it is written: each stand-in becomes its value, percent-encoded, and stays in its place."""
    for word, value in stand_ins.items():
        if word in text:
            text = text.replace(word, _encoded(value()))
    return text


def _encoded(value: str) -> str:
    if value in (".", ".."):
        raise EgressDenied("template", "A variable's value would change the URL's path beyond its place.")
    return quote(value, safe="")


def in_headers(headers: Headers, stand_ins: StandIns) -> Headers:
    return [(name, _in_header(value, stand_ins)) for name, value in headers] if stand_ins else headers


def _in_header(text: str, stand_ins: StandIns) -> str:
    for word, value in stand_ins.items():
        if word in text:
            text = text.replace(word, value())
    if not _VALUE.fullmatch(text):
        raise EgressDenied("header", "A variable holds a character that no header can carry, such as a line's end.")
    return text
