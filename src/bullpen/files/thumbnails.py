"""Small pictures of pictures, to show without the large ones.

Decoding what somebody uploaded is the most dangerous thing done to it, so a child process does it (apart/pictures.py),
one large piece of work at a time. Whatever goes wrong, there is no thumbnail, and that is all.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator
from typing import IO

from bullpen.apart.pool import ApartFailed, ProcessPool
from bullpen.errors import BullpenError
from bullpen.files import rules
from bullpen.files.blobs import in_thread
from bullpen.files.types import Blobs
from bullpen.wire.nouns import Thumbnail

logger = logging.getLogger("bullpen.files")

SOURCE_BYTES = 32 << 20
SUFFIX = ".thumb"
IN_MEMORY = 1 << 20
PIECE = 1 << 18
TYPES = ("image/jpeg", "image/png")
# The largest picture that is drawn takes up to 480 MB and three seconds.
SECONDS = 10
MEGABYTES = 768


class Thumbnails:
    def __init__(self, blobs: Blobs, pool: ProcessPool) -> None:
        self._blobs = blobs
        self._pool = pool

    async def make(self, id: str, type: str, size: int) -> Thumbnail | None:
        """Keep a small picture of this file, if it is a picture that can be shown small."""
        if type not in rules.PICTURES or size > SOURCE_BYTES:
            return None
        async with self._pool.large:
            try:
                found = await self._draw(id)
                if found is None:
                    return None
                thumbnail, data = found
                await self._blobs.keep(id + SUFFIX, _once(data), most=len(data))
            except (BullpenError, OSError, ApartFailed) as error:
                logger.warning("no thumbnail for %s: %s", id, error)
                return None
        return thumbnail

    async def _draw(self, id: str) -> tuple[Thumbnail, bytes] | None:
        # Read in full first: the storage may be far away, and a child that waits for it helps nobody.
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as source:
            async for piece in self._blobs.read(id):
                await in_thread(lambda piece=piece: source.write(piece))  # type: ignore[misc]
            source.seek(0)
            answer = await self._pool.run("draw_thumbnail", data=_pieces(source), seconds=SECONDS, megabytes=MEGABYTES)
        # The picture may have taken the child over, and browsers show this: only what is known to be harmless.
        if answer.fields.get("type") not in TYPES:
            return None
        return Thumbnail.model_validate(answer.fields), answer.data


async def _pieces(source: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await in_thread(lambda: source.read(PIECE)):
        yield piece


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
