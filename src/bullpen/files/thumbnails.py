"""Small pictures of pictures, to show without the large ones.

Decoding what somebody uploaded is the most dangerous thing done to it, so it is bounded on every side: four formats, a
number of pixels that is read from the head before anything is decoded, one at a time, the first frame only. The result
is drawn anew, so that it holds nothing but pixels: no place, no camera, no profile. Whatever goes wrong, there is
no thumbnail, and that is all. Pillow is imported when the first picture comes.
"""

from __future__ import annotations

import asyncio
import logging
import struct
import tempfile
import zlib
from collections.abc import AsyncIterator
from io import BytesIO
from typing import IO, Any

from bullpen.errors import BullpenError
from bullpen.files import rules
from bullpen.files.blobs import in_thread
from bullpen.files.types import Blobs
from bullpen.wire.nouns import Thumbnail

logger = logging.getLogger("bullpen.files")

PIXELS = 20_000_000
SIDE = 320
SOURCE_BYTES = 32 << 20
SUFFIX = ".thumb"
IN_MEMORY = 1 << 20
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
# What a decoder may raise over bytes that were made to break it.
BROKEN_PICTURE: tuple[type[Exception], ...] = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    EOFError,
    MemoryError,
    RuntimeError,
    AssertionError,
    struct.error,
    zlib.error,
)


class Thumbnails:
    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._turn = asyncio.Lock()  # one at a time: each may take a hundred megabytes for a moment

    async def make(self, id: str, type: str, size: int) -> Thumbnail | None:
        """Keep a small picture of this file, if it is a picture that can be shown small."""
        if type not in rules.PICTURES or size > SOURCE_BYTES:
            return None
        async with self._turn:
            try:
                found = await self._draw(id)
                if found is None:
                    return None
                thumbnail, data = found
                await self._blobs.keep(id + SUFFIX, _once(data), most=len(data))
            except (BullpenError, OSError) as error:
                logger.warning("no thumbnail for %s: %s", id, error)
                return None
        return thumbnail

    async def _draw(self, id: str) -> tuple[Thumbnail, bytes] | None:
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as source:
            async for piece in self._blobs.read(id):
                await in_thread(lambda piece=piece: source.write(piece))  # type: ignore[misc]
            source.seek(0)
            return await in_thread(lambda: drawn(source))


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data


def drawn(source: IO[bytes]) -> tuple[Thumbnail, bytes] | None:
    """The small picture and what to say of it. None if this is no picture, or one that is too large or broken."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = PIXELS
    broken: tuple[type[BaseException], ...] = (
        *BROKEN_PICTURE,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    )
    try:
        with Image.open(source, formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > PIXELS or not width or not height:
                return None
            picture.draft("RGB", (SIDE * 2, SIDE * 2))  # a JPEG need not be decoded whole
            upright = ImageOps.exif_transpose(picture)
            return _encoded(_redrawn(upright))
    except broken as error:
        logger.info("a picture cannot be shown small: %s", error)
        return None


def _redrawn(picture: Any) -> Any:
    """Its pixels alone, small, on a fresh sheet."""
    from PIL import Image

    sees_through = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    plain = picture.convert("RGBA" if sees_through else "RGB")
    plain.thumbnail((SIDE, SIDE))
    sheet = Image.new(plain.mode, plain.size)
    sheet.paste(plain)
    return sheet


def _encoded(sheet: Any) -> tuple[Thumbnail, bytes]:
    out = BytesIO()
    if sheet.mode == "RGBA":
        sheet.save(out, "PNG")
        type = "image/png"
    else:
        sheet.save(out, "JPEG", quality=80)
        type = "image/jpeg"
    return Thumbnail(type=type, width=sheet.width, height=sheet.height), out.getvalue()
