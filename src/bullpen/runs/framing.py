"""Text from outside the office in a transcript: marked as that, in a frame that it cannot leave. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bullpen.tools.outside import together

_MARK = re.compile(r"<(?=\s*/?\s*outside)", re.IGNORECASE)


def framed(text: str, sources: Iterable[str], id: str) -> str:
    """Text from outside, marked as that. `id` is one that its author could not know when it was written, so that
    nothing in it can end the frame or begin another; what looks as if it did is changed."""
    return framed_by(text, ",".join(together(sources)), id)


def framed_by(text: str, named: str, id: str) -> str:
    safe = _MARK.sub("&lt;", text) if "<" in text else text
    return f'<outside id="{id}" source="{named}">{safe}</outside id="{id}">'
