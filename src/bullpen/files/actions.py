"""Keep, show, hide and drop files: each a part of the transaction that says why.

The bytes are kept before the row and removed after it, so that a row always has its bytes; what a crash leaves are
bytes without a row, which the sweep removes. Counts of how much is kept change with the rows, never later. Who
may do any of this is decided by those who call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bullpen.errors import Conflict, Invalid, NotFound
from bullpen.files import rows, rules
from bullpen.files.rows import Owned
from bullpen.files.types import Counter, Kept, Usage
from bullpen.settings import FileSettings
from bullpen.storage import Topic, Transaction
from bullpen.storage.store import RetryTransaction
from bullpen.wire.nouns import File, Thumbnail

ATTACHMENTS = 10

# The bytes of these files can go. A sweep finds what was not heard.
DROPPED: Final = Topic[Sequence[str]]("files were dropped")


async def add(
    tx: Transaction,
    id: str,
    name: str,
    kept: Kept,
    *,
    owner_kind: str,
    owner_id: str,
    space_id: str | None,
    thumbnail: Thumbnail | None = None,
    limits: FileSettings | None = None,
    client_file_id: str | None = None,
    outside: Sequence[str] | None = None,
) -> File:
    """The row of a file whose bytes are kept already. QuotaExceeded if that is more than may be kept.

    `outside` says where its text came from, if an agent made it; of anything else nobody knows.

    Adding the same id again changes nothing, and gives the file that is there. So does the same `client_file_id` of the
    same owner; with other bytes or in another space it is a conflict.
    """
    known = await rows.select_file(tx, id)
    if known is not None:
        return known.shown()
    if client_file_id is not None and (known := await rows.select_by_client_id(tx, owner_id, client_file_id)):
        if known.sha256 != kept.sha256 or space_id not in (None, known.space_id):
            raise Conflict(
                f"clientFileId {client_file_id!r} was used for another file ({known.id}); use a new one.",
                fields={"clientFileId": "was used for another file"},
            )
        return known.shown()
    file = File(
        id=id,
        name=rules.clean_name(name),
        size=kept.size,
        type=rules.type_of(kept.head, kept.size),
        sha256=kept.sha256,
        space_id=space_id,
        owner_id=owner_id,
        thumbnail=thumbnail,
        created_at=tx.clock.now(),
    )
    await _count(tx, rules.counter_of(space_id, owner_kind, owner_id), [file], limits)
    if not await rows.insert_file(tx, file, owner_kind=owner_kind, client_file_id=client_file_id, outside=outside):
        raise RetryTransaction("The same file was added just now.")  # and is found the next time
    return file


async def _count(tx: Transaction, counter: Counter, files: Sequence[File], limits: FileSettings | None) -> None:
    more = Usage(sum(file.size for file in files), len(files))
    if not await rows.count_more(tx, counter, more, rules.bounds(counter, limits)):
        raise rules.quota_exceeded(counter, limits)


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def show(
    tx: Transaction,
    ids: Sequence[str],
    *,
    message_id: str,
    space_id: str,
    author_id: str,
    limits: FileSettings | None = None,
) -> list[File]:
    """Let a message show these files: the author's own, which come into the space with it, or files of the space."""
    if len(ids) > ATTACHMENTS or len(set(ids)) < len(ids):
        raise Invalid(
            f"A message shows at most {ATTACHMENTS} files, each once.", fields={"attachments": "too many, or twice"}
        )
    found = {file.id: file for file in await rows.lock_files(tx, ids)}
    for id in ids:
        if not _may_show(found.get(id), space_id, author_id):
            raise Invalid(
                f"There is no file {id!r} that you can show here. Upload it first: POST /api/files.",
                fields={"attachments": f"unknown: {id}"},
            )
    coming = [file for file in found.values() if file.space_id is None]
    await _uncount(tx, coming)
    if coming:
        await _count(tx, ("space", space_id), coming, limits)
    await rows.insert_shown(tx, message_id, space_id, ids)
    return [found[id].shown().model_copy(update={"space_id": space_id}) for id in ids]


def _may_show(file: Owned | None, space_id: str, author_id: str) -> bool:
    if file is None:
        return False
    return file.owner_id == author_id if file.space_id is None else file.space_id == space_id


async def hide(tx: Transaction, message_id: str) -> None:
    """The message shows nothing any more. What no other message shows is dropped."""
    ids = await rows.select_shown_ids(tx, message_id)
    found = await rows.lock_files(tx, ids)
    await rows.delete_shown(tx, message_id, ids)
    await _drop(tx, [file for file in found if file.attached <= 1])


# ── portraits ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_portrait(tx: Transaction, holder_id: str, file_id: str) -> None:
    """The picture of a person or an agent, instead of the one before. It keeps the file, as a message would."""
    before = await rows.select_portrait(tx, holder_id)
    found = await rows.lock_files(tx, sorted({file_id, before or file_id}))
    if file_id not in {file.id for file in found}:
        raise NotFound(f"There is no file {file_id!r}, or it is not yours to see.")
    if before != file_id:
        await remove_portrait(tx, holder_id)
        await rows.insert_portrait(tx, holder_id, file_id)


async def remove_portrait(tx: Transaction, holder_id: str) -> None:
    file_id = await rows.select_portrait(tx, holder_id)
    if file_id is None:
        return
    found = await rows.lock_files(tx, [file_id])
    await rows.delete_portrait(tx, holder_id, file_id)
    await _drop(tx, [file for file in found if file.attached <= 1])


# ── the end of a file ───────────────────────────────────────────────────────────────────────────────────────────────


async def delete(tx: Transaction, id: str) -> Owned:
    """Forget a file that no message shows."""
    found = await rows.lock_files(tx, [id])
    if not found:
        raise NotFound(f"There is no file {id!r}, or it is not yours to see.")
    if found[0].attached:
        raise Conflict("A message shows this file. Delete the message, and the file goes with it.")
    await _drop(tx, found)
    return found[0]


async def drop_unattached(tx: Transaction, ids: Sequence[str]) -> int:
    """Forget those of these files that no message shows; how many."""
    found = [file for file in await rows.lock_files(tx, ids) if not file.attached]
    await _drop(tx, found)
    return len(found)


async def drop_all(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Forget these files, whoever shows them: for erasures. The messages that showed one, which have changed."""
    found = await rows.lock_files(tx, ids)
    showing = sorted(await rows.select_showing(tx, ids))
    await rows.delete_showing(tx, ids)
    await rows.delete_portraits_of(tx, ids)
    await _drop(tx, found)
    return showing


async def _drop(tx: Transaction, files: Sequence[Owned]) -> None:
    if not files:
        return
    ids = [file.id for file in files]
    await _uncount(tx, files)
    await rows.delete_files(tx, ids)
    await rows.insert_dropped(tx, ids)
    tx.tell(DROPPED, ids)


async def _uncount(tx: Transaction, files: Iterable[Owned]) -> None:
    by_counter: dict[Counter, list[Owned]] = {}
    for file in files:
        by_counter.setdefault(file.counter, []).append(file)
    for counter, counted in sorted(by_counter.items()):
        await rows.count_less(tx, counter, Usage(sum(file.size for file in counted), len(counted)))
