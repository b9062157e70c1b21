"""Every way in which a secret's value may be written out: what the redactor looks for. Pure.

A value is taken apart first (its lines, the members of a JSON object, pieces of what is very long), and each part is
then written as a program on the way might write it: encoded, escaped, in another case. Does not know where the text
comes from or what replaces it.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final
from urllib.parse import quote, quote_plus

import orjson

# What is shorter stands in too many innocent words: it is not looked for at all.
SHORTEST: Final = 5
# From here on a member of a JSON secret counts, and so does another case of the value.
LONG_ENOUGH: Final = 8
# A line of a value counts on its own: keys are passed on line by line.
LINE: Final = 16
# Longer parts are looked for whole as they are, and encoded in pieces: encodings of megabytes would fill the memory.
WHOLE: Final = 512
LONGEST: Final = 4096
PIECE: Final = 256
# Nobody can store a longer secret. One from the environment or from an older version is looked for in pieces, as it is
# and in JSON, but not encoded; what is behind LIMIT is not looked for.
BOUND: Final = 8192
LIMIT: Final = 65_536

_WORD: Final = re.compile(r"[a-z_ -]+|[A-Z_ -]+|https?://[^@\s]*")
_UNRESERVED: Final = ("", "/", "!'()*", ";,/?:@&=+$!~*'()#")
# Where base64 becomes independent of what stands before: for no, one and two bytes of a neighbour in its first group.
_SHIFTS: Final = ((0, 0), (1, 2), (2, 3))
_URL_SAFE: Final = str.maketrans("+/", "-_")


def forms(value: str, between: Callable[[], None] = lambda: None) -> tuple[bytes, ...]:
    """All spellings of a value, none shorter than SHORTEST. Empty for a value that is too short to be looked for.

    Takes up to 50 ms for a long one, so not on the event loop. `between` is called every millisecond or so.
    """
    if len(value) > BOUND:
        return _pieces(value[:LIMIT])
    found: dict[bytes, None] = {}
    for part in _parts(value):
        for spelled in _spellings(part):
            # Inside JSON, and JSON inside JSON, it is escaped once more each time.
            for text in (spelled, once := _escaped(spelled), _escaped(once)):
                if len(text) >= SHORTEST:
                    found.setdefault(text.encode("utf-8", "surrogatepass"))
        between()
    return tuple(found)


def _pieces(value: str) -> tuple[bytes, ...]:
    pieces = (value[at : at + PIECE] for at in range(0, len(value), PIECE))
    texts = (text for piece in pieces if len(piece) >= LINE for text in (piece, _escaped(piece)))
    return tuple(dict.fromkeys(text.encode("utf-8", "surrogatepass") for text in texts))


def is_plain(value: str) -> bool:
    """Is it a word, or an address, that others may well write too? As a secret it would be masked in all they say."""
    return len(value) < LONG_ENOUGH or _WORD.fullmatch(value) is not None


# ── taking apart ────────────────────────────────────────────────────────────────────────────────────────


def _parts(value: str) -> list[str]:
    if len(value.strip()) < SHORTEST:
        return []
    found = dict.fromkeys([value, value.strip()])
    for text in [value, *_members(value)]:
        found.setdefault(text)
        lines = text.splitlines()
        if len(lines) > 1:
            # The first and last line of a key are the same for everybody.
            found.update(dict.fromkeys(s for line in lines if len(s := line.strip()) >= LINE and s[:5] != "-----"))
    parts: dict[str, None] = {}
    for text in found:
        if len(text) <= LONGEST:
            parts.setdefault(text)
        if len(text) > WHOLE:
            pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
            parts.update(dict.fromkeys(piece for piece in pieces if len(piece) >= LINE))
    return list(parts)


def _members(value: str) -> Iterator[str]:
    """The texts inside a JSON secret, but for those that are no secret: addresses, kinds, names of fields."""
    if value.lstrip()[:1] not in ("{", "["):
        return
    try:
        waiting: list[Any] = [orjson.loads(value)]
    except orjson.JSONDecodeError:
        return
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
        elif isinstance(inner, str) and not is_plain(inner):
            yield inner


# ── spelling ────────────────────────────────────────────────────────────────────────────────────────────


def _spellings(part: str) -> Iterator[str]:
    yield part
    yield part.replace("\r", "\n").replace("\n", "\n    ")  # quoted, as transcripts do it
    yield from _in_json(part)
    if len(part) > WHOLE:
        return
    yield from _in_other_case(part)
    yield from _in_base64(part.encode("utf-8", "surrogatepass"))
    yield from _in_hex(part.encode("utf-8", "surrogatepass"))
    yield from _in_url(part)
    yield from _in_html(part)
    yield from _in_python(part)


def _in_other_case(part: str) -> Iterator[str]:
    """Not of plain words: `summer` must not hide the name Summer."""
    if len(part) >= LONG_ENOUGH and (any(map(str.isdigit, part)) or part not in (part.lower(), part.upper())):
        yield part.lower()
        yield part.upper()


def _in_base64(data: bytes) -> Iterator[str]:
    """In each of the three ways it may lie in the groups of three bytes, as far as no neighbour has a say in it."""
    for shift, begin in _SHIFTS:
        encoded = b64encode(b"\0" * shift + data).decode()
        end = (shift + len(data)) * 8 // 6
        for text in (encoded[begin:end], encoded[begin:].rstrip("="), encoded[begin:]):
            yield text
            yield text.translate(_URL_SAFE)


def _in_hex(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()


def _in_url(part: str) -> Iterator[str]:
    written = {quote(part, safe=safe, errors="surrogatepass") for safe in _UNRESERVED}
    written.add(quote_plus(part, errors="surrogatepass"))
    written.add(quote(quote(part, safe="", errors="surrogatepass"), safe=""))
    for text in written:
        if text != part:
            yield text
            yield re.sub(r"%[0-9A-F]{2}", lambda code: code[0].lower(), text)


def _in_json(part: str) -> Iterator[str]:
    """As the usual encoders write it: with or without other alphabets, slashes and what HTML minds."""
    texts = {json.dumps(part)[1:-1], _escaped(part)}
    texts |= {text.replace("/", "\\/") for text in texts}
    texts |= {_by_number(text, "<>&") for text in texts} | {_by_number(text, "<>&'+") for text in texts}
    for text in texts:
        if text != part:
            yield text
            yield re.sub(r"\\u[0-9a-f]{4}", lambda code: "\\u" + code[0][2:].upper(), text)


def _by_number(text: str, which: str) -> str:
    return "".join(f"\\u{ord(sign):04x}" if sign in which else sign for sign in text)


def _escaped(text: str) -> str:
    """As our own encoder writes it, quotes left out."""
    return text if text.isalnum() else json.dumps(text, ensure_ascii=False)[1:-1]


def _in_html(part: str) -> Iterator[str]:
    named = html.escape(part, quote=False)
    yield named
    for double, single in product(("&quot;", "&#34;"), ("&#x27;", "&#39;", "'")):
        yield named.replace('"', double).replace("'", single)


def _in_python(part: str) -> Iterator[str]:
    """As an exception or a traceback shows it."""
    yield repr(part)[1:-1]
    yield ascii(part)[1:-1]
    yield repr(part.encode("utf-8", "surrogatepass"))[2:-1]
