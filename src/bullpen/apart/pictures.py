"""Draws a picture smaller: for a page that shows many, or for a model that looks at one. Imports nothing of ours.

It runs in a child of the pool only. Four formats, a number of pixels that is read from the head before anything is
decoded, the first frame only. The result is drawn anew, so that it holds nothing but pixels: no place, no camera, no
profile.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

PIXELS: Final = 20_000_000
SIDE: Final = 320
MODEL_SIDE: Final = 1568  # pixels; models scale what is larger down themselves
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
    found = _draw(data, SIDE)
    return ({}, b"") if found is None else _encode(found[0])


def draw_for_model(fields: Mapping[str, Any], data: bytes) -> tuple[Mapping[str, Any], bytes]:
    """The same, as large as models look at and always a JPEG. `width` and `height` are what the picture has itself."""
    found = _draw(data, MODEL_SIDE)
    if found is None:
        return {}, b""
    sheet, (width, height) = found
    out = BytesIO()
    _on_white(sheet).save(out, "JPEG", quality=85)
    return {"type": "image/jpeg", "width": width, "height": height}, out.getvalue()


def _draw(data: bytes, side: int) -> tuple[Any, tuple[int, int]] | None:
    """The picture upright, on a fresh sheet, at most so large; and its own size."""
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
                return None
            picture.draft("RGB", (side * 2, side * 2))  # a JPEG need not be decoded whole
            upright = ImageOps.exif_transpose(picture)
            turned = (upright.width > upright.height) != (picture.width > picture.height)
            return _redraw(upright, side), (height, width) if turned else (width, height)
    except broken:
        return None


def _redraw(picture: Any, side: int) -> Any:
    """Its pixels alone, small, on a fresh sheet."""
    from PIL import Image

    sees_through = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    plain = picture.convert("RGBA" if sees_through else "RGB")
    plain.thumbnail((side, side))
    sheet = Image.new(plain.mode, plain.size)
    sheet.paste(plain)
    return sheet


def _on_white(sheet: Any) -> Any:
    """Without transparency: what can be seen through would be black in a JPEG."""
    from PIL import Image

    if sheet.mode != "RGBA":
        return sheet
    white = Image.new("RGB", sheet.size, "white")
    white.paste(sheet, mask=sheet.getchannel("A"))
    return white


def _encode(sheet: Any) -> tuple[Mapping[str, Any], bytes]:
    out = BytesIO()
    if sheet.mode == "RGBA":
        sheet.save(out, "PNG")
        type = "image/png"
    else:
        sheet.save(out, "JPEG", quality=80)
        type = "image/jpeg"
    return {"type": type, "width": sheet.width, "height": sheet.height}, out.getvalue()
