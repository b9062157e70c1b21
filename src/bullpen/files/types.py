"""The port behind which bytes are kept, and a file as the server knows it.

`Blobs` has one implementation for a disk (blobs.py) and one for S3-compatible storage (s3.py). What an id means, who
may read it and how much anybody may keep is decided above the port: it knows ids and bytes, nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

# How much of the beginning is handed back, for telling the type of a file by its bytes.
HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of keeping a stream of bytes."""

    size: int
    sha256: str
    head: bytes  # the first HEAD_BYTES, or all if there are fewer


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is kept for a space, or for whoever has it while it is in none."""

    bytes: int
    files: int


# Whose count a file is in: `space`, `person` or `agent`, and the id.
Counter: TypeAlias = tuple[str, str]


class Blobs(Protocol):
    """Where bytes are. An id is that of a file, or of its small picture: `fil_…` or `fil_….thumb`."""

    async def keep(self, id: str, pieces: AsyncIterator[bytes], *, most: int) -> Kept:
        """Keep all the pieces under this id, or nothing: nobody sees it before it is whole and durable.

        TooLarge after `most` bytes. If that, the pieces or anything else fails, or the caller is cancelled, nothing
        stays.
        """

    def read(self, id: str, start: int = 0) -> AsyncIterator[bytes]:
        """The bytes from `start` on, piece by piece. NotFound, at the first piece, if there are none of this id."""

    async def size(self, id: str) -> int | None:
        """How many bytes there are; None if nothing is kept under this id."""

    async def drop(self, id: str) -> None:
        """Forget the bytes. Of what is not there, nothing needs to be forgotten."""

    def ids(self, *, idle: float = 0) -> AsyncIterator[str]:
        """Everything that is kept, if nothing was written to it for `idle` seconds: for the sweep."""

    async def tidy(self, *, idle: float) -> int:
        """Remove what was begun and never finished, if nobody went on with it for `idle` seconds; how many."""
