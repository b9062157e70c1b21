"""Decompressing an answer piece by piece, so that a small answer cannot become a large one in memory.

No piece that comes out is longer than PIECE; whoever reads counts them and stops when it is enough.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator

from bullpen.errors import EgressFailed

PIECE = 64 * 1024
ENCODINGS = "gzip, deflate"  # what we say we understand

_GZIP = b"\x1f\x8b"


class Decompressor:
    """For `Content-Encoding: gzip` and `deflate`. The latter often comes, wrongly, without its header."""

    def __init__(self) -> None:
        self._held = b""  # of a header that has not come whole
        self._members = 0
        self._inflate: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from self._pieces(data)
        except zlib.error:
            raise EgressFailed("The answer is said to be compressed, yet it is not.", sent=True) from None

    def finish(self) -> None:
        """Raises EgressFailed if the compressed data ended in the middle."""
        if self._inflate is not None or (self._held and not self._members):
            raise EgressFailed("The answer ended before its compressed data did.", sent=True)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inflate is None and not self._begin(data):
                return
            data, self._held = self._held + data, b""
            data = yield from self._member(data)

    def _begin(self, data: bytes) -> bool:
        """A new member, once its first two bytes are there. What follows the last one and is none is thrown away."""
        head = (self._held + data)[:2]
        if len(head) < 2:
            self._held = head
            return False
        if self._members and head != _GZIP:
            return False
        self._inflate = zlib.decompressobj(_window(head))
        return True

    def _member(self, data: bytes) -> Generator[bytes, None, bytes]:
        """Generates the pieces of this member; its value is what follows it."""
        inflate = self._inflate
        assert inflate is not None
        while data and not inflate.eof:
            if piece := inflate.decompress(data, PIECE):
                yield piece
            data = inflate.unconsumed_tail
        while not inflate.eof and (piece := inflate.decompress(b"", PIECE)):  # what zlib itself held back
            yield piece
        if inflate.eof:
            self._inflate = None
            self._members += 1
        return inflate.unused_data


def _window(head: bytes) -> int:
    if head == _GZIP:
        return 16 + zlib.MAX_WBITS
    has_zlib_header = head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0
    return zlib.MAX_WBITS if has_zlib_header else -zlib.MAX_WBITS
