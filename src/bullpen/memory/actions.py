"""Store, find, correct and delete passages, and tell of blocks that changed.

Exact duplicates are kept once. Who may is for callers to check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from bullpen import ids
from bullpen.clock import Clock
from bullpen.errors import Conflict, Invalid
from bullpen.events.actions import record
from bullpen.memory import copies, near, rows, search
from bullpen.memory.rules import Place
from bullpen.memory.types import Block, Origin, Stored, Writer
from bullpen.replacing import replace
from bullpen.storage import Transaction, fragments
from bullpen.wire.events import BlockUpdated, ChangedBlock, PassageStored, StoredPassage
from bullpen.wire.nouns import Learned, Passage


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to be remembered."""

    content: str
    tags: Sequence[str] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    outside: Sequence[str] = ()  # what its writer had read from outside the office
    supersedes: str | None = None
    expires_at: int | None = None
    id: str | None = None  # of the passage, if somebody has named it before


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a wish: the passage, whether it is new, and an earlier one that says almost the same."""

    stored: Stored
    is_new: bool
    similar: Stored | None = None


def tell_change(tx: Transaction, block: Block, writer: Writer) -> None:
    """That a block is another now, without its words: followers who may see them ask for them."""
    changed = ChangedBlock(
        label=block.label,
        version=block.version,
        by=writer.id,
        deleted=block.deleted or None,
        characters=len(block.content),
        limit=block.size_limit,
    )
    place = block.space_id or None
    event = BlockUpdated(space_id=place, agent_id=block.agent_id, run_id=writer.run_id, block=changed)
    record(tx, event, audience="owners")


async def store(
    tx: Transaction, place: Place, agent_id: str | None, wish: Wish, origin: Origin, *, most: int = 0
) -> Came:
    """Keep it. `agent_id` None: in the store of the place's space. `most`: passages of one scope; 0 limits nothing."""
    folded, hash = fragments.folded(wish.content, wish.tags), _hash(place, wish.content)
    earlier = None if wish.supersedes is None else await _replaceable(tx, place, wish.supersedes)
    stored = Stored(
        id=wish.id or ids.passage(),
        scope=place.scope,
        agent_id=agent_id,
        space_id=place.space_id,
        content=wish.content,
        tags=tuple(wish.tags),
        metadata=wish.metadata,
        created_at=tx.clock.now(),
        outside=tuple(wish.outside),
        learned_in=place.learned_in,
        run_id=origin.run_id,
        message_id=origin.message_id,
        person_id=origin.person_id,
        supersedes=None if earlier is None else earlier.id,
        expires_at=wish.expires_at,
    )
    first = await rows.select_by_hash(tx, place.scope, hash)
    if first is None:
        await _check_room(tx, place.scope, most)
        similar = None if earlier is not None else await near.find(tx, place.scope, folded)
        if await rows.insert_passage(tx, stored, folded=folded, hash=hash):
            await _stand_in(tx, earlier, stored)
            _tell(tx, stored)
            return Came(stored, True, similar)
        first = await rows.select_by_hash(tx, place.scope, hash)
    assert first is not None
    return Came(await _again(tx, first, wish, earlier, folded), False)


async def _again(tx: Transaction, first: Stored, wish: Wish, earlier: Stored | None, folded: str) -> Stored:
    """It is there already. Said by somebody who had read nothing outside, it is not the words of a page."""
    if first.outside and not wish.outside:
        await rows.clear_sources(tx, first, wish.tags, folded)
        first = replace(first, outside=(), tags=tuple(wish.tags))
    if first.superseded_by is not None or _is_over(tx.clock, first):
        first = replace(first, superseded_by=None, expires_at=wish.expires_at)
        await rows.revive(tx, first, fragments.folded(first.content, first.tags))
    if earlier is not None and earlier.id != first.id:
        await _stand_in(tx, earlier, first)
    return first


def is_in_force(clock: Clock, stored: Stored) -> bool:
    return stored.superseded_by is None and not _is_over(clock, stored)


def _is_over(clock: Clock, stored: Stored) -> bool:
    return stored.expires_at is not None and stored.expires_at <= clock.millis()


