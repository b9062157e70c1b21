"""Do rows and bytes belong together? Both ways, page by page, beside whoever works on them.

A row without its bytes is a file that nobody can download: after a restore without files, or on a disk that lost some.
Bytes without a row are what a killed upload left. What is done about either is decided by those who ask.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from bullpen.files import rows
from bullpen.files.thumbnails import SUFFIX
from bullpen.files.types import Blobs
from bullpen.storage import Store

PAGE = 200
# So many bytes without a row are rubbish for sure. More than have one: then it is rather the wrong database.
FEW = 20


@dataclass(slots=True)
class Orphans:
    """Bytes without a row, and how many have one."""

    ids: list[str] = field(default_factory=list)
    known: int = 0

    @property
    def doubtful(self) -> bool:
        return len(self.ids) > max(FEW, self.known)


async def missing(store: Store, blobs: Blobs) -> tuple[list[str], int]:
    """Files whose bytes are not there, or not all of them; and how many files there are."""
    lost: list[str] = []
    after, count = "", 0
    while page := await store.read(lambda tx, a=after: rows.select_sizes(tx, a, PAGE)):  # type: ignore[misc]
        lost += [id for id, size in page if await blobs.size(id) != size]
        count += len(page)
        after = page[-1][0]
    return lost, count


async def orphans(store: Store, blobs: Blobs, *, idle: float) -> Orphans:
    """Bytes that have lain still for `idle` seconds and have no row."""
    found = Orphans()
    async for ids in _batches(blobs.ids(idle=idle)):
        there = await store.read(lambda tx, ids=ids: rows.select_known(tx, ids))  # type: ignore[misc]
        found.ids += [id for id in ids if id not in there]
        found.known += len(there)
    return found


async def _batches(found: AsyncIterator[str]) -> AsyncIterator[list[str]]:
    """Ids of files, whether their bytes or their small pictures were found."""
    batch: dict[str, None] = {}
    async for blob in found:
        batch[blob.removesuffix(SUFFIX)] = None
        if len(batch) >= PAGE:
            yield list(batch)
            batch = {}
    if batch:
        yield list(batch)
