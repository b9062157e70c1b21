"""Draws a small picture of a picture. Imports nothing of ours, and runs in a child of the pool only.

Four formats, a number of pixels that is read from the head before anything is decoded, the first frame only. The result
is drawn anew, so that it holds nothing but pixels: no place, no camera, no profile.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

PIXELS: Final = 20_000_000
SIDE: Final = 320
FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
# What a decoder may raise over bytes that were made to break it. Not MemoryError: that ends the process.
BROKEN_PICTURE: Final[tuple[type[Exception], ...]] = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    EOFError,
    RuntimeError,
    AssertionError,
    struct.error,
    zlib.error,
)


def draw_thumbnail(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """For the pool: a picture in; the small one out, with its `type`, `width` and `height`.

    No fields: this is no picture, or one that is too large or broken.
    """
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = PIXELS
    broken: tuple[type[BaseException], ...] = (
        *BROKEN_PICTURE,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    )
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            width, height = picture.size
            if width * height > PIXELS or not width or not height:
                return {}, b""
            picture.draft("RGB", (SIDE * 2, SIDE * 2))  # a JPEG need not be decoded whole
            upright = ImageOps.exif_transpose(picture)
            return _encode(_redraw(upright))
    except broken:
        return {}, b""


def _redraw(picture: Any) -> Any:
    """Its pixels alone, small, on a fresh sheet."""
    from PIL import Image

    sees_through = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    plain = picture.convert("RGBA" if sees_through else "RGB")
    plain.thumbnail((SIDE, SIDE))
    sheet = Image.new(plain.mode, plain.size)
    sheet.paste(plain)
    return sheet


def _encode(sheet: Any) -> tuple[Mapping[str, Any], bytes]:
    out = BytesIO()
    if sheet.mode == "RGBA":
        sheet.save(out, "PNG")
        type = "image/png"
    else:
        sheet.save(out, "JPEG", quality=80)
        type = "image/jpeg"
    return {"type": type, "width": sheet.width, "height": sheet.height}, out.getvalue()
