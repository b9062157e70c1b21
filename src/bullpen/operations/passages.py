"""Passages of agents and of spaces, as people see and change them, and agents by their own token.

A passage is read by those who may read the space that it is for, or was learned in; one of no space by those who may
look into its agent. What is for one space may be changed and deleted by the people of that space, anything else that an
agent knows by those who manage agents. What somebody may not read does not exist for them. In a run an agent uses its
tools instead (`toolbox/memory`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.audit.actions import note
from bullpen.errors import Forbidden, Invalid, NotFound
from bullpen.memory import actions, expiry, rows, rules
from bullpen.memory.actions import Wish
from bullpen.memory.search import LAST, Asked, Readers
from bullpen.memory.types import Origin, Stored
from bullpen.replacing import replace
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.wire.nouns import Passage
from bullpen.wire.requests import CreatePassage, UpdatePassage

MOST_SCOPES = 200  # private spaces of one agent that a list looks into
DEEPEST = 1_000  # of a ranked list; whoever looks further asks for something else


@dataclass(frozen=True, slots=True)
class Listed:
    items: list[Passage]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What a list shows."""

    query: str = ""
    tags: Sequence[str] = ()
    limit: int = 50
    cursor: str | None = None


# ── seeing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def list_of_agent(tx: Transaction, caller: Principal, agent_id: str, look: Look) -> Listed:
    """Those of an agent that the caller may read."""
    access.authorize(caller, "see_agent", Thing("agent", agent_id))
    await agents.get(tx, agent_id)
    inside = access.allows(caller, "see_inside_agent", Thing("agent", agent_id, holder=agent_id))
    readable = await spaces.readable(tx, caller, None)
    own = rules.agent_scope(agent_id)
    scopes = [own, *await rows.select_scopes(tx, f"{own}/", MOST_SCOPES)]
    return await _list(tx, Asked(scopes, readers=Readers(tuple(sorted(readable)), inside)), look)


async def list_of_space(tx: Transaction, caller: Principal, space_id: str, look: Look) -> Listed:
    """What is in the store of a space."""
    room = await spaces.readable_room(tx, caller, space_id)
    return await _list(tx, Asked([rules.space_scope(room.id)]), look)


async def _list(tx: Transaction, asked: Asked, look: Look) -> Listed:
    """Newest first, by id; or the best first, by how many were shown before."""
    asked = replace(asked, query=look.query, tags=look.tags)
    if not look.query.strip():
        found = await actions.find(tx, replace(asked, limit=look.limit, before=look.cursor or LAST))
        following = found[-1].stored.id if len(found) == look.limit else None
        return Listed([actions.on_the_wire(each.stored) for each in found], following)
    shown = _read_offset(look.cursor)
    found = (await actions.find(tx, replace(asked, limit=shown + look.limit)))[shown:]
    more = len(found) == look.limit and shown + look.limit < DEEPEST
    return Listed(
        [actions.on_the_wire(each.stored, each.score) for each in found], str(shown + look.limit) if more else None
    )


def _read_offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and int(cursor[:5]) <= DEEPEST):
        raise Invalid("This cursor does not belong to a search.", fields={"cursor": "is not of a search"})
    return int(cursor[:5])


async def get(tx: Transaction, caller: Principal, id: str) -> Passage:
    return actions.on_the_wire(await _visible(tx, caller, id))


async def _visible(tx: Transaction, caller: Principal, id: str) -> Stored:
    stored = await rows.select_passage(tx, id)
    if stored is None or _is_over(tx, stored) or not await _may_read(tx, caller, stored):
        raise NotFound(f"There is no passage {id!r}.")
    return stored


def _is_over(tx: Transaction, stored: Stored) -> bool:
    return stored.expires_at is not None and stored.expires_at <= tx.clock.millis()


