"""The folder that a thread's tools work in: files by path, and no path that leads anywhere else.

A `Folder` is an open descriptor, and everything is reached from it downwards (descent.py): no link is followed, and
only plain files with one name are opened, so what lies outside cannot be reached whatever is put inside. A file appears
whole or not at all. Nothing here waits for a pipe, but all of it for the disk: async code goes through `folders.py`.
Not here: unpacking anything, which the host never does.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Self

from bullpen.errors import ToolFailed
from bullpen.files import descent
from bullpen.files.paths import DEEPEST, Names, brief, names_of, shown
from bullpen.files.refusals import check_plain, link, named, replaceable, told
from bullpen.settings import FolderSettings

PIECE = 256 * 1024
MOST_LISTED = 10_000
PARTIAL = ".partial"  # beside the folders: what is being written, or removed

PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

Kind = Literal["file", "folder", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    path: str
    kind: Kind
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class Written:
    path: str
    size: int
    sha256: str


class Usage:
    """How much a folder holds: counted once by a walk, then kept up with every change we make.

    Who changes something holds the lock from looking whether there is room until it is counted.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.counted = False
        self.bytes = 0
        self.files = 0

    def add(self, size: int, files: int) -> None:
        self.bytes += size
        self.files += files


class Folder:
    """Paths are as agents write them. Raises PathOutside, ToolFailed or DiskFull, with sentences for the agent."""

    def __init__(self, root: Path, name: str, usage: Usage, limits: FolderSettings, way: descent.Descend) -> None:
        self._descriptors: list[int] = []
        self.held = usage
        self._limits = limits
        self._descend = way
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        above = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.partials = self._child_of(above, PARTIAL)
            self._top = self._child_of(above, name)
        finally:
            os.close(above)

    def _child_of(self, above: int, name: str) -> int:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
        child = descent.step(above, name)
        self._descriptors.append(child)
        return child

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def open(self, path: str, mode: Literal["r", "a"] = "r") -> BinaryIO:
        """A plain file, to read or to append to. Whole files are written with `write`."""
        with told(path):
            return self._open(path, mode)

    def _open(self, path: str, mode: Literal["r", "a"]) -> BinaryIO:
        names = named(path)
        flags = os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_APPEND
        with self.parent_of(names) as parent:
            check_plain(path, os.stat(names[-1], dir_fd=parent, follow_symlinks=False))
            descriptor = os.open(names[-1], flags | PLAIN, dir_fd=parent)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, descriptor)
            # The one above only spares a device from being opened; this one is about what we hold.
            check_plain(path, os.fstat(descriptor))
            opened: BinaryIO = os.fdopen(descriptor, "rb" if mode == "r" else "ab")
            undo.pop_all()
        return opened

    def read(self, path: str, most: int) -> bytes:
        with self.open(path) as file, told(path):
            found = file.read(most + 1)
        if len(found) > most:
            raise ToolFailed(f"{brief(path)} has more than {most} bytes.")
        return found

    def stat(self, path: str) -> Entry:
        names = names_of(path)
        with told(path):
            if not names:
                return _entry(names, os.fstat(self._top))
            with self.parent_of(names) as parent:
                found = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            raise link(path)
        return _entry(names, found)

    def entries(self, path: str = "", most: int = MOST_LISTED) -> list[Entry]:
        """What is in a folder, by name. Links, pipes and the like are `other`: they cannot be opened."""
        names = names_of(path)
        with told(path), self._opened(names) as folder:
            found = [_entry((*names, name), status) for name, status in _scan(folder, most)]
        return sorted(found, key=lambda entry: entry.path)

    def walk(self, path: str = "") -> Iterator[Entry]:
        """All that is below, a folder before what is in it; no deeper than a path may go."""
        start = names_of(path)
        waiting = [start]
        while waiting:
            names = waiting.pop()
            found: list[tuple[str, os.stat_result]] = []
            with told(shown(names)):
                try:
                    with self._opened(names) as folder:
                        found = sorted(_scan(folder, None), key=lambda each: each[0])
                except OSError as error:
                    # Below the first, a folder may go, or be swapped for something else, while we walk.
                    if names == start or error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                        raise
            for name, status in found:
                yield _entry((*names, name), status)
            if len(names) + 1 < DEEPEST:
                waiting += [(*names, name) for name, status in reversed(found) if stat.S_ISDIR(status.st_mode)]

    # ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, path: str, pieces: bytes | Iterable[bytes]) -> Written:
        """Put a file there, or another in its place; folders on the way are made. Nobody ever sees half of it."""
        with self.begin(path) as partial:
            for piece in (pieces,) if isinstance(pieces, bytes) else pieces:
                partial.add(piece)
            return partial.finish()

    def begin(self, path: str) -> Partial:
        """A file to be written piece by piece, which appears under its path when it is finished."""
        names = named(path)
        with told(path):
            try:
                with self.parent_of(names) as parent:
                    replaced = replaceable(path, parent, names[-1])
            except FileNotFoundError:
                replaced = None
            return Partial(self, names, 0 if replaced is None else replaced.st_size)

    def append(self, path: str, more: bytes) -> None:
        """Add to the end of a file, or begin one. On the disk when it returns; a crash may leave a part of it."""
        with told(path):
            try:
                file = self._open(path, "a")
            except FileNotFoundError:
                self.write(path, more)
                return
            with file:
                with self.held.lock:
                    self.make_room(len(more), 0)
                    file.write(more)
                    file.flush()
                    self.held.add(len(more), 0)
                os.fsync(file.fileno())

    def make_folder(self, path: str) -> None:
        """And those above it. One that is there already is fine."""
        with told(path):
            os.close(self._made(names_of(path)))

    def rename(self, path: str, to: str) -> None:
        """Move a file, in the place of another if one is there, or a folder to where nothing is."""
        names, target = named(path), named(to)
        with told(path), self.parent_of(names) as parent:
            moved = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(moved.st_mode):
                check_plain(path, moved)
            with told(to), self.parent_of(target, make=True) as into:
                with self.held.lock:
                    replaced = replaceable(to, into, target[-1])
                    if replaced is not None and (stat.S_ISDIR(moved.st_mode) or os.path.samestat(moved, replaced)):
                        raise ToolFailed(f"{brief(to)} is there already.")
                    os.rename(names[-1], target[-1], src_dir_fd=parent, dst_dir_fd=into)
                    if replaced is not None:
                        self.held.add(-replaced.st_size, -1)
                os.fsync(into)
            os.fsync(parent)

    def remove(self, path: str, *, whole: bool = False) -> None:
        """A file, or a link as a link; a folder if it is empty, or as a `whole`."""
        names = named(path)
        with told(path), self.parent_of(names) as parent:
            with self.held.lock:
                found = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
                if not stat.S_ISDIR(found.st_mode):
                    os.unlink(names[-1], dir_fd=parent)
                    self.held.add(-_entry(names, found).size, -1)
                elif whole:
                    discard(self.partials, parent, names[-1])
                    self.held.counted = False
                else:
                    os.rmdir(names[-1], dir_fd=parent)
                    self.held.add(0, -1)
            os.fsync(parent)

    # ── between names and descriptors ───────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _opened(self, names: Names) -> Iterator[int]:
        descriptor = self._descend(self._top, names)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def parent_of(self, names: Names, *, make: bool = False) -> Iterator[int]:
        try:
            parent = self._descend(self._top, names[:-1])
        except FileNotFoundError:
            if not make:
                raise
            parent = self._made(names[:-1])
        try:
            yield parent
        finally:
            os.close(parent)

    def _made(self, names: Names) -> int:
        """The folder there, made if need be, name by name."""
        here = os.dup(self._top)
        for name in names:
            try:
                with self.held.lock, contextlib.suppress(FileExistsError):
                    self.make_room(0, 1)
                    os.mkdir(name, 0o700, dir_fd=here)
                    self.held.add(0, 1)
                    os.fsync(here)
                below = descent.step(here, name)
            finally:
                os.close(here)
            here = below
        return here

    # ── how much there may be ───────────────────────────────────────────────────────────────────────────────────────

    def usage(self) -> tuple[int, int]:
        """Bytes and files, folders included."""
        with self.held.lock:
            if not self.held.counted:
                self._count()
            return self.held.bytes, self.held.files

    def _count(self) -> None:
        with self.held.lock:
            self.held.bytes = self.held.files = 0
            for entry in self.walk():
                self.held.add(entry.size, 1)
            self.held.counted = True

    def make_room(self, size: int, files: int) -> None:
        """ToolFailed if so much more does not fit. Others may have removed something: then it is counted again."""
        if self._too_much(size, files):
            self._count()
            if most := self._too_much(size, files):
                raise ToolFailed(f"Your workspace is full: it may hold {most}. Remove something first.")

    def _too_much(self, size: int, files: int) -> str | None:
        held_bytes, held_files = self.usage()
        if self._limits.bytes and size > 0 and held_bytes + size > self._limits.bytes:
            return f"{self._limits.bytes} bytes"
        if self._limits.files and files > 0 and held_files + files > self._limits.files:
            return f"{self._limits.files} files"
        return None


