"""Export and erasure: everything kept of a space, a person or an agent, to take along or to forget."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from bullpen.access import actions as people
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.api.body import CappedRoute
from bullpen.api.door import LOCAL, Caller, Office, Store
from bullpen.api.pages import answer
from bullpen.operations import erasing
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.upkeep import export
from bullpen.upkeep.rules import Kind, Target
from bullpen.wire.nouns import Erased

router = APIRouter(route_class=CappedRoute, tags=["upkeep"])

LINES = "application/x-ndjson"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {LINES: {}}, "description": "Lines of JSON, each with its `type`."}
}


def _streamed(store: Store, kind: Kind, id: str, readable: set[str] | None, journals: bool) -> Response:
    found = export.lines(store.untimed, kind, id, readable=readable, journals=journals)
    name = f'attachment; filename="{kind}.jsonl"'
    return StreamingResponse(found, media_type=LINES, headers={"Content-Disposition": name})


async def _readable(request: Request, store: Store, caller: Principal) -> set[str] | None:
    """Whoever holds the machine holds all of it; an owner elsewhere is shown no private talk of others."""
    if request.scope.get(LOCAL):
        return None
    return await store.read(lambda tx: spaces.readable(tx, caller, None))


@router.get("/spaces/{id}/export", response_class=StreamingResponse, responses=_ANSWERS)
async def export_space(id: str, caller: Caller, store: Store) -> Response:
    """The space, its messages and runs; for owners also what agents thought in them."""
    room = await store.read(lambda tx: spaces.room_for(tx, caller, "manage_space", id))
    return _streamed(store, "space", room.id, None, journals=access.allows(caller, "operate"))


@router.get("/people/{id}/export", response_class=StreamingResponse, responses=_ANSWERS)
async def export_person(id: str, request: Request, caller: Caller, store: Store) -> Response:
    """Who they are, where they are and what they said. Everybody may have this of themselves."""
    if caller.kind != "person" or caller.id != id:
        access.authorize(caller, "operate")
        readable = await _readable(request, store, caller)
    else:
        access.authorize(caller, "list_people")
        readable = None
    await store.read(lambda tx: people.get_person(tx, id))
    return _streamed(store, "person", id, readable, journals=False)


@router.get("/agents/{id}/export", response_class=StreamingResponse, responses=_ANSWERS)
async def export_agent(id: str, request: Request, caller: Caller, store: Store) -> Response:
    """What it is, remembers, said and did."""
    access.authorize(caller, "operate")
    await store.read(lambda tx: agents.get(tx, id))
    return _streamed(store, "agent", id, await _readable(request, store, caller), journals=True)


async def _erase(office: Office, store: Store, caller: Principal, kind: Kind, id: str) -> Response:
    async def body(tx: Transaction) -> Target:
        return await erasing.begin(tx, caller, kind, id)

    target = await store.transact(body)
    office.forget_local_owner()
    await office.finish_erasures()
    return answer(Erased(kind=kind, id=target.id))


@router.delete("/spaces/{id}", response_model=Erased)
async def erase_space(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """The space and everything in it, for good. Answers when it is done; what is under way is stopped."""
    return await _erase(office, store, caller, "space", id)


@router.post("/people/{id}/erase", response_model=Erased)
async def erase_person(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Their name, sign-in, words and reactions, and their DMs with agents, for good."""
    return await _erase(office, store, caller, "person", id)


@router.post("/agents/{id}/erase", response_model=Erased)
async def erase_agent(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Its definition, memory, journals and words, for good."""
    return await _erase(office, store, caller, "agent", id)
