"""What travels between the server and a child: JSON, then bytes. Nothing that is read here becomes code.

A frame is a length and that many bytes of JSON, then pieces of data, each after its length. A length of 0 ends it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

import orjson

LENGTH: Final = struct.Struct(">I")
END: Final = LENGTH.pack(0)
NO_MEMORY: Final = 77  # the exit status of a child that got no more memory


def pack_fields(fields: Mapping[str, Any]) -> bytes:
    return pack_piece(orjson.dumps(fields))


def pack_piece(piece: bytes) -> bytes:
    return LENGTH.pack(len(piece)) + piece


def read_piece(source: IO[bytes]) -> bytes:
    """The next piece; empty at the end of a frame, and at the end of the source."""
    (length,) = LENGTH.unpack(source.read(LENGTH.size) or END)
    return source.read(length)


def read_pieces(source: IO[bytes]) -> Iterator[bytes]:
    while piece := read_piece(source):
        yield piece