class Partial:
    """A file on its way. It lies beside all folders, under a name of ours, until it is moved to its place.

    It is locked while we live: one that nobody locks is left over from a process that died.
    """

    def __init__(self, folder: Folder, names: Names, replaces: int) -> None:
        self._folder = folder
        self._names = names
        self._replaces = replaces  # bytes
        self._hash = hashlib.sha256()
        self._size = 0
        self._name, self._file = "", -1
        self._name, self._file = self._create()

    def _create(self) -> tuple[str, int]:
        while True:
            name = secrets.token_hex(16)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=self._folder.partials)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:  # else a sweep came between the two lines
                return name, descriptor
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def __del__(self) -> None:
        self.discard()

    def add(self, piece: bytes) -> None:
        self._folder.make_room(self._size + len(piece) - self._replaces, 0)
        rest = memoryview(piece)
        with told(shown(self._names)):
            while rest:
                rest = rest[os.write(self._file, rest) :]
        self._hash.update(piece)
        self._size += len(piece)

    def finish(self) -> Written:
        """Whole, on the disk, the same as what was given, and then there."""
        path = shown(self._names)
        with told(path):
            os.fsync(self._file)
            if self._kept() != self._hash.digest():
                raise ToolFailed(f"{path} could not be written: the disk holds something else than it was given.")
            with self._folder.parent_of(self._names, make=True) as parent:
                self._put(path, parent)
        return Written(path, self._size, self._hash.hexdigest())

    def _kept(self) -> bytes:
        """The hash of what the file holds now."""
        found = hashlib.sha256()
        place = 0
        while piece := os.pread(self._file, PIECE, place):
            found.update(piece)
            place += len(piece)
        return found.digest()

    def _put(self, path: str, parent: int) -> None:
        with self._folder.held.lock:
            replaced = replaceable(path, parent, self._names[-1])
            more = (self._size, 1) if replaced is None else (self._size - replaced.st_size, 0)
            self._folder.make_room(*more)
            os.rename(self._name, self._names[-1], src_dir_fd=self._folder.partials, dst_dir_fd=parent)
            self._name = ""
            self._folder.held.add(*more)
        os.fsync(parent)

    def discard(self) -> None:
        """Forget it, unless it is finished. Either way it is closed."""
        if self._name:
            with contextlib.suppress(OSError):  # then the sweep will
                os.unlink(self._name, dir_fd=self._folder.partials)
            self._name = ""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


# ── looking around ──────────────────────────────────────────────────────────────────────────────────────────────────


def _entry(names: Names, found: os.stat_result) -> Entry:
    kinds: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder"}
    kind = kinds.get(stat.S_IFMT(found.st_mode), "other")
    path = os.fsencode(shown(names)).decode(errors="replace")  # a sandbox may make names that are no text
    return Entry(path, kind, found.st_size if kind == "file" else 0, found.st_mtime)


def _scan(folder: int, most: int | None) -> list[tuple[str, os.stat_result]]:
    found: list[tuple[str, os.stat_result]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(found) == most:
                break
            with contextlib.suppress(FileNotFoundError):  # it went while we looked
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def discard(partials: int, parent: int, name: str) -> None:
    """Take a folder out of sight at once, then take it apart. If we are killed at that, the sweep does the rest."""
    away = secrets.token_hex(16)
    os.rename(name, away, src_dir_fd=parent, dst_dir_fd=partials)
    take_apart(partials, away)


def take_apart(partials: int, name: str) -> None:
    folder = descent.step(partials, name)
    try:
        descent.empty(folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=partials)
