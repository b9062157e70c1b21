"""What a model did not make up: arguments that stand, as they are, in a person's message or in something it has read.

A page may tell an agent to put the secrets of the office into an address. An address that a person has written, or
that stands in an answer which this run got, was made without them. So a tool that only reads may be given it after
outside text was read, and nobody is asked: docs/decisions/0041-outward-reading.md. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from bullpen.tools import own_words

# said: it stands in a person's message. read: the same, or it is an address that stands in what the run has read.
Quotable = Literal["said", "read"]
# Which arguments leave, and how each may be quoted. One word: all of them. None: all, and none may be quoted.
Carries: TypeAlias = Mapping[str, Quotable] | Quotable | None

# Tools that read elsewhere, by their names. What is not named here does not leave: it says where to click, or how much
# to read. A tool that reads and is not in here asks like one that writes.
READERS: Final[Mapping[str, Mapping[str, Quotable]]] = {
    "WebFetch": {"url": "read"},
    "WebSearch": {"query": "said"},
    "web_scrape": {"url": "read"},
    "web_crawl": {"url": "read"},
    "web_map": {"url": "read"},
    "firecrawl_scrape": {"url": "read"},
    "firecrawl_crawl": {"url": "read"},
    "firecrawl_map": {"url": "read"},
    "browse_navigate": {"url": "read"},
    "browse_fill": {"value": "said"},
    "browse_type_at_xy": {"value": "said"},
    "browse_snapshot": {},
    "browse_click": {},
    "browse_click_xy": {},
    "browse_scroll": {},
    "browse_screenshot": {},
    "browse_go_back": {},
    "browse_close": {},
    "browse_extract_file": {},
}

SMALL: Final = 999  # a whole number up to this says how much is read, and hardly anything else
_ADDRESS: Final = re.compile(r"https?://\S+")
_BEFORE: Final = r"(?<![\w/:.@%&?#=+~-])"
_AFTER: Final = r"(?=[.,;:!?]*(?:[\s\"'<>()\[\]{}|`\\*]|$))"


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call of this run that has got an answer from elsewhere."""

    args: Any
    result: Any


def leaving(args: Mapping[str, Any], carries: Carries) -> dict[str, Any]:
    """The arguments that leave with the request."""
    given = {name: value for name, value in args.items() if value is not None}
    return {name: value for name, value in given.items() if name in carries} if isinstance(carries, Mapping) else given


def are_quoted(args: Mapping[str, Any], carries: Carries, said: Sequence[str], read: Sequence[str]) -> bool:
    """Did others write all that leaves?"""
    if carries is None:
        return False
    kinds = carries if isinstance(carries, Mapping) else dict.fromkeys(args, carries)
    return all(_stands(value, said, read if kinds[name] == "read" else ()) for name, value in args.items())


def _stands(value: Any, said: Iterable[str], read: Iterable[str]) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return False
    if any(own_words.stands_in(value, text) for text in said):
        return True
    return bool(_ADDRESS.fullmatch(value)) and any(_has_address(text, value) for text in read)


def _has_address(text: str, address: str) -> bool:
    return address in text and re.search(f"{_BEFORE}{re.escape(address)}{_AFTER}", text) is not None


def read_by(calls: Iterable[ReadCall], said: Sequence[str]) -> list[str]:
    """The texts that these calls have read, in their order. Not those of a call whose arguments the model made up: a
    server may send them back, and then they would look as if somebody else had written them."""
    read: list[str] = []
    for call in calls:
        if all(_is_small(value) or _stands(value, said, read) for value in _leaves(call.args)):
            read += [text for text in _leaves(call.result) if isinstance(text, str)]
    return read


def _is_small(value: Any) -> bool:
    return isinstance(value, int) and abs(value) <= SMALL


def _leaves(value: Any) -> Iterator[Any]:
    """The texts, numbers and so on within it; nothing for null."""
    found = [value]
    while found:
        each = found.pop()
        if isinstance(each, Mapping):
            found += each.values()
        elif isinstance(each, list):
            found += each
        elif each is not None:
            yield each
