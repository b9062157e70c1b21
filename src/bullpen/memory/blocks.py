"""Change blocks, and say what they were.

A label always means one block of one agent: its own, or the one that another agent shares with it under this label.
Nothing that a model writes names an agent, so no label reaches a block of another. Each change is a version, with who
made it; the newest 200 of a block are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bullpen.agents.instructions import compare_texts
from bullpen.errors import Conflict, Invalid, NotFound
from bullpen.memory import block_rows as rows
from bullpen.memory.actions import tell_change
from bullpen.memory.types import EVERYWHERE, Block, Key, Share, Sharing, ShownBlock, Version, Writer
from bullpen.replacing import replace
from bullpen.storage import Transaction

BLOCKS: Final = 100  # of an agent in one place: all of them are in its prompt
VERSIONS: Final = 200  # of a block
DELETED: Final = 50  # of an agent in one place: deleted blocks that can still be brought back

# ── what an agent is shown ──────────────────────────────────────────────────────────────────────────────────────────


async def select_shown(tx: Transaction, agent_id: str, place: str) -> list[ShownBlock]:
    """The blocks that a prompt shows: those of the place stand in place of others of the same label."""
    shares = await rows.select_shares(tx, agent_id)
    shown = await _select_shared(tx, agent_id, shares)
    given = sharings(share for share in shares if share.owner_id == agent_id)
    own = await rows.select_blocks(tx, agent_id, *dict.fromkeys((EVERYWHERE, place)))
    for block in sorted(own, key=lambda block: block.space_id != EVERYWHERE):
        sharing = given.get((agent_id, block.label), Sharing()) if block.space_id == EVERYWHERE else Sharing()
        shown[block.label] = ShownBlock(block, sharing)
    return [shown[label] for label in sorted(shown)]


async def _select_shared(tx: Transaction, agent_id: str, shares: Sequence[Share]) -> dict[str, ShownBlock]:
    mine = [share for share in shares if share.reader_id == agent_id]
    if not mine:
        return {}
    found, given = await rows.select_shared(tx, mine), sharings(await rows.select_shares_of(tx, mine))
    return {
        share.label: ShownBlock(
            found[share.owner_id, share.label],
            given[share.owner_id, share.label],
            may_write=share.may_write,
            shared_by=share.owner_id,
        )
        for share in mine
        if (share.owner_id, share.label) in found
    }


def sharings(shares: Iterable[Share]) -> dict[tuple[str, str], Sharing]:
    """With whom each block is shared, by its owner and its label."""
    found: dict[tuple[str, str], Sharing] = {}
    for share in shares:
        before = found.get((share.owner_id, share.label), Sharing())
        field = "writers" if share.may_write else "readers"
        found[share.owner_id, share.label] = replace(before, **{field: (*getattr(before, field), share.reader_id)})
    return found


# ── changes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def find_for_run(tx: Transaction, agent_id: str, label: str, *, kept_for: str, shown_in: str) -> Key:
    """The block that an agent means by a label: the one that its prompt shows in this space, if there is one that the
    run may change; else its own that is kept for the other one."""
    own = await rows.select_blocks(tx, agent_id, *dict.fromkeys((EVERYWHERE, kept_for, shown_in)))
    there = {block.space_id for block in own if block.label == label}
    share = None if there else await rows.select_share(tx, agent_id, label)
    if share is None:
        # What the prompt shows for this space alone is what is rewritten, whatever may be kept for everywhere.
        return Key(agent_id, shown_in if kept_for == EVERYWHERE and shown_in in there else kept_for, label)
    if not share.may_write:
        raise Invalid(f"The block {label!r} is shared by {share.owner_id}, and you may only read it. {_ANOTHER}")
    if kept_for != EVERYWHERE:
        raise Invalid(
            f"The block {label!r} is shared with other agents, and what you learn here stays in this space. {_ANOTHER}"
        )
    return Key(share.owner_id, EVERYWHERE, label)


_ANOTHER: Final = "Write a block with another label."


async def write(
    tx: Transaction,
    key: Key,
    content: str,
    writer: Writer,
    *,
    outside: Sequence[str] = (),
    description: str | None = None,
    limit: int | None = None,
) -> Block:
    """The block as it is now. What is not given stays as it was."""
    before = await rows.select_block(tx, key)
    there = before is not None and not before.deleted
    model = before or await _model_of(tx, key)
    after = replace(
        model,
        content=content,
        updated_at=tx.clock.now(),
        outside=tuple(outside),
        description=model.description if description is None else " ".join(description.split()),
        size_limit=limit or model.size_limit,
        deleted=False,
    )
    _check_size(after)
    if not there:
        await _check_count(tx, key)
    if there and replace(after, updated_at=model.updated_at) == before:
        return model
    return await _keep(tx, after, writer)


async def _model_of(tx: Transaction, key: Key) -> Block:
    """What a new block begins with: one for a space is like the agent's own of its label."""
    own = await rows.select_block(tx, Key(key.agent_id, EVERYWHERE, key.label)) if key.space_id else None
    if own is not None and not own.deleted:
        return replace(own, space_id=key.space_id, version=0)
    return Block(key.agent_id, key.label, "", tx.clock.now(), space_id=key.space_id)


