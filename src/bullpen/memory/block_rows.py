"""SQL for blocks, what they were, and with whom they are shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, insert, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from bullpen.ids import Whose
from bullpen.memory.types import EVERYWHERE, Block, Key, Share, Version
from bullpen.storage import Statement, Transaction, any_of
from bullpen.storage.mapped import FLAG, TUPLE_OR_NULL, Mapped
from bullpen.storage.statements import insert_or_ignore
from bullpen.storage.tables import block_shares, block_versions, blocks

# ── blocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_BLOCKS = Mapped(Block, blocks, outside=TUPLE_OR_NULL, deleted=FLAG)
_KEYS = ("agent_id", "label", "space_id")
_CHANGED = ("content", "updated_at", "outside", "description", "size_limit", "deleted")
_THIS = [blocks.c[name] == bindparam(f"{name}_") for name in _KEYS]


def _put(insert: Any) -> Any:
    """Two that change one block at once come one after the other here: each gets a version of its own."""
    row = insert(blocks)
    changed = {name: row.excluded[name] for name in _CHANGED} | {"version": blocks.c.version + 1}
    return row.on_conflict_do_update(index_elements=_KEYS, set_=changed).returning(blocks.c.version)


_PUT = Statement(_put(sqlite.insert), postgresql=_put(postgresql.insert))
_SELECT_ONE = Statement(select(*_BLOCKS.columns).where(*_THIS))
_SELECT_PLACES = Statement(
    select(*_BLOCKS.columns)
    .where(blocks.c.agent_id == bindparam("agent_id"), any_of(blocks.c.space_id, "places"), blocks.c.deleted == 0)
    .order_by(blocks.c.label)
)
_SELECT_OF_OWNERS = Statement(
    select(*_BLOCKS.columns).where(
        any_of(blocks.c.agent_id, "owners"),
        any_of(blocks.c.label, "labels"),
        blocks.c.space_id == EVERYWHERE,
        blocks.c.deleted == 0,
    )
)
_SELECT_DELETED = Statement(
    select(blocks.c.label)
    .where(blocks.c.agent_id == bindparam("agent_id"), blocks.c.space_id == bindparam("space_id"))
    .where(blocks.c.deleted == 1)
    .order_by(blocks.c.updated_at.desc(), blocks.c.label)
    .limit(50)
    .offset(bindparam("most"))
)
_DELETE = Statement(delete(blocks).where(*_THIS))


def _params(key: Key) -> dict[str, Any]:
    return {f"{name}_": value for name, value in key._asdict().items()}


async def put(tx: Transaction, block: Block) -> int:
    """Keep it as it is now, in its next version; which one that is."""
    return int(await tx.value(_PUT, **(_BLOCKS.write(block) | {"version": 1})))


async def select_block(tx: Transaction, key: Key) -> Block | None:
    """Also one that was deleted."""
    return _BLOCKS.read_one(await tx.one(_SELECT_ONE, **_params(key)))


async def select_blocks(tx: Transaction, agent_id: str, *places: str) -> list[Block]:
    """Those that are kept for these places, by their labels."""
    return _BLOCKS.read_all(await tx.all(_SELECT_PLACES, agent_id=agent_id, places=list(places or (EVERYWHERE,))))


async def select_shared(tx: Transaction, shares: Sequence[Share]) -> dict[tuple[str, str], Block]:
    """The blocks that these shares are about, by their owners and labels."""
    owners, labels = {each.owner_id for each in shares}, {each.label for each in shares}
    found = await tx.all(_SELECT_OF_OWNERS, owners=sorted(owners), labels=sorted(labels))
    return {(block.agent_id, block.label): block for block in _BLOCKS.read_all(found)}


async def select_deleted(tx: Transaction, agent_id: str, space_id: str, most: int) -> list[str]:
    """Labels of deleted blocks, but for this many of the newest ones."""
    return await tx.values(_SELECT_DELETED, agent_id=agent_id, space_id=space_id, most=most)


async def delete_row(tx: Transaction, key: Key) -> None:
    """With all that it was."""
    await tx.run(_DELETE, **_params(key))
    await tx.run(_DELETE_VERSIONS, **_params(key))


# ── what they were ──────────────────────────────────────────────────────────────────────────────────────────────────

_VERSIONS = Mapped(Version, block_versions, outside=TUPLE_OR_NULL, deleted=FLAG)
_OF_THIS = [block_versions.c[name] == bindparam(f"{name}_") for name in _KEYS]
_INSERT_VERSION = Statement(insert(block_versions))
_SELECT_VERSIONS = Statement(
    select(*_VERSIONS.columns)
    .where(*_OF_THIS, block_versions.c.version < bindparam("before"))
    .order_by(block_versions.c.version.desc())
    .limit(bindparam("limit"))
)
_SELECT_VERSION = Statement(
    select(*_VERSIONS.columns).where(*_OF_THIS, block_versions.c.version == bindparam("version"))
)
_DELETE_OLD = Statement(delete(block_versions).where(*_OF_THIS, block_versions.c.version <= bindparam("upto")))
_DELETE_VERSIONS = Statement(delete(block_versions).where(*_OF_THIS))


async def insert_version(tx: Transaction, key: Key, version: Version) -> None:
    await tx.run(_INSERT_VERSION, **_VERSIONS.write(version), **key._asdict())


async def select_versions(tx: Transaction, key: Key, *, before: int, limit: int) -> list[Version]:
    """Newest first."""
    return _VERSIONS.read_all(await tx.all(_SELECT_VERSIONS, **_params(key), before=before, limit=limit))


async def select_version(tx: Transaction, key: Key, version: int) -> Version | None:
    return _VERSIONS.read_one(await tx.one(_SELECT_VERSION, **_params(key), version=version))


async def delete_old_versions(tx: Transaction, key: Key, upto: int) -> None:
    await tx.run(_DELETE_OLD, **_params(key), upto=upto)


# ── with whom they are shared ───────────────────────────────────────────────────────────────────────────────────────

_SHARES = Mapped(Share, block_shares, may_write=FLAG)
_OF_OWNER = block_shares.c.owner_id == bindparam("owner_id_")
_SELECT_SHARE = Statement(
    select(*_SHARES.columns).where(
        block_shares.c.reader_id == bindparam("reader_id"), block_shares.c.label == bindparam("label")
    )
)
_SELECT_SHARES = Statement(
    select(*_SHARES.columns)
    .where(or_(block_shares.c.reader_id == bindparam("agent_id"), block_shares.c.owner_id == bindparam("agent_id")))
    .order_by(block_shares.c.label, block_shares.c.reader_id)
)
_SELECT_SHARES_OF = Statement(
    select(*_SHARES.columns)
    .where(any_of(block_shares.c.owner_id, "owners"), any_of(block_shares.c.label, "labels"))
    .order_by(block_shares.c.reader_id)
)
_INSERT_SHARE = insert_or_ignore(block_shares)
_DELETE_SHARES = Statement(delete(block_shares).where(_OF_OWNER, block_shares.c.label == bindparam("label_")))
_DELETE_SHARES_OF = Statement(
    delete(block_shares).where(or_(_OF_OWNER, block_shares.c.reader_id == bindparam("owner_id_")))
)


async def select_share(tx: Transaction, reader_id: str, label: str) -> Share | None:
    return _SHARES.read_one(await tx.one(_SELECT_SHARE, reader_id=reader_id, label=label))


async def select_shares(tx: Transaction, agent_id: str) -> list[Share]:
    """Of blocks that this agent shares, and of those that others share with it."""
    return _SHARES.read_all(await tx.all(_SELECT_SHARES, agent_id=agent_id))


async def select_shares_of(tx: Transaction, shares: Sequence[Share]) -> list[Share]:
    """All shares of the blocks that these are about, and perhaps of others of the same owners."""
    owners, labels = {each.owner_id for each in shares}, {each.label for each in shares}
    return _SHARES.read_all(await tx.all(_SELECT_SHARES_OF, owners=sorted(owners), labels=sorted(labels)))


async def insert_share(tx: Transaction, share: Share) -> bool:
    """False: its reader is shown another block of this label."""
    return await tx.run(_INSERT_SHARE, **_SHARES.write(share)) > 0


async def delete_shares(tx: Transaction, owner_id: str, label: str) -> None:
    await tx.run(_DELETE_SHARES, owner_id_=owner_id, label_=label)


# ── upkeep ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_DELETE_WHOSE = [
    Statement(
        delete(table).where(or_(table.c.agent_id == bindparam("member_id"), table.c.space_id == bindparam("place")))
    )
    for table in (blocks, block_versions)
]
# No space has this id, and '' stands for wherever an agent is.
_NO_SPACE = "-"
_EXPORT = Statement(
    select(*_BLOCKS.columns)
    .where(or_(blocks.c.agent_id == bindparam("member_id"), blocks.c.space_id == bindparam("place")))
    .where(blocks.c.deleted == 0)
    .order_by(blocks.c.space_id, blocks.c.agent_id, blocks.c.label)
)


async def delete_blocks(tx: Transaction, whose: Whose) -> None:
    """Of an agent, or those that agents keep for a space; with all that they were."""
    for statement in _DELETE_WHOSE:
        await tx.run(statement, member_id=whose.member, place=whose.space or _NO_SPACE)


async def delete_shares_of(tx: Transaction, agent_id: str) -> None:
    """Those of its blocks, and those of blocks that others share with it."""
    await tx.run(_DELETE_SHARES_OF, owner_id_=agent_id)


async def export_blocks(tx: Transaction, whose: Whose) -> list[dict[str, Any]]:
    """Of an agent, or those that agents keep for a space."""
    found = _BLOCKS.read_all(await tx.all(_EXPORT, member_id=whose.member, place=whose.space or _NO_SPACE))
    shared: dict[str, dict[str, list[str]]] = {}
    for share in await select_shares(tx, whose.member):
        if share.owner_id == whose.member:
            given = shared.setdefault(share.label, {"readers": [], "writers": []})
            given["writers" if share.may_write else "readers"].append(share.reader_id)
    return [
        {
            "agentId": block.agent_id,
            **({"spaceId": block.space_id} if block.space_id else {}),
            "label": block.label,
            "content": block.content,
            "description": block.description,
            "limit": block.size_limit,
            "version": block.version,
            "updatedAt": block.updated_at,
            **({"outside": list(block.outside)} if block.outside else {}),
            **({"shared": shared[block.label]} if block.label in shared and not block.space_id else {}),
        }
        for block in found
    ]
