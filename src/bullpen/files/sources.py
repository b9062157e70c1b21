"""Where the text of files in folders came from: what a run writes there is as trustworthy as what it had read.

A file that no run has written, or that is another by now, is from outside: a copy of an attachment, what a program
left behind, what was written just before the process died. So nothing has to be noted about those, and nothing can be
forgotten. Paths are kept as hashes, since people and agents choose them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

from bullpen.files.paths import names_of
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import TUPLE
from bullpen.storage.tables import folder_sources

UNKNOWN = ("file",)
BATCH = 200


@dataclass(frozen=True, slots=True)
class Wrote:
    """What a call has written into the folder of its run."""

    path: str
    sha256: str
    outside: tuple[str, ...]


_OF = folder_sources.c.folder_id == bindparam("folder_id_")
_INSERT = Statement(insert(folder_sources))
_DELETE = Statement(delete(folder_sources).where(_OF, folder_sources.c.path_hash == bindparam("path_hash_")))
_SELECT = Statement(
    select(folder_sources.c.path_hash, folder_sources.c.sha256, folder_sources.c.outside).where(
        _OF, any_of(folder_sources.c.path_hash, "hashes")
    )
)
_SELECT_FOLDERS = Statement(
    select(folder_sources.c.folder_id)
    .where(folder_sources.c.folder_id > bindparam("after"))
    .group_by(folder_sources.c.folder_id)
    .order_by(folder_sources.c.folder_id)
    .limit(bindparam("limit"))
)
_FORGET = Statement(delete(folder_sources).where(any_of(folder_sources.c.folder_id, "ids")))


async def keep(tx: Transaction, folder_id: str, wrote: Wrote) -> None:
    """The last one to say so is believed. If another has written the file, the hash differs, and nobody is."""
    path = _hash_of(wrote.path)
    await tx.run(_DELETE, folder_id_=folder_id, path_hash_=path)
    row = {"folder_id": folder_id, "path_hash": path, "sha256": wrote.sha256}
    await tx.run(_INSERT, **row, outside=TUPLE.encode(wrote.outside))


async def find(tx: Transaction, folder_id: str, path: str, sha256: str) -> tuple[str, ...]:
    """Where the text came from that this file holds now; nothing, if it is all from this office."""
    for _, kept, outside in await tx.all(_SELECT, folder_id_=folder_id, hashes=[_hash_of(path)]):
        if kept == sha256:
            return TUPLE.decode(outside)  # type: ignore[no-any-return]
    return UNKNOWN


async def find_all(tx: Transaction, folder_id: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The same for the names of several files, whatever they hold now."""
    hashes = {_hash_of(path) for path in paths}
    found = await tx.all(_SELECT, folder_id_=folder_id, hashes=sorted(hashes))
    known = [source for _, _, outside in found for source in TUPLE.decode(outside)]
    return tuple(dict.fromkeys((*known, *(UNKNOWN if len(found) < len(hashes) else ()))))


async def select_folders(tx: Transaction, after: str) -> list[str]:
    """Some of the folders of which anything is known, by name."""
    return await tx.values(_SELECT_FOLDERS, after=after, limit=BATCH)


async def forget(tx: Transaction, folder_ids: Sequence[str]) -> None:
    """These folders are gone."""
    await tx.run(_FORGET, ids=list(folder_ids))


def _hash_of(path: str) -> str:
    """One for each file, however its path is written."""
    return hashlib.sha256("/".join(names_of(path)).encode()).hexdigest()