async def _stand_in(tx: Transaction, earlier: Stored | None, stored: Stored) -> None:
    if earlier is not None:
        await rows.supersede(tx, earlier.id, stored.id)
        await rows.set_supersedes(tx, stored.id, earlier.id)


async def _replaceable(tx: Transaction, place: Place, id: str) -> Stored:
    """Only what is kept in the same place: nothing that is said in one space can hide what is known in others."""
    found = await rows.select_passage(tx, id)
    if found is None or found.scope != place.scope:
        raise Invalid(f"There is no passage {id!r} here that could be replaced.", fields={"supersedes": "is not here"})
    return found


async def find_same(tx: Transaction, place: Place, content: str) -> Stored | None:
    """The passage that says exactly this already."""
    return await rows.select_by_hash(tx, place.scope, _hash(place, content))


async def _check_room(tx: Transaction, scope: str, most: int) -> None:
    if most and await rows.count_passages(tx, scope) >= most:
        raise Conflict(f"There are {most:,} passages here already, and no more fit. Delete some first.")


def _hash(place: Place, content: str) -> str:
    return sha256((content if place.space_id is None else f"{place.space_id}\n{content}").encode()).hexdigest()


def _tell(tx: Transaction, stored: Stored) -> None:
    """Words are not part of it: an event is kept for a while, and a passage may be deleted."""
    about = StoredPassage(id=stored.id, space_id=stored.space_id, supersedes=stored.supersedes)
    space_id, run_id = stored.read_in, stored.run_id
    record(tx, PassageStored(space_id=space_id, agent_id=stored.agent_id, run_id=run_id, passage=about))


# ── finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Found:
    stored: Stored
    score: float | None
    similarity: float | None = None


async def find(tx: Transaction, asked: search.Asked) -> list[Found]:
    """The best first; without a word in the query, the newest."""
    hits = await search.search(tx, asked)
    there = {stored.id: stored for stored in await rows.select_passages(tx, [hit.id for hit in hits])}
    return [Found(there[hit.id], hit.score, hit.similarity) for hit in hits if hit.id in there]


# ── correcting and deleting ─────────────────────────────────────────────────────────────────────────────────────────


async def correct(tx: Transaction, stored: Stored, by: str) -> Stored:
    """It says this now. Who had changed its content keeps the passage that says so already."""
    now = replace(stored, updated_at=tx.clock.now(), updated_by=by)
    hash = _hash(Place(now.scope, now.space_id), now.content)
    same = await rows.select_by_hash(tx, now.scope, hash)
    if same is not None and same.id != now.id:
        raise Conflict(f"{same.id} says the same already. Delete one of them.")
    await rows.correct_passage(tx, now, folded=fragments.folded(now.content, now.tags), hash=hash)
    await copies.change(tx, now.id)
    _tell(tx, now)
    return now


async def remove(tx: Transaction, stored: Stored) -> None:
    """What it stood in place of is found again."""
    await rows.delete_these(tx, [(stored.id, stored.scope)])
    earlier = None if stored.supersedes is None else await rows.select_passage(tx, stored.supersedes)
    if earlier is not None and earlier.superseded_by == stored.id:
        await rows.revive(tx, replace(earlier, superseded_by=None), fragments.folded(earlier.content, earlier.tags))


def on_the_wire(stored: Stored, score: float | None = None, similarity: float | None = None) -> Passage:
    return Passage(
        id=stored.id,
        agent_id=stored.agent_id,
        space_id=stored.space_id,
        content=stored.content,
        tags=list(stored.tags),
        metadata=stored.metadata,
        created_at=stored.created_at,
        score=score,
        similarity=None if similarity is None else round(similarity, 3),
        outside=list(stored.outside),
        learned=Learned(
            space_id=stored.learned_in,
            run_id=stored.run_id,
            message_id=stored.message_id,
            person_id=stored.person_id,
            at=stored.created_at,
        ),
        supersedes=stored.supersedes,
        superseded_by=stored.superseded_by,
        expires_at=None if stored.expires_at is None else Clock.at(stored.expires_at),
        updated_at=stored.updated_at,
        updated_by=stored.updated_by,
    )
