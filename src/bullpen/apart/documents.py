"""Reads the text of PDF files, workbooks and Word documents. Imports nothing of ours; runs in a child of the pool only.

These formats unfold: a file of two kilobytes may stand for gigabytes, or keep a parser busy for ever. So nothing here
tries to be clever about it. The child's limits end what takes too much, and whoever asked is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from io import BytesIO
from typing import Any, Final
from xml.etree import ElementTree

from bullpen.apart.texts import LINE, NoTable, Part, show_rows

PAGE: Final = 20_000  # characters of one page that are shown
SHEETS: Final = 50
DOCUMENT: Final = "word/document.xml"
DOCUMENT_BYTES: Final = 64 << 20  # of the unpacked text; the child's memory bounds the rest
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

# What came of it, if there is nothing to show.
LOCKED: Final = "locked"
BROKEN: Final = "broken"


def read_pdf(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """Pages from `offset` on, each under a line that numbers it. `why`: it cannot be read."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        return {"why": LOCKED if "password" in str(error).lower() else BROKEN}, b""
    count = len(document)
    found = Part({**fields, "limit": min(fields["limit"], count)})
    found.total = min(fields["offset"] - 1, count)
    empty = 0
    for number in range(fields["offset"], count + 1):
        if len(found.kept) >= fields["limit"]:
            break
        text = _page_text(document, number - 1)
        empty += not text
        before = len(found.kept)
        found.add(f"--- page {number} of {count} ---\n{text or '(no text on this page)'}")
        if len(found.kept) == before:
            break
    shown = {"pages": count, **found.fields(), "text": "\n".join(found.kept)}
    if found.kept and empty >= len(found.kept):
        shown["scanned"] = True
    return shown, b""


def _page_text(document: Any, index: int) -> str:
    import pypdfium2

    try:
        page = document[index]
        text = page.get_textpage()
        size = text.count_chars()
        said = str(text.get_text_range(0, min(size, PAGE))) if size > 0 else ""
    except pypdfium2.PdfiumError:
        return "(this page is broken)"
    said = "\n".join(line.rstrip() for line in said.replace("\x00", "").splitlines()).strip()
    return f"{said}\n({size - PAGE:,} more characters of this page are not shown)" if size > PAGE else said


def read_workbook(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """Rows of one sheet, the first unless another is named, and the names of all sheets."""
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_filelike(BytesIO(data))
        names = list(book.sheet_names)[:SHEETS]
        name = fields.get("sheet") or (names[0] if names else "")
        if name not in names:
            return {"sheets": names, "why": "sheet"}, b""
        rows = ([_write_value(value) for value in row] for row in book.get_sheet_by_name(name).iter_rows())
        return {"sheets": names, "sheet": name, **show_rows(rows, fields)}, b""
    except python_calamine.PasswordError:
        return {"why": LOCKED}, b""
    except (python_calamine.CalamineError, NoTable, ValueError):
        return {"why": BROKEN}, b""


def _write_value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def read_word(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """The paragraphs of a Word document, as lines."""
    import zipfile

    found = Part(fields)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(DOCUMENT) as source:
            for line in _paragraphs(source):
                for start in range(0, len(line) or 1, LINE):
                    found.add(line[start : start + LINE])
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, NotImplementedError, RuntimeError, OSError, EOFError):
        return {"why": BROKEN}, b""
    return {"lines": found.total, **found.fields(), "text": "\n".join(found.kept)}, b""


def _paragraphs(source: Any) -> Iterator[str]:
    """One after another, each forgotten once it was read."""
    said: list[str] = []
    for _, element in ElementTree.iterparse(_Bounded(source)):  # noqa: S314  the child's limits hold for what it unfolds
        match element.tag.removeprefix(_WORD):
            case "t":
                said.append(element.text or "")
            case "tab":
                said.append("\t")
            case "br" | "cr":
                said.append("\n")
            case "tc":
                said.append(" | ")
            case "p":
                yield from "".join(said).splitlines() or [""]
                said.clear()
        element.clear()


class _Bounded:
    """A source that ends after so many bytes: what follows is no document that anybody wrote."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._left = DOCUMENT_BYTES

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._source.read(min(size if size >= 0 else self._left, self._left))
        self._left -= len(found)
        return found
