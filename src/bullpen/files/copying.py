"""Files from one thread's folder to another's, and between folders and what is kept as blobs. Always copies.

A path means something in its own folder only, so whatever crosses is written anew in the receiver's `attachments`
(or `media`, if a message showed it), whole or not at all, and the receiver is told that path. The place is made from
the key of the call: the same call again, after a crash, comes to the same paths. What may cross, and when, is decided
by whoever calls this.
"""

from __future__ import annotations

import hashlib
import os
from base64 import b32encode
from collections.abc import Sequence
from pathlib import PurePosixPath

from bullpen.errors import ToolFailed
from bullpen.files.folder import PIECE, Folder, Written
from bullpen.files.folders import Folders
from bullpen.files.paths import LONGEST_NAME, Names, brief, names_of, safe_name, shown
from bullpen.files.types import Blobs, Kept

ATTACHMENTS = "attachments"  # of other threads
MEDIA = "media"  # of messages
MOST_PATHS = 100


async def copy_between(
    folders: Folders, from_thread: str, to_thread: str, paths: Sequence[str], *, key: str
) -> list[str]:
    """Copy these files of one thread to another; their paths there, in the same order. `key` names the call.

    A path that is no plain file of the sender's raises before anything is copied.
    """
    if len(paths) > MOST_PATHS:
        raise ToolFailed(f"At most {MOST_PATHS} files can be handed over at once. Put them into one archive.")

    def copy(sender: Folder) -> list[str]:
        for path in paths:
            sender.open(path).close()
        places = [place_for(names_of(path), key) for path in paths]
        with folders.folder(to_thread) as receiver:
            for path, place in dict(zip(paths, places, strict=True)).items():
                _copy_one(sender, receiver, path, place)
        return places

    return await folders.use(from_thread, copy) if paths else []


def _copy_one(sender: Folder, receiver: Folder, path: str, place: str) -> None:
    """Written anew even if an earlier try got so far: it costs little, and needs no belief in what is there."""
    with sender.open(path) as source:
        before = os.fstat(source.fileno())
        receiver.write(place, iter(lambda: source.read(PIECE), b""))
        after = os.fstat(source.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        receiver.remove(place)
        raise ToolFailed(f"{brief(path)} was changed while it was copied. Hand it over again when it is finished.")


def place_for(names: Names, key: str, folder: str = ATTACHMENTS) -> str:
    """Where a file goes in the receiver's folder: its own name, and a word made of the call and where it came from."""
    name = PurePosixPath(names[-1])
    word = b32encode(hashlib.sha256("\0".join((key, *names)).encode()).digest())[:8].decode().lower()
    ending = name.suffix if len(name.suffix.encode()) <= 32 else ""
    stem = name.name.removesuffix(ending).encode()[: LONGEST_NAME - len(ending.encode()) - 9].decode(errors="ignore")
    return shown((folder, f"{stem.rstrip('. ') or 'file'}-{word}{ending}"))


async def from_blob(blobs: Blobs, file_id: str, name: str, folders: Folders, thread_id: str) -> Written:
    """An attachment of a message, as a file that the thread's tools can work with. Again is the same path."""
    return await folders.write(thread_id, place_for((safe_name(name),), file_id, MEDIA), blobs.read(file_id))


async def to_blob(folders: Folders, thread_id: str, path: str, blobs: Blobs, file_id: str, *, most: int) -> Kept:
    """Keep the bytes of a thread's file under an id, for others to read."""
    return await blobs.keep(file_id, folders.pieces(thread_id, path), most=most)
