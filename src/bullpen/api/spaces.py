"""Spaces and their members."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.operations import spaces as operations
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.wire import Space
from bullpen.wire.events import PersonTyping, ReadMark, SpaceRead
from bullpen.wire.nouns import PinnedMessage, SpaceContents, SpaceKind
from bullpen.wire.requests import AddMember, CreateSpace, MarkRead, UpdateSpace

Kind = Annotated[SpaceKind | None, Query(description="Only those of this kind.")]

router = APIRouter(prefix="/spaces", route_class=CappedRoute, tags=["spaces"])


@router.post("", status_code=201, response_model=Space)
async def create_space(request: CreateSpace, caller: Caller, office: Office, store: Store) -> Response:
    """A group that is the main one, or a chat elsewhere, takes the right to register groups."""
    access.authorize(caller, "create_space")
    spaces.check_group(caller, request)
    office.models.check_choice(request.provider, request.model)
    return answer(await store.transact(lambda tx: spaces.create(tx, request, caller)), 201)


@router.get("", response_model=Page[Space])
async def list_spaces(
    caller: Caller, store: Store, kind: Kind = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Those the caller is in, and public ones, for people. Without the right to read there are none."""
    if "read_space" not in caller.grants:
        return page([], limit, lambda space: space.created_at)
    is_person = caller.kind == "person"
    found = await store.read(
        lambda tx: rows.select_spaces(
            tx,
            caller.id,
            is_owner=is_person and caller.is_owner,
            is_person=is_person,
            kind=kind or "",
            before=cursor or LAST,
            limit=limit,
        )
    )
    return page(found, limit, lambda space: space.created_at)


@router.get("/{id}", response_model=Space)
async def get_space(id: str, caller: Caller, store: Store) -> Response:
    return answer(await store.read(lambda tx: spaces.get(tx, caller, id)))


@router.patch("/{id}", response_model=Space)
async def update_space(id: str, request: UpdateSpace, caller: Caller, office: Office, store: Store) -> Response:
    office.models.check_choice(request.provider, request.model)
    return answer(await store.transact(lambda tx: operations.update(tx, caller, id, request)))


@router.get("/{id}/contents", response_model=SpaceContents)
async def get_contents(id: str, caller: Caller, store: Store) -> Response:
    """How much there is in it, and so what goes when it is deleted."""
    return answer(await store.read(lambda tx: operations.count_contents(tx, caller, id)))


@router.post("/{id}/members", status_code=201, response_model=Space)
async def add_member(id: str, request: AddMember, caller: Caller, store: Store) -> Response:
    return answer(await store.transact(lambda tx: spaces.add_member(tx, caller, id, request.member_id)), 201)


@router.delete("/{id}/members/{member_id}", status_code=204, response_class=Response)
async def remove_member(id: str, member_id: str, caller: Caller, store: Store) -> Response:
    await store.transact(lambda tx: spaces.remove_member(tx, caller, id, member_id))
    return Response(status_code=204)


@router.post("/{id}/read", response_model=Space)
async def mark_read(id: str, request: MarkRead, caller: Caller, office: Office, store: Store) -> Response:
    """Read up to a number, never beyond the last. A lower one marks what follows it as unread again; the caller's other
    devices hear of it."""
    space, moved = await store.transact(lambda tx: spaces.mark_read(tx, caller, id, request.seq))
    if moved:
        read = ReadMark(seq=space.read_seq, unread=space.unread, mentions=space.mentions)
        office.feed.publish(SpaceRead(space_id=space.id, read=read), reader_id=caller.id)
    return answer(space)


@router.get("/{id}/pins", response_model=Page[PinnedMessage])
async def list_pins(id: str, caller: Caller, store: Store) -> Response:
    """Messages that members have pinned, the newest pin first: at most a hundred."""
    return answer({"items": await store.read(lambda tx: spaces.pins(tx, caller, id))})


@router.post("/{id}/typing", status_code=204, response_class=Response)
async def tell_typing(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Say that you are writing here. Whoever may read the space is told, and nothing is kept.

    Say it again every few seconds while it goes on. Nobody is told when it ends.
    """
    office.limits.typing.take(caller.id)
    room = await store.read(lambda tx: spaces.room_for(tx, caller, "tell_typing", id))
    office.feed.publish(PersonTyping(space_id=room.id, person_id=caller.id))
    return Response(status_code=204)