def _check_size(block: Block) -> None:
    if len(block.content) > block.size_limit:
        raise Invalid(
            f"This is {len(block.content):,} characters, and the block {block.label!r} holds {block.size_limit:,}. "
            "Nothing was changed. Shorten it, or move a part of it to another block.",
            fields={"content": f"{len(block.content)} characters, at most {block.size_limit}"},
        )


async def _check_count(tx: Transaction, key: Key) -> None:
    if len(await rows.select_blocks(tx, key.agent_id, key.space_id)) >= BLOCKS:
        raise Conflict(f"There are {BLOCKS} blocks already, which is the most. Write one of those, or delete one.")


async def _keep(tx: Transaction, block: Block, writer: Writer) -> Block:
    block = replace(block, version=await rows.put(tx, block))
    kept = Version(
        version=block.version,
        content=block.content,
        description=block.description,
        deleted=block.deleted,
        outside=block.outside,
        at=block.updated_at,
        by_kind=writer.kind,
        by_id=writer.id,
        token_id=writer.token_id,
        run_id=writer.run_id,
        reason=writer.reason,
    )
    await rows.insert_version(tx, block.key, kept)
    await rows.delete_old_versions(tx, block.key, block.version - VERSIONS)
    tell_change(tx, block, writer)
    return block


async def delete(tx: Transaction, key: Key, writer: Writer) -> Block:
    """What it was can be brought back, until many others were deleted after it."""
    block = await get(tx, key)
    after = replace(block, content="", outside=(), deleted=True, updated_at=tx.clock.now())
    after = await _keep(tx, after, writer)
    if key.space_id == EVERYWHERE:
        await rows.delete_shares(tx, key.agent_id, key.label)
    for label in await rows.select_deleted(tx, key.agent_id, key.space_id, DELETED):
        await rows.delete_row(tx, key._replace(label=label))
    return after


async def forget(tx: Transaction, key: Key, writer: Writer) -> None:
    """Take it away with all that it was, a deleted one as well."""
    block = await rows.select_block(tx, key)
    if block is None:
        raise _not_there(key)
    if key.space_id == EVERYWHERE:
        await rows.delete_shares(tx, key.agent_id, key.label)
    await rows.delete_row(tx, key)
    tell_change(tx, replace(block, content="", deleted=True, version=block.version + 1), writer)


async def revert(tx: Transaction, key: Key, version: int, writer: Writer) -> Block:
    """Write once more what the block was then. It has the sources that it had then."""
    kept = await _version(tx, key, version)
    if kept.deleted:
        raise Invalid(
            f"In version {version} the block {key.label!r} was deleted. Choose another version, or delete it."
        )
    writer = replace(writer, reason=writer.reason or f"Back to version {version}.")
    return await write(tx, key, kept.content, writer, outside=kept.outside, description=kept.description)


async def share(tx: Transaction, key: Key, sharing: Sharing) -> None:
    """Share the block with these agents and no others. The caller has checked that they are there."""
    if key.space_id != EVERYWHERE:
        raise Invalid("A block that is kept for one space cannot be shared.", fields={"shared": "not with spaceId"})
    await rows.delete_shares(tx, key.agent_id, key.label)
    for reader_id in dict.fromkeys((*sharing.writers, *sharing.readers)):
        if reader_id == key.agent_id:
            raise Invalid("An agent cannot share a block with itself.", fields={"shared": f"not with {reader_id}"})
        own = await rows.select_block(tx, Key(reader_id, EVERYWHERE, key.label))
        taken = own is not None and not own.deleted
        given = Share(reader_id, key.label, key.agent_id, may_write=reader_id in sharing.writers)
        if taken or not await rows.insert_share(tx, given):
            raise Conflict(
                f"{reader_id!r} has a block {key.label!r} already, or is shown one of another agent. "
                "Share this one under another label."
            )


# ── what they were ──────────────────────────────────────────────────────────────────────────────────────────────────


async def get(tx: Transaction, key: Key) -> Block:
    block = await rows.select_block(tx, key)
    if block is None or block.deleted:
        raise _not_there(key)
    return block


async def compare(tx: Transaction, key: Key, old: int, new: int) -> str:
    """A unified diff of two versions."""
    one, other = await _version(tx, key, old), await _version(tx, key, new)
    return compare_texts(one.content, other.content, old, new)


async def _version(tx: Transaction, key: Key, version: int) -> Version:
    found = await rows.select_version(tx, key, version)
    if found is None:
        raise NotFound(f"The block {key.label!r} of {key.agent_id!r} has no version {version}, or not any more.")
    return found


def _not_there(key: Key) -> NotFound:
    where = f" for {key.space_id!r}" if key.space_id else ""
    return NotFound(f"{key.agent_id!r} has no block {key.label!r}{where}.")
