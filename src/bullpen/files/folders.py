"""The folders of all threads, for code that must not wait for a disk: each piece of work is done in a thread.

Knows which folder is whose, how much each holds, and what to sweep away. What may be done in one is `folder.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from bullpen.errors import Broken
from bullpen.files import descent
from bullpen.files.folder import PARTIAL, PIECE, PLAIN, Folder, Usage, Written, discard, take_apart
from bullpen.settings import FolderSettings

logger = logging.getLogger("bullpen.files")

FEW = 20  # folders that may always go
MOST_COUNTED = 1024  # folders whose usage is remembered

_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")

T = TypeVar("T")


class Folders:
    """The folders of all threads, for code that must not wait for a disk. Nothing is made before it is needed."""

    def __init__(
        self, root: Path, limits: FolderSettings | None = None, *, descend: descent.Descend | None = None
    ) -> None:
        self._root = root
        self._limits = limits or FolderSettings()
        self._descend = descend
        self._usages: OrderedDict[str, Usage] = OrderedDict()
        self._lock = threading.Lock()

    def folder(self, thread_id: str) -> Folder:
        """To be closed. Blocks, as all that a Folder does: from async code, ask `use`."""
        return Folder(
            self._root, _checked(thread_id), self._usage(thread_id), self._limits, self._descend or descent.best()
        )

    def _usage(self, thread_id: str) -> Usage:
        with self._lock:
            usage = self._usages.setdefault(thread_id, Usage())
            self._usages.move_to_end(thread_id)
            if len(self._usages) > MOST_COUNTED:
                self._usages.popitem(last=False)
            return usage

    async def use(self, thread_id: str, work: Callable[[Folder], T]) -> T:
        """What `work` makes of the thread's folder, in a thread of the system."""

        def worked() -> T:
            with self.folder(thread_id) as folder:
                return work(folder)

        return await asyncio.to_thread(worked)

    async def pieces(self, thread_id: str, path: str) -> AsyncIterator[bytes]:
        """A file's bytes as they are read."""
        file = await self.use(thread_id, lambda folder: folder.open(path))
        try:
            while piece := await _to_the_end(file.read, PIECE):
                yield piece
        finally:
            await _to_the_end(file.close)

    async def write(self, thread_id: str, path: str, pieces: AsyncIterator[bytes]) -> Written:
        """Put a file there from bytes that come as they come."""
        with await _to_the_end(self.folder, thread_id) as folder:
            partial = await _to_the_end(folder.begin, path)
            try:
                async for piece in pieces:
                    await _to_the_end(partial.add, piece)
                return await _to_the_end(partial.finish)
            finally:
                await _to_the_end(partial.discard)

    async def remove(self, thread_id: str) -> None:
        """A thread's folder with all that is in it, if it has one."""
        await asyncio.to_thread(self._remove, thread_id)

    def _remove(self, thread_id: str) -> None:
        with self._lock:
            self._usages.pop(thread_id, None)
        with contextlib.suppress(FileNotFoundError), self._opened() as (root, partials):
            discard(partials, root, _checked(thread_id))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """The folder of folders, and what is on its way in or out. FileNotFoundError if there never was any."""
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            partials = descent.step(root, PARTIAL)
            try:
                yield root, partials
            finally:
                os.close(partials)
        finally:
            os.close(root)

    async def sweep(self, known: Callable[[Sequence[str]], Awaitable[Collection[str]]]) -> int:
        """Remove the folders of threads that are not `known` any more, and what killed processes left; how many."""
        # First the folders, then the threads: a thread is there before its folder is.
        there = await asyncio.to_thread(self._ids)
        gone = [id for start in range(0, len(there), 500) for id in await _unknown(there[start : start + 500], known)]
        if len(gone) == len(there) > FEW:
            logger.error(
                "none of %d folders belongs to a thread: is this the right database? None was removed", len(there)
            )
            gone = []
        for id in gone:
            try:
                await self.remove(id)
            except OSError as error:
                logger.warning("the folder of %s cannot be removed: %s", id, error)
        return len(gone) + await asyncio.to_thread(self._sweep_partials)

    def _ids(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(name for name in os.listdir(self._root) if _THREAD.fullmatch(name))
        return []

    def _sweep_partials(self) -> int:
        swept = 0
        with contextlib.suppress(FileNotFoundError), self._opened() as (_, partials):
            for name in os.listdir(partials):
                with contextlib.suppress(OSError):  # finished or swept meanwhile, or next time
                    swept += _sweep_one(partials, name)
        return swept


def _sweep_one(partials: int, name: str) -> bool:
    if stat.S_ISDIR(os.stat(name, dir_fd=partials, follow_symlinks=False).st_mode):
        take_apart(partials, name)
        return True
    descriptor = os.open(name, os.O_RDONLY | PLAIN, dir_fd=partials)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=partials)
    finally:
        os.close(descriptor)
    return True


def _checked(thread_id: str) -> str:
    if not _THREAD.fullmatch(thread_id):
        raise Broken(f"{thread_id!r} is no thread's id.")
    return thread_id


async def _unknown(ids: Sequence[str], known: Callable[[Sequence[str]], Awaitable[Collection[str]]]) -> list[str]:
    there = set(await known(ids))
    return [id for id in ids if id not in there]


async def _to_the_end(function: Callable[..., T], *args: object) -> T:
    """Run in a thread, and wait for its end even if we are cancelled: what it works on is closed right after."""
    working = asyncio.ensure_future(asyncio.to_thread(function, *args))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({working})
        raise
