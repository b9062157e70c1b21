"""The pictures of what woke a run, for models that take some: read when the run is driven, as many as is sensible.

Whatever is too large, no picture or not there any more is left out; its line in the transcript names it all the same.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from bullpen.errors import NotFound
from bullpen.files.types import Blobs
from bullpen.llm.types import Attachment

TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST = 5
MOST_BYTES = 3_500_000  # of one: providers refuse more than 5 MB of base64
MOST_TOGETHER = 10_000_000


def chosen(payload: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Which files of an inbox item's message are shown as pictures. Pure."""
    found: list[Mapping[str, Any]] = []
    left = MOST_TOGETHER
    for file in payload.get("attachments", ()):
        if file["type"] in TYPES and file["size"] <= min(left, MOST_BYTES) and len(found) < MOST:
            found.append(file)
            left -= file["size"]
    return found


async def load(blobs: Blobs, payload: Mapping[str, Any]) -> list[Attachment]:
    found = []
    for file in chosen(payload):
        try:
            data = b"".join([piece async for piece in blobs.read(file["id"])])
        except NotFound:
            continue
        found.append(Attachment(file["name"], file["type"], b64encode(data).decode()))
    return found
