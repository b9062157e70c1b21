"""What is in a file, as a model reads it: a part of its text, or a picture small enough to look at.

What bytes are is told by the bytes. A small text is read here, in a thread; everything else by a child process
(apart/), one file at a time, so that no file can take more than a child may. Whose file it is, and whether anybody may
read it, is decided by those who call.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bullpen.apart import texts
from bullpen.apart.pool import Answer, ApartFailed, ProcessPool
from bullpen.errors import ToolFailed
from bullpen.files import rules
from bullpen.files.blobs import in_thread
from bullpen.files.rules import Way
from bullpen.files.types import HEAD_BYTES

CHARACTERS = 20_000  # of an answer
WHAT_FITS = 1_000_000  # more lines, rows or pages than an answer holds
MOST_BYTES = 64 << 20  # a larger file is not read
SMALL = 256 * 1024  # read here: to start a child takes longer
IN_MEMORY = 1 << 20
PIECE = 1 << 18
SECONDS = 10
MEGABYTES = 768
PICTURE_BYTES = 3_500_000  # of one that is shown: providers refuse more
DRAWN = 16  # pictures that are remembered
TOO_DEAR = "This file takes too much time or memory to be read here."

_FUNCTIONS: dict[Way, str] = {
    "text": "read_text",
    "table": "read_table",
    "pdf": "read_pdf",
    "picture": "draw_for_model",
    "workbook": "read_workbook",
    "word": "read_word",
}


class Contents(BaseModel):
    """What a child says of a file. The file may have taken the child over, so this is checked."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    text: str = Field(default="", max_length=CHARACTERS * 10)
    first: int = Field(default=1, alias="from", ge=1)
    last: int = Field(default=0, alias="to", ge=0)
    lines: int | None = Field(default=None, ge=0)
    rows: int | None = Field(default=None, ge=0)
    pages: int | None = Field(default=None, ge=0)
    columns: int | None = Field(default=None, ge=0)
    width: int | None = Field(default=None, ge=1)
    height: int | None = Field(default=None, ge=1)
    encoding: str = Field(default="", max_length=20)
    scanned: bool = False
    sheet: str = Field(default="", max_length=255)
    sheets: list[str] = Field(default_factory=list, max_length=100)
    why: str = Field(default="", max_length=20)


@dataclass(frozen=True, slots=True)
class Wish:
    """Which part of a file: lines, rows or pages, the first of which is 1."""

    offset: int = 1
    limit: int = WHAT_FITS
    sheet: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        return {"offset": self.offset, "limit": self.limit, "characters": CHARACTERS, "sheet": self.sheet}


@dataclass(frozen=True, slots=True)
class Reading:
    type: str  # what the bytes look like
    size: int
    sha256: str
    way: Way | None  # None: there is nothing to read in it
    contents: Contents


def refuse_size(size: int) -> str | None:
    """Why a file of so many bytes is not read, if it is not."""
    return f"It is larger than {rules.size_of(MOST_BYTES)}, so it is not read here." if size > MOST_BYTES else None


class Reader:
    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool
        self._drawn: OrderedDict[str, bytes] = OrderedDict()

    async def read(self, name: str, pieces: AsyncIterator[bytes], wish: Wish) -> Reading:
        """Raises ToolFailed if it cannot be read, and whatever the pieces raise."""
        async with _gathered(pieces) as source:
            way = rules.way_to_read(name, source.head, source.size)
            contents = Contents() if way is None else await self._read(way, source, wish)
            if way == "table" and contents.columns is None:
                way, contents = "text", await self._read("text", source, wish)
            return Reading(rules.type_of(source.head, source.size), source.size, source.sha256, way, contents)

    async def draw(self, pieces: AsyncIterator[bytes], sha256: str) -> bytes | None:
        """The picture as a model is shown it, a JPEG; None: it is another by now, or none at all.

        Its bytes are read even if the drawing is remembered: what was deleted is shown to nobody.
        """
        async with _gathered(pieces) as source:
            if source.sha256 != sha256 or rules.type_of(source.head, source.size) not in rules.PICTURES:
                return None
            if sha256 not in self._drawn:
                await self._read("picture", source, Wish())
        return self._drawn.get(sha256)

    async def _read(self, way: Way, source: _Source, wish: Wish) -> Contents:
        try:
            if way in ("text", "table") and source.size <= SMALL:
                fields = await asyncio.to_thread(_read_here, way, source.file, wish)
                return Contents.model_validate(fields)
            answer = await self._ask(way, source, wish)
            if way == "picture":
                self._remember(source.sha256, answer)
            return Contents.model_validate(answer.fields)
        except ApartFailed:
            raise ToolFailed(TOO_DEAR) from None
        except ValidationError:
            raise ToolFailed("This file cannot be read: it is broken.") from None

    async def _ask(self, way: Way, source: _Source, wish: Wish) -> Answer:
        async with self._pool.large:
            await in_thread(lambda: source.file.seek(0))
            return await self._pool.run(
                _FUNCTIONS[way], wish.fields, _pieces(source.file), seconds=SECONDS, megabytes=MEGABYTES
            )

    def _remember(self, sha256: str, answer: Answer) -> None:
        if not answer.data.startswith(b"\xff\xd8\xff") or len(answer.data) > PICTURE_BYTES:
            return
        self._drawn[sha256] = answer.data
        if len(self._drawn) > DRAWN:
            self._drawn.popitem(last=False)


@dataclass(slots=True)
class _Source:
    """All bytes of a file, read in full before anybody works on them: the storage may be far away."""

    file: IO[bytes]
    size: int = 0
    sha256: str = ""
    head: bytes = b""


@asynccontextmanager
async def _gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[_Source]:
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
        source, hashed = _Source(file), hashlib.sha256()

        def add(piece: bytes) -> None:
            file.write(piece)
            hashed.update(piece)

        async for piece in pieces:
            source.size += len(piece)
            if (refused := refuse_size(source.size)) is not None:  # it has grown meanwhile
                raise ToolFailed(refused)
            if len(source.head) < HEAD_BYTES:
                source.head += piece[: HEAD_BYTES - len(source.head)]
            await in_thread(lambda piece=piece: add(piece))  # type: ignore[misc]
        source.sha256 = hashed.hexdigest()
        yield source


def _read_here(way: Way, file: IO[bytes], wish: Wish) -> Any:
    file.seek(0)
    data = file.read()
    fields, _ = (texts.read_table if way == "table" else texts.read_text)(wish.fields, data)
    return fields


async def _pieces(source: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await in_thread(lambda: source.read(PIECE)):
        yield piece
