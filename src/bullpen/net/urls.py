"""The one parser: what a caller gives, what an owner lists and what a redirect says are all read here, and only here.

Whatever it does not fully understand is refused, because a second reader (a resolver, a library, the server) may
understand something else. What comes out is written in one way only. Nothing is judged: that is for `rules.py`.
Sentences name an origin at most, because a path or a query may hold a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote

import idna

from bullpen.errors import EgressDenied
from bullpen.net.types import DEFAULT_PORTS, Address, Origin, Url

LONGEST_URL = 8192

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NAMED = re.compile(r"([^:\[\]]+)(?::([0-9]+))?")
_BRACKETED = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]+))?")
# Control characters, what other readers take for a slash or throw away, and halves of surrogate pairs.
_UNREADABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff\u2028\u2029\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2069]"
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label that other readers take for (part of) an IPv4 address
_OTHER_DOTS = re.compile("[\u3002\uff0e\uff61\u2024\ufe52]")
_DOT = re.compile(r"\.|%2e", re.IGNORECASE)
_TO_ENCODE = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]")
_TO_ENCODE_IN_QUERY = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")


def parse(text: str) -> Url:
    """The one parser. Raises EgressDenied for whatever two readers might read differently."""
    if len(text) > LONGEST_URL:
        raise EgressDenied("url", f"The URL is longer than {LONGEST_URL} characters.")
    if _UNREADABLE.search(text) or text != text.strip():
        raise EgressDenied(
            "characters", "The URL holds a backslash, a control character or outer spaces. Percent-encode them."
        )
    match = _URL.fullmatch(text)
    if match is None:
        raise EgressDenied("url", "That is no full URL. Write it like https://example.com/path.")
    scheme, authority, path, query = match.groups()
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise EgressDenied("scheme", f"Only http and https URLs can be asked, not {scheme}.")
    return Url(_origin(scheme, authority), _encode_path(path), _encode(_TO_ENCODE_IN_QUERY, query or ""))


def origin_of(text: str) -> Origin:
    """The origin of a URL that an owner lists; a path after it says nothing."""
    return parse(text).origin


def join(base: Url, reference: str) -> Url:
    """Where a Location header leads. A reference becomes a whole URL, and that is parsed like any other."""
    if _SCHEME.match(reference):
        return parse(reference)
    if reference.startswith("//"):
        return parse(f"{base.origin.scheme}:{reference}")
    if reference.startswith("/"):
        return parse(f"{base.origin}{reference}")
    if reference.startswith("?"):
        return parse(f"{base.origin}{base.path}{reference}")
    if not reference or reference.startswith("#"):
        return base
    return parse(f"{base.origin}{base.path.rpartition('/')[0]}/{reference}")


def _origin(scheme: str, authority: str) -> Origin:
    if "@" in authority:
        raise EgressDenied(
            "userinfo", "The URL holds a user name or an @ before its host. Send credentials in a header."
        )
    bracketed = authority.startswith("[")
    match = (_BRACKETED if bracketed else _NAMED).fullmatch(authority)
    if match is None:
        raise EgressDenied("host", "The URL's host or port cannot be read. Write it like https://example.com:443/.")
    host = _ipv6(match[1]) if bracketed else _name_or_ipv4(match[1])
    return Origin(scheme, host, _port(scheme, match[2]))


def _port(scheme: str, text: str | None) -> int:
    if text is None:
        return DEFAULT_PORTS[scheme]
    if len(text) > 5 or text[0] == "0" or int(text) > 65_535:
        raise EgressDenied("port", "The URL's port is no number from 1 to 65535.")
    return int(text)


def unwrapped(address: Address) -> Address:
    """An IPv4 address written as an IPv6 one is that IPv4 address: the kernel would connect to it."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None and not address.scope_id:
        return address.ipv4_mapped
    return address


def _ipv6(text: str) -> str:
    try:
        return str(unwrapped(IPv6Address(text)))
    except ValueError:
        raise EgressDenied("host", "The URL's host is in brackets, yet it is no IPv6 address.") from None


def _name_or_ipv4(text: str) -> str:
    if not text.isascii():
        return _international(text)
    host = text.lower()
    if _is_number(host):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise EgressDenied(
                "host", "The URL's host looks like a shortened address. Write it as four decimal numbers."
            ) from None
    return _name(host.removesuffix("."))


def _is_number(host: str) -> bool:
    return _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]) is not None


def _name(host: str) -> str:
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise EgressDenied("host", "The URL's host is no host name.")
    return host


def _international(text: str) -> str:
    if _OTHER_DOTS.search(text):
        raise EgressDenied("host", "The URL's host holds a dot that is no full stop.")
    try:
        host = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise EgressDenied("host", "The URL's host is no host name in any script.") from None
    if _is_number(host):  # digits of another script
        raise EgressDenied("host", "The URL's host looks like an address. Write it in plain digits.")
    return _name(host.removesuffix("."))


def _encode(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: quote(found[0], safe=""), text)


def _encode_path(path: str) -> str:
    if "." not in path and "%2" not in path:  # nearly always
        return _encode(_TO_ENCODE, path) or "/"
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        plain = _DOT.sub(".", segment)
        if plain not in (".", ".."):
            kept.append(segment)
            continue
        if plain == ".." and kept:
            kept.pop()
        if number == len(segments) - 1:
            kept.append("")
    return _encode(_TO_ENCODE, "/" + "/".join(kept))


# ── filling a template ──────────────────────────────────────────────────────────────────────────────────────────────

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TEMPLATE = re.compile(r"([^/?#]*//[^/?#{}]*)([^?#]*)(.*)")


def fill(template: str, values: Mapping[str, str]) -> Url:
    """The template's URL with each `{name}` replaced by its value, percent-encoded. A value never leaves its place."""
    match = _TEMPLATE.fullmatch(template)
    if match is None or (match[2] and not match[2].startswith("/")):
        raise EgressDenied(
            "template", "A template begins with a fixed host; only its path and query have places to fill."
        )
    segments = [_fill_segment(segment, values) for segment in match[2].split("/")]
    return parse(match[1] + "/".join(segments) + _fill_places(match[3], values))


def _fill_segment(segment: str, values: Mapping[str, str]) -> str:
    filled = _fill_places(segment, values)
    # Other readers go up a folder for these, and leave a folder out for nothing.
    if filled != segment and _DOT.sub(".", filled) in ("", ".", ".."):
        raise EgressDenied("template", "A value would change the URL's path beyond its place.")
    return filled


def _fill_places(text: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: _encoded_value(place[1], values), text)


def _encoded_value(name: str, values: Mapping[str, str]) -> str:
    value = values.get(name)
    if value is None:
        raise EgressDenied("template", f"The URL needs a value for {name}.")
    if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", value):
        raise EgressDenied("characters", f"The value of {name} holds a control character, which no URL can carry.")
    return quote(value, safe="")
