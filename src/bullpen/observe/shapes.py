"""Texts that are secrets whatever they hold: tokens and keys that are known by how they look.

`SHAPES` are precise enough for what agents and tools say: ordinary prose and our own ids have none of them. A shape
begins with a literal, so one quick search tells where to look, and its length is bounded, so a stream knows how long to
wait. `mask_line` looks for more, at a higher price: it is for logs and errors, where `token=abc` is hardly prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ahocorasick_rs import BytesAhoCorasick

MASK: Final = "***"


@dataclass(frozen=True, slots=True)
class Shape:
    """`whole` is what is masked, but for its group `kept`; `open`, to the end of a text, what more text may decide."""

    begins: tuple[bytes, ...]
    whole: re.Pattern[bytes]
    open: re.Pattern[bytes]


def _shape(begins: str, whole: str, open: str, before: str = r"(?<![A-Za-z0-9])") -> Shape:
    """`before` is what must hold for what stands in front."""
    return Shape(
        tuple(each.encode() for each in begins.split("|")),
        re.compile(f"{before}{whole}".encode()),
        re.compile(f"{before}(?:{open})\\Z".encode()),
    )


_SCHEME: Final = r"(?P<kept>{} )(?=[\w.~+/-]{{0,2047}}[\d=])[\w.~+/=-]{{{},2048}}"
_QUERY: Final = (
    "token=|access_token=|refresh_token=|id_token=|auth_token=|api_key=|apikey=|api-key=|client_secret="
    "|secret=|password=|passwd=|signature="
)
_NAMED: Final = "(?:" + _QUERY.replace("=", "").replace("-", "[-]") + ")="
_GIVEN: Final = r"[^&#;\s'\"`<>()\[\]{}|\\]"
_USER, _PASSWORD = r"[^/\s:@'\"`<>?#]", r"[^/\s@'\"`<>?#]"
_KEY: Final = "[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----"

SHAPES: Final = (
    # Ours.
    _shape("bp_", r"bp_[\w-]{16,200}", r"bp_[\w-]{0,199}"),
    # What a webhook is signed with, ours and others'.
    _shape("whsec_", r"whsec_[A-Za-z0-9+/=]{16,200}", r"whsec_[A-Za-z0-9+/=]{0,199}"),
    # `Bearer …` and `Basic …`, as headers and commands have them.
    _shape("Bearer |bearer |BEARER ", _SCHEME.format("(?i:bearer)", 16), r"(?i:bearer) [\w.~+/=-]{0,2047}"),
    _shape("Basic |basic |BASIC ", _SCHEME.format("(?i:basic)", 12), r"(?i:basic) [\w.~+/=-]{0,2047}"),
    # The password of `postgresql://user:password@host`.
    _shape(
        ":/",
        rf"(?P<kept>://{_USER}{{0,256}}:)(?!\*\*\*){_PASSWORD}{{1,256}}(?=@)",
        rf":(?:/(?:/{_USER}{{0,256}}(?::{_PASSWORD}{{0,256}})?)?)?",
        before="",
    ),
    # `?token=…` and its like, in an address.
    _shape(
        _QUERY,
        rf"(?P<kept>{_NAMED})(?![*$]|\xe2){_GIVEN}{{8,2048}}",
        rf"{_NAMED}{_GIVEN}{{0,2047}}",
        before=r"(?<=[?&#;])",
    ),
    # A bot's token in the path of an address.
    _shape(
        "/bot",
        r"(?P<kept>/bot)\d{6,12}(?::|%3[Aa])[\w-]{20,100}",
        r"/bot\d{0,12}(?:(?::|%3[Aa])[\w-]{0,99}|%3?)?",
        before="",
    ),
    # Keys of providers, by the prefixes that they chose.
    _shape("sk-", r"sk-(?=[\w-]{0,199}\d)[\w-]{20,200}", r"sk-[\w-]{0,199}", before=r"(?<![\w-])"),
    _shape("sk_live_|sk_test_|rk_live_", r"[sr]k_(?:live|test)_\w{16,200}", r"[sr]k_(?:live|test)_\w{0,199}"),
    _shape("AKIA|ASIA", r"A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])", r"A[KS]IA[0-9A-Z]{0,16}"),
    _shape("ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}", r"gh[pousr]_[A-Za-z0-9]{0,254}"),
    _shape("_pat_", r"(?P<kept>_pat_)(?=\w{0,254}\d)\w{22,255}", r"_pat_\w{0,254}", before=""),
    _shape(
        "xoxa|xoxb|xoxe|xoxp|xoxr|xoxs",
        r"xox[abeprs]-(?=[\w-]{0,249}\d)[\w-]{10,250}",
        r"xox[abeprs](?:-[\w-]{0,249})?",
    ),
    # Private keys, from their first line to their last, or as far as they came.
    _shape(
        "BEGIN ",
        rf"BEGIN {_KEY}(?:(?:[^-]|-(?!----)){{0,8192}}-----END {_KEY}"
        r"|(?:(?:\\[rn]|\s){0,4}[A-Za-z0-9+/=]{16,128}){1,100})",
        r"BEGIN [A-Z0-9 ]{0,57}(?:-{0,4}|-----(?:[^-]|-(?!----)){0,8192}(?:-----[A-Z0-9 ]{0,60}-{0,4})?)",
        before="(?<=-----)",
    ),
    # Signed claims: three parts, the first two of them JSON.
    _shape(
        "eyJ",
        r"eyJ[\w-]{8,2048}\.eyJ[\w-]{8,4096}\.[\w-]{16,1024}",
        r"eyJ[\w-]{0,2048}(?:\.(?:e(?:y(?:J[\w-]{0,4096}(?:\.[\w-]{0,1023})?)?)?)?)?",
        before=r"(?<![\w-])",
    ),
)
_BEGINNINGS: Final = tuple((begin, shape) for shape in SHAPES for begin in shape.begins)
_LONGEST_BEGINNING: Final = max(len(begin) for begin, _ in _BEGINNINGS)
# So far back a shape looks to see whether it may begin.
BEHIND: Final = 5


@cache
def _beginnings(*, each: bool) -> BytesAhoCorasick:
    """Where shapes may begin: `each` place, or, twice as fast, whether there is one at all.

    Made when it is first needed: `bullpen --help` needs none of it.
    """
    from ahocorasick_rs import BytesAhoCorasick, MatchKind

    kind = MatchKind.Standard if each else MatchKind.LeftmostLongest
    return BytesAhoCorasick([begin for begin, _ in _BEGINNINGS], kind)


def may_hold(data: bytes) -> bool:
    return bool(_beginnings(each=False).find_matches_as_indexes(data))


def mask(data: bytes, begin: int = 0) -> bytes:
    """data[begin:] with every shape masked; the very same object when there is none in the whole."""
    if begin == 0 and not may_hold(data):
        return data
    found: list[re.Match[bytes]] = []
    end = begin
    for at, shape in _places(data, begin):
        if at >= end and (match := shape.whole.match(data, at)):
            found.append(match)
            end = match.end()
    return _replaced(data, begin, len(data), found) if found or begin else data


def mask_so_far(data: bytes, begin: int) -> tuple[bytes, int]:
    """What can be decided already of data[begin:], masked, and where that ends. What stands before `begin` was."""
    found: list[re.Match[bytes]] = []
    end, hold = begin, len(data)
    for at, shape in _places(data, begin):
        if at < end:
            continue
        if shape.open.match(data, at):
            hold = at
            break
        if match := shape.whole.match(data, at):
            found.append(match)
            end = match.end()
    for at in range(max(end, len(data) - _LONGEST_BEGINNING + 1), hold):
        if any(start.startswith(data[at:]) for start, _ in _BEGINNINGS):
            hold = at
            break
    return _replaced(data, begin, hold, found), hold


def _places(data: bytes, begin: int) -> list[tuple[int, Shape]]:
    found = _beginnings(each=True).find_matches_as_indexes(data[begin:], overlapping=True)
    return sorted(((begin + at, _BEGINNINGS[number][1]) for number, at, _ in found), key=lambda place: place[0])


def _replaced(data: bytes, begin: int, end: int, found: Sequence[re.Match[bytes]]) -> bytes:
    pieces = []
    for match in found:
        pieces += [data[begin : match.start()], match.groupdict().get("kept") or b"", MASK.encode()]
        begin = match.end()
    return b"".join([*pieces, data[begin:end]])


# ── lines of logs, and errors ───────────────────────────────────────────────────────────────────────────

_NAMES: Final = (
    "access_token|api_?key|authorization|claim|client_secret|code|cookie|credential|invite|key|passwd|password"
    "|refresh_token|secret|session|signature|token|x-api-key"
)
_IN_LINES: Final = re.compile(
    "|".join(
        [
            # A header or a cookie, however it is written out: `Cookie: a=b; c=d`, `(b'authorization', b'Bearer x')`.
            r"(?P<header>\b(?:proxy-)?authorization|\b(?:set-)?cookie)(?P<sep>['\"]?\s*[:=,]\s*(?:b?['\"])?)[^'\"\r\n]+",
            r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}",
            r"(?P<user>://[^/\s:@]*:)(?!\*\*\*)[^/\s@]+(?=@)",
            # `?token=…`, `#claim=…`, `"password": "…"`.
            rf"(?P<query>[?&#;](?:{_NAMES})=)(?!\*\*\*)[^&#;\s'\"]+",
            rf"(?P<json>['\"](?:{_NAMES}|tokenHash)['\"]\s*:\s*['\"])(?!\*\*\*)[^'\"]+",
            r"(?P<own>\bbp_)[\w-]{4,}",
        ]
    ),
    re.IGNORECASE,
)
_SIGNS: Final = ("authorization", "cookie", "bearer", "basic", "://", "=", '":', "':", '" :', "' :", "bp_")


def mask_line(text: str) -> str:
    """A line of a log, or an error: what stands behind the name of a secret is one."""
    lower = text.lower()
    if not any(sign in lower for sign in _SIGNS):
        return text
    return _IN_LINES.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    return "".join(part for part in found.groupdict().values() if part is not None) + MASK
