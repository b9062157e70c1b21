"""A database file that was lost: empty or gone, while other things of an office are beside it.

A new office begins with an empty folder. A new, empty database beside keys and files would look as if everything had
been deleted, and what the keys and files belong to would be harder to bring back.
"""

from __future__ import annotations

from pathlib import Path

ADVICE = (
    "Restore a backup with `bullpen restore FILE`. For a new office name another folder with --data, or move "
    "everything out of this one."
)


def why_lost(database: Path, keys: Path, files: Path) -> str | None:
    """A sentence, if an office has lost its database. A key alone may have been put there before the first start."""
    if not database.exists():
        return f"The database {database} is gone, but {files} holds files of an office." if _holds_any(files) else None
    if database.stat().st_size:
        return None
    beside = [str(path) for path, there in ((keys, keys.exists()), (files, _holds_any(files))) if there]
    return f"The database {database} is empty, but {' and '.join(beside)} belong to an office." if beside else None


def _holds_any(folder: Path) -> bool:
    return any(path.is_file() for path in folder.rglob("*"))
