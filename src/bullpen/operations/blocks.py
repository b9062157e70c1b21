"""Blocks of memory, as those see and change them who manage agents, and the agent by its own token.

A block that is kept for a space takes the right to read the space as well. In a run an agent uses its tool instead
(`toolbox/memory`). What people change is in the audit log, without the words.
"""

from __future__ import annotations

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.errors import Conflict, Invalid, NotFound
from bullpen.memory import block_rows as rows
from bullpen.memory import blocks
from bullpen.memory.types import EVERYWHERE, LIMIT, Key, Sharing, ShownBlock, Version, Writer
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.storage import Transaction
from bullpen.wire.nouns import Block, BlockVersion, SharedWith
from bullpen.wire.requests import PutBlock, RevertBlock

# ── look ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def list_blocks(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None) -> list[Block]:
    """Its own and those that others share with it; with a space, those that it keeps for that space."""
    place = await _look_into(tx, caller, agent_id, space_id)
    if place != EVERYWHERE:
        return [to_wire(ShownBlock(block)) for block in await rows.select_blocks(tx, agent_id, place)]
    return [to_wire(shown) for shown in await blocks.select_shown(tx, agent_id, EVERYWHERE)]


async def get_block(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str) -> Block:
    place = await _look_into(tx, caller, agent_id, space_id)
    return await _read(tx, Key(agent_id, place, label))


async def _read(tx: Transaction, key: Key) -> Block:
    if key.space_id != EVERYWHERE:
        return to_wire(ShownBlock(await blocks.get(tx, key)))
    for shown in await blocks.select_shown(tx, key.agent_id, EVERYWHERE):
        if shown.block.label == key.label:
            return to_wire(shown)
    raise NotFound(f"{key.agent_id!r} has no block {key.label!r}.")


async def list_versions(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str, *, before: int, limit: int
) -> list[BlockVersion]:
    """What it was, newest first, also of one that was deleted."""
    key = Key(agent_id, await _look_into(tx, caller, agent_id, space_id), label)
    if await rows.select_block(tx, key) is None:
        raise NotFound(f"{agent_id!r} has no block {label!r} of its own.")
    return [_version_to_wire(each) for each in await rows.select_versions(tx, key, before=before, limit=limit)]


async def compare_versions(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str, old: int, new: int
) -> str:
    place = await _look_into(tx, caller, agent_id, space_id)
    return await blocks.compare(tx, Key(agent_id, place, label), old, new)


# ── change ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_block(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str, request: PutBlock
) -> Block:
    place = await _reach_into(tx, caller, agent_id, space_id)
    key = Key(agent_id, place, label)
    await _check_put(tx, caller, key, request)
    block = await blocks.write(
        tx,
        key,
        request.content,
        writer_of(caller, request.reason),
        description=request.description,
        limit=request.limit,
    )
    shared = {}
    if request.shared is not None:
        shared = {"readers": request.shared.readers, "writers": request.shared.writers}
        await _share(tx, key, Sharing(tuple(request.shared.readers), tuple(request.shared.writers)))
    _note(tx, caller, "block.changed", key, version=block.version, **shared)
    return await _read(tx, key)


async def _check_put(tx: Transaction, caller: Principal, key: Key, request: PutBlock) -> None:
    """Sharing, and a block that takes more of each prompt, are for whoever manages agents."""
    if request.shared is not None:
        access.authorize(caller, "manage_agents")
    before = await rows.select_block(tx, key)
    if before is None and key.space_id in await space_rows.select_free(tx, [key.space_id]):
        message = (
            f"What an agent learns in {key.space_id!r} is for everywhere, so it has no blocks for that space alone."
        )
        raise Invalid(message, fields={"spaceId": "leave it out"})
    if request.limit is not None and request.limit > (LIMIT if before is None else before.size_limit):
        access.authorize(caller, "manage_agents")
    if (before is None or before.deleted) and key.space_id == EVERYWHERE:
        share = await rows.select_share(tx, key.agent_id, key.label)
        if share is not None:
            raise Conflict(
                f"{key.agent_id!r} is shown a block {key.label!r} of {share.owner_id!r}. "
                "Change that one, or choose another label."
            )


