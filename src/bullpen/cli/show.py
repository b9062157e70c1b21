"""What people read: tables, times and text that is safe to print.

Messages are written by others, and a terminal obeys what it is shown. So every control character is made visible
here, and nothing of ours prints a stored text in any other way.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel

# Line and paragraph separators and the marks that reverse reading order look like one thing and are another.
_TRICKY = frozenset({"Cc", "Zl", "Zp"})
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def plain(text: str, *, indent: str = "") -> str:
    """The text without power over the terminal. Line breaks stay, and what follows them is indented."""
    return "".join(_plain(character, indent) for character in text)


def one_line(text: str, width: int = 80) -> str:
    """The beginning of a text, on one line."""
    shown = " ".join(plain(text).split())
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def _plain(character: str, indent: str) -> str:
    if character == "\n":
        return "\n" + indent
    if character == "\t":
        return "    "
    if character in _REORDERING or unicodedata.category(character) in _TRICKY:
        return character.encode("unicode_escape").decode()
    return character


def clock(at: str | None) -> str:
    """When, as the clock on the wall here shows it."""
    return "--:--:--" if at is None else datetime.fromisoformat(at).astimezone().strftime("%H:%M:%S")


def date(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def seconds(start: str, end: str | None) -> str:
    if end is None:
        return "…"
    taken = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return f"{taken.total_seconds():.1f} s"


def dollars(amount: float) -> str:
    """Cents, or as many digits as a small sum needs."""
    return f"{amount:.2f} USD" if amount == round(amount, 2) else f"{amount:.6f} USD"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as they need to be; the last one is not padded."""
    lines = [list(headings), *([one_line(cell, 120) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def as_json(value: BaseModel | Mapping[str, Any]) -> str:
    """One line of JSON, as the server would say it. Escaped to ASCII, so it is safe to print too."""
    return json.dumps(value.model_dump(by_alias=True, mode="json") if isinstance(value, BaseModel) else value)
