"""Reads a part of a text, or of a table in a text, and counts the whole. Imports nothing of ours.

The server calls this itself for what is small, and a child of the pool for the rest. Whatever the bytes are, the work
grows with their number alone: a line is read in pieces of a bounded length, and only the part that was asked for is
kept.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Mapping
from io import BytesIO, TextIOWrapper
from typing import Any, Final

LINE: Final = 2000  # characters; a longer line counts as several
TABLE_LINE: Final = 200_000  # a file with a longer one is no table that could be shown
CELL: Final = 500
COLUMNS: Final = 200
CHUNK: Final = 1 << 20
DELIMITERS: Final = ",;\t|"
# UTF-32 before UTF-16: its mark begins with the other's.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters that nothing needs to be shown. A line feed and a tab stay.
_UNSHOWN: Final = dict.fromkeys([*range(9), *range(11, 32), 127], "\ufffd")


class NoTable(Exception):
    """It is called a table and cannot be read as one."""


def read_text(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """For the pool: lines from `offset` on, at most `limit` of them and `characters` in all."""
    found = Part(fields)
    encoding = find_encoding(data)
    full = False
    for line in _lines(data, encoding, LINE):
        if not (full and line == "\n"):  # which only ends the piece before
            found.add(line.rstrip("\n").translate(_UNSHOWN))
        full = len(line) == LINE and line[-1] != "\n"
    return {"lines": found.total, **found.fields(), "text": "\n".join(found.kept), "encoding": encoding}, b""


def read_table(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """The same for rows. No fields: this is no table."""
    encoding = find_encoding(data)
    try:
        rows = csv.reader(_whole_lines(data, encoding), delimiter=_find_delimiter(data, encoding))
        return {**show_rows(rows, fields), "encoding": encoding}, b""
    except (csv.Error, NoTable):
        return {}, b""


def show_rows(rows: Iterator[list[str]], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The first row is the head: it is shown with every part and not counted."""
    head = next(rows, [])
    if len(head) > COLUMNS:
        raise NoTable
    found = Part(fields)
    for cells in rows:
        if any(cells):
            found.add(write_row(cells[:COLUMNS]) if found.wants() else "")
    shown = [write_row(head), *found.kept] if head else found.kept
    return {"rows": found.total, "columns": len(head), **found.fields(), "text": "\n".join(shown)}


def write_row(cells: list[str]) -> str:
    return "| " + " | ".join(_write_cell(cell) for cell in cells) + " |"


def _write_cell(cell: str) -> str:
    line = " ".join(cell[: CELL * 2].split()).replace("|", "\\|").translate(_UNSHOWN)
    return line if len(line) <= CELL and len(cell) <= CELL * 2 else f"{line[:CELL]}…"


class Part:
    """Some of what there is, in order: as much as was asked for and as fits. All of it is counted."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._first: int = fields["offset"]
        self._limit: int = fields["limit"]
        self._room: int = fields["characters"]
        self._full = False
        self.total = 0
        self.kept: list[str] = []

    def wants(self) -> bool:
        """The one that comes next?"""
        return self.total + 1 >= self._first and not self._full

    def add(self, text: str) -> None:
        wanted = self.wants()
        self.total += 1
        if not wanted:
            return
        self._room -= len(text) + 1
        # The first is always kept: somebody who goes on from there would never get any further.
        self._full = len(self.kept) >= self._limit or (self._room < 0 and bool(self.kept))
        if not self._full:
            self.kept.append(text)

    def fields(self) -> dict[str, int]:
        return {"from": self._first, "to": self._first + len(self.kept) - 1}


# ── encodings and lines ─────────────────────────────────────────────────────────────────────────────────────────────


def find_encoding(data: bytes) -> str:
    """By its mark; else UTF-8 if it is that, else what old Windows programs write; Latin-1 fits anything."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    return next(name for name in ("utf-8", "cp1252", "latin-1") if _fits(data, name))


def _fits(data: bytes, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for start in range(0, len(data), CHUNK):
            decoder.decode(data[start : start + CHUNK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _open(data: bytes, encoding: str) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(data), encoding, errors="replace", newline=None)


def _lines(data: bytes, encoding: str, longest: int) -> Iterator[str]:
    source = _open(data, encoding)
    while line := source.readline(longest):
        yield line


def _whole_lines(data: bytes, encoding: str) -> Iterator[str]:
    for line in _lines(data, encoding, TABLE_LINE):
        if len(line) >= TABLE_LINE:
            raise NoTable
        yield line.replace("\x00", "\ufffd")


def _find_delimiter(data: bytes, encoding: str) -> str:
    """The one that the first line has most of."""
    first = next(_whole_lines(data, encoding), "")
    return max(DELIMITERS, key=first.count)