async def _share(tx: Transaction, key: Key, sharing: Sharing) -> None:
    named = [*sharing.readers, *sharing.writers]
    found = await agent_rows.select_kinds(tx, named) if named else {}
    if missing := [id for id in named if found.get(id) != "agent"]:
        raise Invalid(f"There is no agent {missing[0]!r}.", fields={"shared": f"unknown: {', '.join(missing)}"})
    await blocks.share(tx, key, sharing)


async def revert_block(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str, request: RevertBlock
) -> Block:
    """A change like any other: it writes what the block was."""
    key = Key(agent_id, await _reach_into(tx, caller, agent_id, space_id), label)
    block = await blocks.revert(tx, key, request.version, writer_of(caller, request.reason))
    _note(tx, caller, "block.reverted", key, version=block.version, to=request.version)
    return await _read(tx, key)


async def delete_block(
    tx: Transaction, caller: Principal, agent_id: str, space_id: str | None, label: str, *, history: bool
) -> None:
    """`history`: with all that it was, which no agent may do to itself."""
    key = Key(agent_id, await _reach_into(tx, caller, agent_id, space_id), label)
    if history:
        access.authorize(caller, "manage_agents")
        await blocks.forget(tx, key, writer_of(caller, None))
    else:
        await blocks.delete(tx, key, writer_of(caller, None))
    _note(tx, caller, "block.erased" if history else "block.deleted", key)


async def add_missing(tx: Transaction, caller: Principal, agent_id: str, wanted: dict[str, str]) -> bool:
    """For other operations, which have checked who asks. Memory is the agent's own once it has it, so a block is only
    made when it is missing, and a long one keeps its length. True: one was made."""
    there = {shown.block.label for shown in await blocks.select_shown(tx, agent_id, EVERYWHERE)}
    missing = {label: content for label, content in wanted.items() if label not in there}
    for label, content in missing.items():
        limit = max(LIMIT, len(content))
        await blocks.write(tx, Key(agent_id, EVERYWHERE, label), content, writer_of(caller, None), limit=limit)
    return bool(missing)


def _note(tx: Transaction, caller: Principal, action: str, key: Key, **detail: object) -> None:
    place = {"spaceId": key.space_id} if key.space_id else {}
    note(tx, caller, action, "agent", key.agent_id, label=key.label, **place, **detail)


# ── who, and how it goes over the wire ──────────────────────────────────────────────────────────────────────────────


async def _look_into(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None) -> str:
    """Which place is meant."""
    access.authorize(caller, "see_inside_agent", Thing("agent", agent_id, holder=agent_id))
    return await _place(tx, caller, agent_id, space_id)


async def _reach_into(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None) -> str:
    access.authorize(caller, "change_inside_agent", Thing("agent", agent_id, holder=agent_id))
    return await _place(tx, caller, agent_id, space_id)


async def _place(tx: Transaction, caller: Principal, agent_id: str, space_id: str | None) -> str:
    await agents.get(tx, agent_id)
    if space_id is None:
        return EVERYWHERE
    return (await spaces.readable_room(tx, caller, space_id)).id


def writer_of(caller: Principal, reason: str | None) -> Writer:
    token = caller.credential if caller.credential.startswith("tok_") else None
    return Writer(caller.kind, caller.id, token_id=token, reason=reason or None)


def to_wire(shown: ShownBlock) -> Block:
    block, sharing = shown.block, shown.sharing
    return Block(
        label=block.label,
        content=block.content,
        description=block.description,
        limit=block.size_limit,
        version=block.version,
        updated_at=block.updated_at,
        space_id=block.space_id or None,
        outside=list(block.outside),
        shared=SharedWith(readers=list(sharing.readers), writers=list(sharing.writers)) if sharing else None,
        shared_by=shown.shared_by,
        may_write=shown.may_write,
    )


def _version_to_wire(version: Version) -> BlockVersion:
    return BlockVersion(
        version=version.version,
        content=version.content,
        description=version.description,
        deleted=version.deleted,
        at=version.at,
        by=version.by_id,
        by_kind=version.by_kind,
        token_id=version.token_id,
        run_id=version.run_id,
        reason=version.reason,
        outside=list(version.outside),
    )


async def own_contents(tx: Transaction, agent_id: str) -> dict[str, str]:
    """For other operations, which have checked who asks: what its own blocks say, by their labels."""
    return {block.label: block.content for block in await rows.select_blocks(tx, agent_id)}
