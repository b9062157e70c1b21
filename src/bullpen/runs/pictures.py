"""The pictures and documents of what a run was told, for models that take some: as many as is sensible.

They are read when the run is driven and when something comes in meanwhile, from the oldest message on, so that what was
shown once is shown in every step. Whatever is too large, of no such kind, locked or not there any more is left out; its
line in the transcript names it all the same.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bullpen.errors import NotFound
from bullpen.files.types import Blobs
from bullpen.llm.types import Attachment

DOCUMENT = "application/pdf"
TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", DOCUMENT})
MOST = 5
MOST_BYTES = 3_500_000  # of one: providers refuse more than 5 MB of base64
MOST_TOGETHER = 10_000_000

Pictures: TypeAlias = Mapping[str, Sequence[Attachment]]  # by the message that shows them


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
