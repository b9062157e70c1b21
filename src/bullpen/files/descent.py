"""From one open folder down to another, with no link followed: how everything in a thread's folder is reached.

A name is always opened in the folder that was opened before it, so nothing that happens to a path between a check and
its use matters. Two ways that come to the same: one call of the kernel where it has it (openat2), else name by name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Descend = Callable[[int, Sequence[str]], int]

_OPENAT2 = 437  # the same number on every processor we run on
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_MOST_RACES = 64


def step(folder: int, name: str) -> int:
    """The folder of that name in an open folder. A link is ELOOP, anything else that is no folder ENOTDIR."""
    try:
        return os.open(name, FOLDER, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


def by_steps(top: int, names: Sequence[str]) -> int:
    """A descriptor of the folder that the names lead to, for the caller to close."""
    here = os.dup(top)
    for name in names:
        try:
            below = step(here, name)
        finally:
            os.close(here)
        here = below
    return here


# ── in one call ─────────────────────────────────────────────────────────────────────────────────────────────────────


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _syscall() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t)
    return call


# Without O_NOFOLLOW, which would have a link at the end told apart from one on the way. The kernel only reads it.
_HOW = _How(FOLDER & ~os.O_NOFOLLOW, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)


def _openat2(top: int, path: bytes) -> int:
    descriptor = _syscall()(_OPENAT2, top, path, _HOW, ctypes.sizeof(_HOW))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return descriptor


def by_openat2(top: int, names: Sequence[str]) -> int:
    """The same, by the kernel alone. For one name that is not worth it."""
    if len(names) < 2:
        return by_steps(top, names)
    path = os.fsencode("/".join(names))
    for _ in range(_MOST_RACES):
        try:
            return _openat2(top, path)
        except BlockingIOError:  # somebody renames folders meanwhile, and the kernel cannot be sure
            continue
    return by_steps(top, names)


@cache
def best() -> Descend:
    """The faster way, if this kernel has it and lets us."""
    if not sys.platform.startswith("linux"):
        return by_steps
    top = os.open("/", FOLDER)
    try:
        os.close(_openat2(top, b"."))
    except OSError:
        return by_steps
    finally:
        os.close(top)
    return by_openat2


# ── and away with it ────────────────────────────────────────────────────────────────────────────────────────────────


def empty(top: int) -> None:
    """Remove all that is in a folder, links as links. Takes three descriptors however deep it goes."""
    while there := _children(top):
        for name, is_folder in there:
            if not is_folder:
                os.unlink(name, dir_fd=top)
                continue
            _open_up(top, name)
            below = step(top, name)
            try:
                _bring_up(below, top)
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=top)


def _bring_up(below: int, top: int) -> None:
    """Folders move to the top, where they are next; what is no folder goes."""
    while there := _children(below):
        for name, is_folder in there:
            if is_folder:
                _open_up(below, name)
                os.rename(name, secrets.token_hex(16), src_dir_fd=below, dst_dir_fd=top)
            else:
                os.unlink(name, dir_fd=below)


def _children(folder: int) -> list[tuple[str, bool]]:
    """Some of what is there: of a million names, not all at once."""
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, 1000)]


def _open_up(folder: int, name: str) -> None:
    """A folder that was closed even to its owner could not be emptied."""
    with contextlib.suppress(OSError, AttributeError):  # where that is not possible, emptying says so
        itself = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{itself}", 0o700)
        finally:
            os.close(itself)
