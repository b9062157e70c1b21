"""SQL for files, for which messages show them, and for how much is kept for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import BigInteger, bindparam, delete, insert, select, update

from bullpen.files.types import Counter, Usage
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import TUPLE, Mapped, noun
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import dropped_files, file_usage, files, message_files, messages, portraits
from bullpen.wire.nouns import File, Thumbnail

# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Owned(File):
    """A file with what only the server needs to know of it."""

    owner_kind: str
    attached: int
    outside: tuple[str, ...] | None = None  # None: nobody here vouches for what it says

    @property
    def counter(self) -> Counter:
        return (self.owner_kind, self.owner_id) if self.space_id is None else ("space", self.space_id)

    def shown(self) -> File:
        return File(**{name: getattr(self, name) for name in File.model_fields})


_FILES = Mapped(File, files, thumbnail=noun(Thumbnail))
_OWNED = Mapped(Owned, files, thumbnail=noun(Thumbnail), outside=TUPLE)
_INSERT = insert_or_ignore(files)
_SELECT = Statement(select(*_OWNED.columns).where(files.c.id == bindparam("id")))
_SELECT_BY_CLIENT_ID = Statement(
    select(*_OWNED.columns).where(
        files.c.owner_id == bindparam("owner_id"), files.c.client_file_id == bindparam("client_file_id")
    )
)
# In the order of their ids, so that two who want the same ones wait for each other in the same order.
_LOCK = Statement(select(*_OWNED.columns).where(any_of(files.c.id, "ids")).order_by(files.c.id).with_for_update())
_SELECT_IN_SPACE = Statement(
    select(*_FILES.columns)
    .where(files.c.space_id == bindparam("space_id"), files.c.id < bindparam("before"))
    .order_by(files.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_OWN = Statement(
    select(*_FILES.columns)
    .where(files.c.owner_id == bindparam("owner_id"), files.c.space_id.is_(None), files.c.id < bindparam("before"))
    .order_by(files.c.id.desc())
    .limit(bindparam("limit"))
)
_SELECT_GIVEN = Statement(
    select(*_FILES.columns)
    .where(files.c.owner_id == bindparam("owner_id"), files.c.id > bindparam("after"))
    .order_by(files.c.id)
    .limit(bindparam("limit"))
)
_SHOW = Statement(
    update(files)
    .where(any_of(files.c.id, "ids"))
    .values(attached=files.c.attached + 1, space_id=bindparam("space_id_"))
)
_HIDE = Statement(update(files).where(any_of(files.c.id, "ids")).values(attached=files.c.attached - 1))
_DELETE = Statement(delete(files).where(any_of(files.c.id, "ids")))
_SELECT_UNATTACHED = Statement(
    select(files.c.id)
    .where(files.c.attached == 0, files.c.created_at < bindparam("before"))
    .order_by(files.c.created_at)
    .limit(bindparam("limit"))
)
_SELECT_KNOWN = Statement(select(files.c.id).where(any_of(files.c.id, "ids")))
_SELECT_SIZES = Statement(
    select(files.c.id, files.c.size)
    .where(files.c.id > bindparam("after"))
    .order_by(files.c.id)
    .limit(bindparam("limit"))
)


async def insert_file(
    tx: Transaction,
    file: File,
    *,
    owner_kind: str,
    client_file_id: str | None = None,
    outside: Sequence[str] | None = None,
) -> bool:
    """False: it is there already."""
    kept = {**_FILES.write(file), "owner_kind": owner_kind, "attached": 0, "client_file_id": client_file_id}
    kept["outside"] = None if outside is None else TUPLE.encode(outside)
    return await tx.run(_INSERT, **kept) > 0


async def select_file(tx: Transaction, id: str) -> Owned | None:
    return _OWNED.read_one(await tx.one(_SELECT, id=id))


async def select_by_client_id(tx: Transaction, owner_id: str, client_file_id: str) -> Owned | None:
    return _OWNED.read_one(await tx.one(_SELECT_BY_CLIENT_ID, owner_id=owner_id, client_file_id=client_file_id))


async def lock_files(tx: Transaction, ids: Sequence[str]) -> list[Owned]:
    """Those that are there; nobody else changes them before this transaction ends."""
    return _OWNED.read_all(await tx.all(_LOCK, ids=list(ids)))


async def select_in_space(tx: Transaction, space_id: str, *, before: str, limit: int) -> list[File]:
    """Newest first."""
    return _FILES.read_all(await tx.all(_SELECT_IN_SPACE, space_id=space_id, before=before, limit=limit))


async def select_own(tx: Transaction, owner_id: str, *, before: str, limit: int) -> list[File]:
    """What somebody has in no space, newest first."""
    return _FILES.read_all(await tx.all(_SELECT_OWN, owner_id=owner_id, before=before, limit=limit))


async def select_given(tx: Transaction, owner_id: str, *, after: str, limit: int) -> list[File]:
    """All that somebody ever gave and that is still there, in a space or not."""
    return _FILES.read_all(await tx.all(_SELECT_GIVEN, owner_id=owner_id, after=after, limit=limit))


async def delete_files(tx: Transaction, ids: Sequence[str]) -> None:
    await tx.run(_DELETE, ids=list(ids))


async def select_unattached(tx: Transaction, before: str, limit: int) -> list[str]:
    return await tx.values(_SELECT_UNATTACHED, before=before, limit=limit)


async def select_known(tx: Transaction, ids: Sequence[str]) -> set[str]:
    """Which of these have a row."""
    return set(await tx.values(_SELECT_KNOWN, ids=list(ids)))


async def select_sizes(tx: Transaction, after: str, limit: int) -> list[tuple[str, int]]:
    """The next ids, and how many bytes each should have."""
    return [(id, size) for id, size in await tx.all(_SELECT_SIZES, after=after, limit=limit)]


# ── which messages show them ────────────────────────────────────────────────────────────────────────────────────────

_INSERT_SHOWN = Statement(insert(message_files))
_SELECT_SHOWN = Statement(
    select(message_files.c.message_id, *_FILES.columns)
    .select_from(message_files.join(files, files.c.id == message_files.c.file_id))
    .where(any_of(message_files.c.message_id, "ids"))
    .order_by(message_files.c.message_id, message_files.c.position)
)
_SELECT_SHOWN_IDS = Statement(select(message_files.c.file_id).where(message_files.c.message_id == bindparam("id")))
_SELECT_SHOWING = Statement(
    select(message_files.c.message_id, message_files.c.file_id)
    .where(any_of(message_files.c.file_id, "ids"))
    .order_by(message_files.c.message_id)
)
_DELETE_SHOWN = Statement(delete(message_files).where(message_files.c.message_id == bindparam("id_")))
_DELETE_SHOWING = Statement(delete(message_files).where(any_of(message_files.c.file_id, "ids")))
_DELETE_SHOWN_BY = Statement(delete(message_files).where(any_of(message_files.c.message_id, "ids")))
_COUNT_DOWN = Statement(
    update(messages)
    .where(messages.c.id == bindparam("id_"))
    .values(files=messages.c.files - bindparam("fewer", type_=BigInteger))
)


async def insert_shown(tx: Transaction, message_id: str, space_id: str, ids: Sequence[str]) -> None:
    """This message shows these files, in this order, and they are in its space from now on."""
    await tx.run(_SHOW, ids=list(ids), space_id_=space_id)
    rows = [{"message_id": message_id, "position": place, "file_id": id} for place, id in enumerate(ids)]
    await tx.many(_INSERT_SHOWN, rows)


async def select_shown(tx: Transaction, message_ids: Sequence[str]) -> dict[str, list[File]]:
    """What these messages show, each in its order."""
    found: dict[str, list[File]] = defaultdict(list)
    for message_id, *columns in await tx.all(_SELECT_SHOWN, ids=list(message_ids)):
        found[message_id].append(_FILES.read(columns))
    return found


async def select_shown_ids(tx: Transaction, message_id: str) -> list[str]:
    return await tx.values(_SELECT_SHOWN_IDS, id=message_id)


async def select_showing(tx: Transaction, ids: Sequence[str]) -> dict[str, list[str]]:
    """By message: which of these files it shows."""
    found: dict[str, list[str]] = defaultdict(list)
    for message_id, file_id in await tx.all(_SELECT_SHOWING, ids=list(ids)):
        found[message_id].append(file_id)
    return found


async def delete_shown(tx: Transaction, message_id: str, ids: Sequence[str]) -> None:
    """The message shows nothing any more; `ids` are what it showed."""
    await tx.run(_DELETE_SHOWN, id_=message_id)
    await tx.run(_HIDE, ids=list(ids))
    await tx.run(_COUNT_DOWN, id_=message_id, fewer=len(ids))


async def delete_showing(tx: Transaction, ids: Sequence[str]) -> None:
    """No message shows these files any more."""
    for message_id, shown in (await select_showing(tx, ids)).items():
        await tx.run(_COUNT_DOWN, id_=message_id, fewer=len(shown))
    await tx.run(_DELETE_SHOWING, ids=list(ids))


async def forget_messages(tx: Transaction, message_ids: Sequence[str]) -> None:
    """These messages are being removed with all they show, in an erasure of their space."""
    await tx.run(_DELETE_SHOWN_BY, ids=list(message_ids))


# ── how much is kept ────────────────────────────────────────────────────────────────────────────────────────────────

_BEGIN_COUNT = insert_or_ignore(file_usage)
_OF = file_usage.c.kind == bindparam("kind_"), file_usage.c.id == bindparam("id_")
_BYTES, _COUNT = bindparam("size", type_=BigInteger), bindparam("count", type_=BigInteger)
# One statement, so that no two uploads can both find the last free place.
_COUNT_MORE = Statement(
    update(file_usage)
    .where(
        *_OF,
        file_usage.c.bytes + _BYTES <= bindparam("most_bytes", type_=BigInteger),
        file_usage.c.files + _COUNT <= bindparam("most_files", type_=BigInteger),
    )
    .values(bytes=file_usage.c.bytes + _BYTES, files=file_usage.c.files + _COUNT)
)
_COUNT_LESS = Statement(
    update(file_usage).where(*_OF).values(bytes=file_usage.c.bytes - _BYTES, files=file_usage.c.files - _COUNT)
)
_USAGES = Mapped(Usage, file_usage)
_SELECT_USAGE = Statement(
    select(*_USAGES.columns).where(file_usage.c.kind == bindparam("kind"), file_usage.c.id == bindparam("id"))
)
_DELETE_USAGE = Statement(delete(file_usage).where(*_OF, file_usage.c.files == 0))


async def select_usage(tx: Transaction, counter: Counter) -> Usage:
    kind, id = counter
    return _USAGES.read_one(await tx.one(_SELECT_USAGE, kind=kind, id=id)) or Usage(0, 0)


async def count_more(tx: Transaction, counter: Counter, more: Usage, most: Usage) -> bool:
    """Count files for somebody, if they are then within `most`."""
    kind, id = counter
    await tx.run(_BEGIN_COUNT, kind=kind, id=id, bytes=0, files=0)
    bounds = {"most_bytes": most.bytes, "most_files": most.files}
    return await tx.run(_COUNT_MORE, kind_=kind, id_=id, size=more.bytes, count=more.files, **bounds) > 0


async def count_less(tx: Transaction, counter: Counter, less: Usage) -> None:
    kind, id = counter
    await tx.run(_COUNT_LESS, kind_=kind, id_=id, size=less.bytes, count=less.files)


async def delete_usage(tx: Transaction, counter: Counter) -> None:
    """Forget that somebody was ever counted, if nothing is kept for them."""
    kind, id = counter
    await tx.run(_DELETE_USAGE, kind_=kind, id_=id)


# ── bytes that nobody needs ─────────────────────────────────────────────────────────────────────────────────────────

_INSERT_DROPPED = insert_or_ignore(dropped_files)
_SELECT_DROPPED = Statement(select(dropped_files.c.id).order_by(dropped_files.c.id).limit(bindparam("limit")))
_DELETE_DROPPED = Statement(delete(dropped_files).where(any_of(dropped_files.c.id, "ids")))


async def insert_dropped(tx: Transaction, ids: Sequence[str]) -> None:
    now = tx.clock.now()
    await tx.many(_INSERT_DROPPED, [{"id": id, "dropped_at": now} for id in ids])


async def select_dropped(tx: Transaction, limit: int) -> list[str]:
    return await tx.values(_SELECT_DROPPED, limit=limit)


async def delete_dropped(tx: Transaction, ids: Sequence[str]) -> None:
    await tx.run(_DELETE_DROPPED, ids=list(ids))


# ── portraits ───────────────────────────────────────────────────────────────────────────────────────────────────────

_SELECT_PORTRAIT = Statement(select(portraits.c.file_id).where(portraits.c.holder_id == bindparam("holder_id")))
_INSERT_PORTRAIT = Statement(insert(portraits))
_DELETE_PORTRAIT = Statement(delete(portraits).where(portraits.c.holder_id == bindparam("holder_id")))
_DELETE_PORTRAITS_OF = Statement(delete(portraits).where(any_of(portraits.c.file_id, "ids")))
_KEEP = Statement(update(files).where(files.c.id == bindparam("id_")).values(attached=files.c.attached + 1))


async def select_portrait(tx: Transaction, holder_id: str) -> str | None:
    file_id: str | None = await tx.value(_SELECT_PORTRAIT, holder_id=holder_id)
    return file_id


async def insert_portrait(tx: Transaction, holder_id: str, file_id: str) -> None:
    await tx.run(_INSERT_PORTRAIT, holder_id=holder_id, file_id=file_id)
    await tx.run(_KEEP, id_=file_id)


async def delete_portrait(tx: Transaction, holder_id: str, file_id: str) -> None:
    await tx.run(_DELETE_PORTRAIT, holder_id=holder_id)
    await tx.run(_HIDE, ids=[file_id])


async def delete_portraits_of(tx: Transaction, file_ids: Sequence[str]) -> None:
    """The files go as well, so nothing is counted."""
    await tx.run(_DELETE_PORTRAITS_OF, ids=list(file_ids))