async def _may_read(tx: Transaction, caller: Principal, stored: Stored) -> bool:
    if stored.read_in is not None:
        return stored.read_in in await spaces.readable(tx, caller, [stored.read_in])
    return access.allows(caller, "see_inside_agent", _agent(stored))


def _agent(stored: Stored) -> Thing:
    return Thing("agent", stored.agent_id or "", holder=stored.agent_id)


# ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def store_for_agent(
    tx: Transaction, caller: Principal, agent_id: str, request: CreatePassage, *, most: int
) -> tuple[Passage, bool]:
    """The passage, and whether it is new. With `spaceId` the agent knows it in that space alone."""
    access.authorize(caller, "change_inside_agent", Thing("agent", agent_id, holder=agent_id))
    await agents.get(tx, agent_id)
    place = rules.Place(rules.agent_scope(agent_id))
    if request.space_id is not None:
        room = await spaces.readable_room(tx, caller, request.space_id)
        scope = rules.group_scope if room.stays else rules.private_scope
        if room.stays or (not room.main and (room.private or room.kind != "channel")):
            place = rules.Place(scope(agent_id, room.id), room.id, room.id)
        else:
            place = replace(place, learned_in=room.id)
    return await _store(tx, caller, place, agent_id, request, most)


async def store_for_space(
    tx: Transaction, caller: Principal, space_id: str, request: CreatePassage, *, most: int
) -> tuple[Passage, bool]:
    """For all agents of the space."""
    room = await spaces.writable_room(tx, caller, space_id)
    if request.space_id not in (None, room.id):
        raise Invalid("A space keeps what is its own.", fields={"spaceId": "is another space"})
    return await _store(tx, caller, rules.Place(rules.space_scope(room.id), room.id, room.id), None, request, most)


async def _store(
    tx: Transaction, caller: Principal, place: rules.Place, agent_id: str | None, request: CreatePassage, most: int
) -> tuple[Passage, bool]:
    wish = Wish(
        content=request.content,
        tags=list(request.tags),
        metadata=request.metadata,
        supersedes=request.supersedes,
        expires_at=None if request.expires_at is None else expiry.read(request.expires_at, tx.clock.millis()),
    )
    origin = Origin(person_id=caller.id if caller.kind == "person" else None)
    came = await actions.store(tx, place, agent_id, wish, origin, most=most)
    return actions.on_the_wire(came.stored), came.is_new


async def correct(tx: Transaction, caller: Principal, id: str, request: UpdatePassage) -> Passage:
    """Whoever writes its content makes it theirs: it is not from outside any more."""
    stored = await _changeable(tx, caller, id)
    said: dict[str, Any] = {}
    if request.content is not None:
        said |= {"content": request.content, "outside": ()}
    if request.tags is not None:
        said["tags"] = tuple(request.tags)
    if request.metadata is not None:
        said["metadata"] = request.metadata
    if "expires_at" in request.model_fields_set:
        at = request.expires_at
        said["expires_at"] = None if at is None else expiry.read(at, tx.clock.millis())
    corrected = await actions.correct(tx, replace(stored, **said), caller.id)
    note(tx, caller, "passage.corrected", "passage", id, agentId=stored.agent_id, spaceId=stored.space_id)
    return actions.on_the_wire(corrected)


async def delete(tx: Transaction, caller: Principal, id: str) -> None:
    stored = await _changeable(tx, caller, id)
    await actions.remove(tx, stored)
    note(tx, caller, "passage.deleted", "passage", id, agentId=stored.agent_id, spaceId=stored.space_id)


async def _changeable(tx: Transaction, caller: Principal, id: str) -> Stored:
    stored = await _visible(tx, caller, id)
    if stored.agent_id is not None and access.allows(caller, "change_inside_agent", _agent(stored)):
        return stored
    if stored.space_id is None or (stored.agent_id is not None and caller.kind != "person"):
        raise Forbidden("What an agent remembers is changed by the agent itself and by those who manage agents.")
    await spaces.writable_room(tx, caller, stored.space_id)
    return stored
