"""The pictures and documents of what a run was told or has read, for models that take some: as many as is sensible.

They are read when the run is driven and when something comes in meanwhile, from the oldest message on, so that what was
shown once is shown in every step. Whatever is too large, of no such kind, locked or not there any more is left out; its
line in the transcript names it all the same. A picture that a tool has read is not kept in the journal: its hash is,
and it is read again from where it is, so that nothing is shown of a file that was deleted or changed since.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeAlias

import orjson

from bullpen.errors import BullpenError, NotFound
from bullpen.files.types import Blobs
from bullpen.llm.types import Attachment
from bullpen.runs.types import Entry
from bullpen.tools.types import Means

logger = logging.getLogger("bullpen.runs")

DOCUMENT = "application/pdf"
TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", DOCUMENT})
MOST = 5
MOST_BYTES = 3_500_000  # of one: providers refuse more than 5 MB of base64
MOST_TOGETHER = 10_000_000

MOST_READ = 10  # pictures that the tools of one run have read
JPEG = "image/jpeg"

Pictures: TypeAlias = Mapping[str, Sequence[Attachment]]  # by the message that shows them, or the call that gave them


def chosen(payloads: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Which files of inbox items are shown, each with its message. Pure."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    left = MOST_TOGETHER
    for payload in payloads:
        for file in payload.get("attachments", ()):
            if file["type"] in TYPES and file["size"] <= min(left, MOST_BYTES) and len(found) < MOST:
                found.append((str(payload.get("messageId")), file))
                left -= file["size"]
    return found


async def load(blobs: Blobs, payloads: Sequence[Mapping[str, Any]]) -> Pictures:
    found: dict[str, list[Attachment]] = {}
    for message_id, file in chosen(payloads):
        try:
            data = b"".join([piece async for piece in blobs.read(file["id"])])
        except NotFound:
            continue
        if file["type"] != DOCUMENT or is_open(data):
            shown = Attachment(file["name"], file["type"], b64encode(data).decode())
            found.setdefault(message_id, []).append(shown)
    return found


def is_open(document: bytes) -> bool:
    """Can anybody read it? Providers refuse the whole question for one that is locked or none at all."""
    return b"%PDF-" in document[:1024] and b"/Encrypt" not in document


# ── what tools have read ────────────────────────────────────────────────────────────────────────────────────────────


def read_by(entries: Sequence[Entry]) -> list[Entry]:
    """The results that a picture belongs to, as far as they are shown: the first ones of the run. Pure."""
    return [entry for entry in entries if entry.shows is not None][:MOST_READ]


def name_of(entry: Entry) -> str:
    said = orjson.loads(entry.result or "{}")
    return str(said.get("name") or said.get("path") or "picture")


def file_of(entry: Entry) -> str | None:
    """The id of the file, if the picture is not one of the own folder."""
    found: str | None = orjson.loads(entry.result or "{}").get("fileId")
    return found


async def load_read(
    means: Means, folder_id: str, entries: Sequence[Entry], known: Pictures, there: Set[str]
) -> Pictures:
    """`known`, and the pictures of results that are not among them yet. `there` are the files that still exist."""
    found = dict(known)
    for entry in read_by(entries):
        if entry.call_id is not None and entry.call_id not in found:
            data = await _read_again(means, folder_id, entry, there)
            shown = [] if data is None else [Attachment(name_of(entry), JPEG, b64encode(data).decode())]
            found[entry.call_id] = shown
    return found


async def _read_again(means: Means, folder_id: str, entry: Entry, there: Set[str]) -> bytes | None:
    file_id = file_of(entry)
    if file_id is not None and file_id not in there:
        return None
    try:
        if file_id is not None:
            pieces = means.blobs.read(file_id)
        else:
            path = str(orjson.loads(entry.result or "{}").get("path"))
            pieces = means.folders.pieces(folder_id, path)
        return await means.reader.draw(pieces, entry.shows or "")
    except BullpenError as error:
        logger.info("a picture that was read is not shown again: %s", error)
        return None
