"""Bytes on a local disk: `files/ab/fil_…ab`, only for this user, whole or not there.

What comes is written to `files/partial/` first, synced, and then renamed to where it belongs: a kill at any moment
leaves a partial, which the sweep removes, and never half a file. All work on the disk is done by threads, in pieces
of a quarter of a megabyte, so that neither the loop nor the memory notices how large a file is.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from bullpen.errors import Broken, DiskFull, NotFound, TooLarge, Unavailable
from bullpen.files.types import HEAD_BYTES, Kept

PIECE = 256 * 1024
PARTIAL = "partial"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# No id is ever made of anything else, so that none can name another place.
_ID = re.compile(r"[a-z]+_[a-z0-9]{2,64}(\.thumb)?\Z")

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Done by a thread. Whoever is cancelled meanwhile waits for it: what it works on must not be closed under it."""
    under_way = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:
        await asyncio.wait([under_way])
        raise


class DiskBlobs:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, id: str) -> Path:
        if not _ID.match(id):
            raise Broken(f"{id!r} is no id of a file.")
        return self._folder / id.removesuffix(".thumb")[-2:] / id

    async def keep(self, id: str, pieces: AsyncIterator[bytes], *, most: int) -> Kept:
        partial = await in_thread(lambda: _told(lambda: _Partial(self._folder, self._path(id))))
        try:
            gathered = bytearray()
            async for piece in pieces:
                gathered += piece
                if partial.size + len(gathered) > most:
                    raise TooLarge(f"The file is larger than {most} bytes.")
                if len(gathered) >= PIECE:
                    data, gathered = gathered, bytearray()
                    await in_thread(lambda data=data: _told(lambda: partial.write(data)))  # type: ignore[misc]
            return await in_thread(lambda: _told(lambda: partial.finish(gathered)))
        finally:
            await in_thread(partial.remove)  # nothing, if it has its name by now

    async def read(self, id: str, start: int = 0) -> AsyncIterator[bytes]:
        path = self._path(id)
        file = await in_thread(lambda: _opened(path))
        try:
            while piece := await in_thread(lambda at=start: _told(lambda: os.pread(file, PIECE, at))):  # type: ignore[misc]
                start += len(piece)
                yield piece
        finally:
            os.close(file)

    async def size(self, id: str) -> int | None:
        path = self._path(id)
        return await in_thread(lambda: _size(path))

    async def drop(self, id: str) -> None:
        path = self._path(id)
        await in_thread(lambda: _told(lambda: path.unlink(missing_ok=True)))

    async def ids(self, *, idle: float = 0) -> AsyncIterator[str]:
        before = time.time() - idle
        for folder in await in_thread(lambda: _folders(self._folder)):
            for id in await in_thread(lambda folder=folder: _older(folder, before)):  # type: ignore[misc]
                if _ID.match(id):
                    yield id

    async def tidy(self, *, idle: float) -> int:
        return await in_thread(lambda: _remove_older(self._folder / PARTIAL, time.time() - idle))


# ── what threads do ─────────────────────────────────────────────────────────────────────────────────────────────────


class _Partial:
    """A file that has no name yet."""

    def __init__(self, folder: Path, path: Path) -> None:
        self._path = path
        _make(folder / PARTIAL)
        # Whoever tries the same id again, after a crash or at once, must not meet what the other has begun.
        self._partial = folder / PARTIAL / f"{path.name}.{secrets.token_hex(4)}"
        self._file = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._sum = sha256()
        self._head = b""
        self.size = 0

    def write(self, data: bytes | bytearray) -> None:
        self._sum.update(data)
        if len(self._head) < HEAD_BYTES:
            self._head += bytes(data[: HEAD_BYTES - len(self._head)])
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]
        self.size += len(data)

    def finish(self, data: bytes | bytearray) -> Kept:
        self.write(data)
        os.fsync(self._file)
        os.close(self._file)
        self._file = -1
        _make(self._path.parent)
        self._partial.rename(self._path)
        _sync(self._path.parent)
        return Kept(self.size, self._sum.hexdigest(), self._head)

    def remove(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        with contextlib.suppress(OSError):  # the sweep tries again
            self._partial.unlink(missing_ok=True)


def _told(work: Callable[[], T]) -> T:
    """What went wrong with the disk, as an error of ours."""
    try:
        return work()
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull("There is no room left on the disk for this file, so it was not kept.") from error
        raise Unavailable(f"The disk does not take or give this file: {error.strerror or error}.") from error


def _make(folder: Path) -> None:
    """A folder only for us, and durable."""
    for each in (folder.parent, folder):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700, parents=each is folder.parent)
            _sync(each.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFound("There are no bytes for this file.") from None
    except OSError as error:
        raise Unavailable(f"The disk does not give this file: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise NotFound("There are no bytes for this file.")
    return file


def _size(path: Path) -> int | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if len(each.name) == 2)
    except FileNotFoundError:
        return []


def _entries(folder: Path, before: float) -> Iterator[os.DirEntry[str]]:
    """Files in it that nobody has written to since then."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                    if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime <= before:
                        yield entry
    except (FileNotFoundError, NotADirectoryError):
        return


def _older(folder: Path, before: float) -> list[str]:
    return sorted(entry.name for entry in _entries(folder, before))


def _remove_older(folder: Path, before: float) -> int:
    removed = 0
    for entry in list(_entries(folder, before)):
        with contextlib.suppress(FileNotFoundError):
            Path(entry.path).unlink()
            removed += 1
    return removed
