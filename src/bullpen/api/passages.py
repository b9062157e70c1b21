"""Passages: what agents have stored, and what spaces remember."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Cursor, Limit, Page, answer
from bullpen.operations import passages
from bullpen.operations.passages import Listed, Look
from bullpen.wire.nouns import Passage
from bullpen.wire.requests import CreatePassage, UpdatePassage

router = APIRouter(route_class=CappedRoute, tags=["memory"])

Search = Annotated[str, Query(max_length=1000, description="Words to look for, in any case. None: the newest.")]
Tags = Annotated[Sequence[str], Query(max_length=50, description="Only passages with all of these tags.")]


def _look(q: str, tags: Sequence[str], limit: int, cursor: str | None) -> Look:
    split = [tag for said in tags for tag in said.replace("\x00", "").split(",") if tag]
    return Look(q.replace("\x00", ""), split, limit, cursor)


def _page(found: Listed) -> Response:
    more = {"next": found.next, "note": found.note}
    return answer({"items": found.items, **{name: value for name, value in more.items() if value is not None}})


class PassagePage(Page[Passage]):
    note: str | None = None  # what was not searched


@router.get("/agents/{id}/passages", response_model=PassagePage)
async def list_passages(
    id: str,
    caller: Caller,
    office: Office,
    store: Store,
    q: Search = "",
    tags: Tags = (),
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What an agent has stored, as far as you may read it: the best matches first, or else the newest."""
    find = partial(passages.where_in_agent, caller=caller, agent_id=id)
    look = await passages.look_for_meaning(store, office.meaning, find, _look(q, tags, limit, cursor))
    return _page(await store.read(lambda tx: passages.list_of_agent(tx, caller, id, look)))


@router.get("/spaces/{id}/passages", response_model=PassagePage)
async def list_passages_of_space(
    id: str,
    caller: Caller,
    office: Office,
    store: Store,
    q: Search = "",
    tags: Tags = (),
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What a space remembers for its agents: the best matches first, or else the newest."""
    find = partial(passages.where_in_space, caller=caller, space_id=id)
    look = await passages.look_for_meaning(store, office.meaning, find, _look(q, tags, limit, cursor))
    return _page(await store.read(lambda tx: passages.list_of_space(tx, caller, id, look)))


@router.post("/agents/{id}/passages", status_code=201, response_model=Passage)
async def create_passage(id: str, request: CreatePassage, caller: Caller, office: Office, store: Store) -> Response:
    """The same content again answers 200 with the first passage."""
    most = office.settings.memory.passages_per_scope
    passage, new = await store.transact(lambda tx: passages.store_for_agent(tx, caller, id, request, most=most))
    return answer(passage, 201 if new else 200)


@router.post("/spaces/{id}/passages", status_code=201, response_model=Passage)
async def create_passage_of_space(
    id: str, request: CreatePassage, caller: Caller, office: Office, store: Store
) -> Response:
    """For all agents of the space. The same content again answers 200 with the first passage."""
    most = office.settings.memory.passages_per_scope
    passage, new = await store.transact(lambda tx: passages.store_for_space(tx, caller, id, request, most=most))
    return answer(passage, 201 if new else 200)


@router.get("/passages/{id}", response_model=Passage)
async def get_passage(id: str, caller: Caller, store: Store) -> Response:
    return answer(await store.read(lambda tx: passages.get(tx, caller, id)))


@router.patch("/passages/{id}", response_model=Passage)
async def update_passage(id: str, request: UpdatePassage, caller: Caller, store: Store) -> Response:
    """Correct it. Who did, and when, stands in `updatedBy` and `updatedAt`."""
    return answer(await store.transact(lambda tx: passages.correct(tx, caller, id, request)))


@router.delete("/passages/{id}", status_code=204, response_class=Response)
async def delete_passage(id: str, caller: Caller, store: Store) -> Response:
    """What it had replaced is found again."""
    await store.transact(lambda tx: passages.delete(tx, caller, id))
    return Response(status_code=204)
