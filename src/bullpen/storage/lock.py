"""The data folder belongs to one process. The operating system lets go of the lock when that process dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from bullpen.errors import CannotStart


def holder(folder: Path) -> int | None:
    """The process that holds the folder, if one does: looked at without taking anything."""
    try:
        file = os.open(folder / "bullpen.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(file, 32, 0).decode(errors="replace")
        return int(written) if written.isdecimal() else 0
    finally:
        os.close(file)
    return None


class FolderLock:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None

    def take(self) -> None:
        """Hold the folder, or raise CannotStart with the number of the process that does."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._folder / "bullpen.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CannotStart(f"Cannot use the data directory {self._folder}: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(file, 32, 0).decode(errors="replace") or "unknown"
            os.close(file)
            raise self._refusal(error, holder) from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file

    def _refusal(self, error: OSError, holder: str) -> CannotStart:
        if not isinstance(error, BlockingIOError):
            return CannotStart(f"Cannot lock the data directory {self._folder}: {error.strerror}.")
        return CannotStart(
            f"The data directory {self._folder} is in use by pid {holder}. "
            "Stop that server first, or talk to it: `bullpen send`, `bullpen follow` and the others do."
        )

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
