"""A backup that holds the files too: a tar with a manifest, the database as lines, and the bytes of every file.

`manifest.json` comes first and says what is inside; `office.jsonl.gz` is what a backup without files would be; then
`files/ID` for each file that the lines tell of. Reading takes no name but these, and believes no bytes that have not
the size and hash that the lines say. Whether the whole thing has its name, and where it is put, is not known here.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import orjson

from bullpen.errors import CannotStart
from bullpen.files.thumbnails import SUFFIX
from bullpen.files.types import Blobs
from bullpen.storage.copies import Header, LineReader

FORMAT = 1
MANIFEST, LINES, FILES = "manifest.json", "office.jsonl.gz", "files/"
PIECE = 256 * 1024
BLOCK = 512
_FILE = re.compile(r"files/(fil_[a-z0-9]{2,64})(\.thumb)?\Z")
_MAGIC = (257, b"ustar")


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as the lines tell of it."""

    id: str
    size: int
    sha256: str
    small: bool  # has it a small picture?


def is_archive(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(_MAGIC[0])
        return file.read(len(_MAGIC[1])) == _MAGIC[1]


def listed(lines: Path) -> list[Listed]:
    """The files that a backup's lines tell of."""
    found = []
    with contextlib.closing(LineReader(lines)) as reader:
        for table, page in reader.pages():
            if table == "files":
                found += [Listed(r["id"], r["size"], r["sha256"], r["thumbnail"] is not None) for r in page]
    return found


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def write(
    partial: Path, lines: Path, header: Header, blobs: Blobs, told: Callable[[int, int], None] | None
) -> int:
    """All of it into `partial`; how many files had no bytes to be kept. What was dropped meanwhile is one of those."""
    files = await asyncio.to_thread(listed, lines)
    said = {"bullpen": FORMAT, "createdAt": header.created_at, "holds": {"files": True}, "files": len(files)}
    missing = 0
    with partial.open("wb") as out:
        _add(out, MANIFEST, BytesIO(orjson.dumps(said)))
        with lines.open("rb") as source:
            await asyncio.to_thread(_add, out, LINES, source)
        for number, file in enumerate(files, 1):
            missing += not await _add_blob(out, blobs, file.id, file.size)
            if file.small and (size := await blobs.size(file.id + SUFFIX)) is not None:
                await _add_blob(out, blobs, file.id + SUFFIX, size)
            if told is not None:
                told(number, len(files))
        out.write(bytes(2 * BLOCK))
    return missing


def _add(out: IO[bytes], name: str, source: IO[bytes]) -> None:
    size = source.seek(0, 2)
    source.seek(0)
    out.write(_head(name, size))
    shutil.copyfileobj(source, out, PIECE)
    out.write(bytes(-size % BLOCK))


async def _add_blob(out: IO[bytes], blobs: Blobs, id: str, size: int) -> bool:
    if await blobs.size(id) != size:
        return False
    out.write(_head(FILES + id, size))
    written = 0
    async for piece in blobs.read(id):
        await asyncio.to_thread(out.write, piece)
        written += len(piece)
    if written != size:
        raise CannotStart(f"The file {id} changed while it was copied. Try again.")
    out.write(bytes(-size % BLOCK))
    return True


def _head(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def opened(path: Path, lines: Path) -> Iterator[tuple[tarfile.TarFile, Path]]:
    """The archive, past its manifest and its lines, which are put where the caller says."""
    try:
        with tarfile.open(path, "r:") as tar:
            _check_manifest(path, tar)
            member = tar.next()
            if member is None or member.name != LINES or not member.isreg():
                raise _broken(path, "it holds no database")
            with lines.open("wb") as out:
                shutil.copyfileobj(_bytes(tar, member), out, PIECE)
            yield tar, lines
    except (tarfile.TarError, EOFError) as error:
        raise _broken(path, str(error)) from error


def _check_manifest(path: Path, tar: tarfile.TarFile) -> None:
    member = tar.next()
    if member is None or member.name != MANIFEST or not member.isreg() or member.size > 1_000_000:
        raise CannotStart(f"{path} is no backup of Bullpen.")
    try:
        said: Any = orjson.loads(_bytes(tar, member).read())
        version = said["bullpen"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise CannotStart(f"{path} is no backup of Bullpen.") from error
    if version != FORMAT:
        raise CannotStart(f"{path} has format {version}, but this Bullpen reads {FORMAT}. Install a newer one.")


def _bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(member)
    assert found is not None, "asked for a member that is no plain file"
    return found


def _broken(path: Path, why: str) -> CannotStart:
    return CannotStart(f"{path} is no whole backup: {why}. Use another one.")


async def put_back(path: Path, tar: tarfile.TarFile, lines: Path, blobs: Blobs) -> int:
    """Keep the bytes of the files that the lines tell of; how many files. Bytes that are there already are replaced."""
    wanted = {file.id: file for file in await asyncio.to_thread(listed, lines)}
    count = 0
    while (member := await asyncio.to_thread(tar.next)) is not None:
        named = _FILE.match(member.name)
        if named is None or not member.isreg():
            raise _broken(path, f"it holds {member.name[:100]!r}, which has no place in it")
        file = wanted.get(named[1])
        if file is None:
            continue
        id = named[1] + (named[2] or "")
        kept = await blobs.keep(id, _pieces(_bytes(tar, member)), most=member.size)
        if named[2] is None:
            count += 1
            if (kept.size, kept.sha256) != (file.size, file.sha256):
                await blobs.drop(id)
                raise _broken(path, f"the file {id} in it was changed")
    return count


async def _pieces(source: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(source.read, PIECE):
        yield piece
