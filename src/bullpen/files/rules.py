"""What a file may be called, what its bytes look like, and how much may be kept. Pure.

A name is for people: it never becomes a path. A type is told by the bytes alone, from a short list; nothing that a
browser would run is on it, so a page or a drawing that holds scripts is plain text.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from bullpen.errors import QuotaExceeded
from bullpen.files.types import Counter, Usage
from bullpen.settings import FileSettings

# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────────

NAME_BYTES = 200
EXTENSION_BYTES = 20
NAMELESS = "file"
_SPACES = re.compile(r"\s+")


def clean_name(name: str) -> str:
    """What is shown of a name that somebody gave: its last part, on one line, without signs that nobody sees."""
    last = re.split(r"[/\\]", name.replace("\x00", "/"))[-1]
    kept = "".join(sign for sign in unicodedata.normalize("NFC", last) if _is_shown(sign))
    kept = _SPACES.sub(" ", kept).strip(" .")  # some systems drop trailing dots, and then it is another name
    return _cut(kept) or NAMELESS


def _is_shown(sign: str) -> bool:
    # Cc: control. Cf: invisible, among them those that turn around what follows, so that "exe" reads as "gpj"; the two
    # joiners are needed to write some languages and emoji. Cs: half a character.
    kind = unicodedata.category(sign)
    if kind in ("Cs", "Co", "Cn", "Zl", "Zp"):
        return False
    return (kind != "Cc" or sign.isspace()) and (kind != "Cf" or sign in "\u200c\u200d")


def _cut(name: str) -> str:
    if len(name.encode()) <= NAME_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or len(extension.encode()) > EXTENSION_BYTES:
        stem, dot, extension = name, "", ""
    room = NAME_BYTES - len((dot + extension).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(" .") + dot + extension


def disposition(name: str, how: str = "attachment") -> str:
    """The header that gives a download its name, for old readers and for those that know RFC 6266."""
    plain = re.sub(r"[^ !#$&-\[\]-~]", "_", name)  # printable ASCII without quote, percent and backslash
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


# ── types ───────────────────────────────────────────────────────────────────────────────────────────────────────────

UNKNOWN = "application/octet-stream"
TEXT = "text/plain"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BEGINNINGS: Sequence[tuple[bytes, str]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF: Mapping[bytes, str] = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
# What no text holds: control characters other than tab, line feed, form feed, carriage return and escape.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


def type_of(head: bytes, size: int) -> str:
    """What these bytes look like. `head` is their beginning, `size` how many there are in all."""
    for beginning, type in _BEGINNINGS:
        if head.startswith(beginning):
            return type
    if head.startswith(b"RIFF") and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return TEXT if _is_text(head, whole=size <= len(head)) else UNKNOWN


def _is_text(head: bytes, *, whole: bool) -> bool:
    if _NO_TEXT.search(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return False
    return True


# ── what can be read ──────────────────────────────────────────────────────────────────────────────────────────────────

Way = Literal["text", "table", "pdf", "picture", "workbook", "word"]
PDF = "application/pdf"
_MARKED = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TABLES = (".csv", ".tsv", ".tab")
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".ods")
_MOST_ODD = 0.01  # of the bytes of a text in an old encoding


def way_to_read(name: str, head: bytes, size: int) -> Way | None:
    """How these bytes can be read; None: they hold no text and are no picture. The name decides among what is left."""
    type, name = type_of(head, size), name.lower()
    if type in PICTURES:
        return "picture"
    if type == PDF:
        return "pdf"
    if type == "application/zip":
        return "workbook" if name.endswith(_WORKBOOKS) else "word" if name.endswith(".docx") else None
    if head.startswith(_OLD_OFFICE):
        return "workbook" if name.endswith(".xls") else None
    if type == TEXT or (type == UNKNOWN and _is_old_text(head)):
        return "table" if name.endswith(_TABLES) else "text"
    return None


def _is_old_text(head: bytes) -> bool:
    """No UTF-8, but hardly any byte in it that no text holds; or it says itself that it is text."""
    if head.startswith(_MARKED):
        return True
    return b"\x00" not in head and len(_NO_TEXT.findall(head)) <= len(head) * _MOST_ODD


# ── how much ────────────────────────────────────────────────────────────────────────────────────────────────────────

FOREVER = 2**62


def counter_of(space_id: str | None, owner_kind: str, owner_id: str) -> Counter:
    return (owner_kind, owner_id) if space_id is None else ("space", space_id)


def bounds(counter: Counter, limits: FileSettings | None) -> Usage:
    """The most that may be kept for this space, person or agent."""
    if limits is None:
        return Usage(FOREVER, FOREVER)
    if counter[0] == "space":
        return Usage(limits.space_bytes or FOREVER, limits.space_files or FOREVER)
    return Usage(limits.person_bytes or FOREVER, limits.person_files or FOREVER)


def room_left(counter: Counter, used: Usage, limits: FileSettings) -> int:
    """How many bytes one more file may have. QuotaExceeded if not even an empty one fits."""
    most = bounds(counter, limits)
    if used.files >= most.files:
        raise quota_exceeded(counter, limits)
    return max(0, most.bytes - used.bytes)


def quota_exceeded(counter: Counter, limits: FileSettings | None) -> QuotaExceeded:
    most = bounds(counter, limits)
    whose = f"The space {counter[1]!r}" if counter[0] == "space" else "What you have in no space"
    return QuotaExceeded(
        f"{whose} may hold {most.files} files and {size_of(most.bytes)}, and this would be more. Delete files, or "
        "messages that show them; the owner can raise the limit."
    )


def size_of(count: int) -> str:
    """A number of bytes as people say it."""
    for unit, step in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= step:
            return f"{count / step:.1f} {unit}".replace(".0 ", " ")
    return f"{count} bytes"
