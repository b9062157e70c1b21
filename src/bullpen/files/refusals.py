"""What is refused in a thread's folder, and how that is told: in sentences for the agent, whatever the system said."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from bullpen.errors import DiskFull, PathOutside, ToolFailed
from bullpen.files.paths import Names, brief, names_of


def named(path: str) -> Names:
    names = names_of(path)
    if not names:
        raise ToolFailed(f"{brief(path)} is the workspace itself. Name a file in it.")
    return names


def link(path: str) -> PathOutside:
    return PathOutside(f"{brief(path)} is a link, or leads through one, and links are not followed in a workspace.")


def check_plain(path: str, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise link(path)
    if stat.S_ISDIR(found.st_mode):
        raise ToolFailed(f"{brief(path)} is a folder, not a file.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailed(f"{brief(path)} is no plain file but a device, a pipe or a socket.")
    if found.st_nlink > 1:
        raise PathOutside(f"{brief(path)} has another name elsewhere (a hard link), so it may not be yours.")


def replaceable(path: str, parent: int, name: str) -> os.stat_result | None:
    """The file that would be replaced, if there is one. What is no plain file is never replaced."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_plain(path, found)
    return found


_SENTENCES = {
    errno.ENOTDIR: "leads through a file, as if that were a folder",
    errno.EISDIR: "is a folder, not a file",
    errno.ENXIO: "is no plain file but a device, a pipe or a socket",
    errno.EACCES: "may not be opened",
    errno.EPERM: "may not be changed",
    errno.ENOTEMPTY: "is a folder with something in it",
    errno.EINVAL: "cannot be moved into itself",
    errno.EEXIST: "is there already",
}


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """What the system says, in words for the agent."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise link(path) from None
        if error.errno == errno.ENOENT:
            raise ToolFailed(f"There is no {brief(path)} in your workspace.") from None
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("The server's disk is full, so nothing was written. Tell whoever looks after it.") from None
        if error.errno in _SENTENCES:
            raise ToolFailed(f"{brief(path)} {_SENTENCES[error.errno]}.") from None
        raise
