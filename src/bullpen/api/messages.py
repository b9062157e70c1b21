"""Messages and reactions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Limit, Page, answer
from bullpen.operations.say import Said, say
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows
from bullpen.storage import Transaction
from bullpen.wire import Message
from bullpen.wire.nouns import PinnedMessage
from bullpen.wire.requests import AddReaction, CreateMessage, EditMessage

router = APIRouter(route_class=CappedRoute, tags=["messages"])

Seq = Annotated[int | None, Query(ge=0, le=2**62)]


@router.post("/spaces/{space_id}/messages", status_code=201, response_model=Message)
async def post_message(
    space_id: str, request: CreateMessage, http: Request, caller: Caller, office: Office, store: Store
) -> Response:
    office.limits.take_message(caller.id, http.scope)

    async def body(tx: Transaction) -> Said:
        return await say(
            tx,
            caller,
            space_id,
            request.text,
            office.posting,
            attachments=request.attachments,
            reply_to=request.reply_to,
            client_message_id=request.client_message_id,
        )

    said = await store.transact(body)
    return answer(said.draft.done(), 201)


@router.get("/spaces/{space_id}/messages", response_model=Page[Message])
async def list_messages(
    space_id: str, caller: Caller, store: Store, before: Seq = None, after: Seq = None, limit: Limit = 50
) -> Response:
    async def body(tx: Transaction) -> list[Message]:
        room = await spaces.readable_room(tx, caller, space_id)
        return await rows.select_messages(tx, room.id, before=before, after=after, limit=limit)

    found = await store.read(body)
    page: dict[str, Any] = {"items": found}
    if len(found) == limit:
        page["next"] = str(found[-1].seq if after is not None else found[0].seq)
    return answer(page)


@router.get("/messages/{id}", response_model=Message)
async def get_message(id: str, caller: Caller, store: Store) -> Response:
    return answer(await store.read(lambda tx: spaces.get_message(tx, caller, id)))


@router.patch("/messages/{id}", response_model=Message)
async def edit_message(id: str, request: EditMessage, caller: Caller, office: Office, store: Store) -> Response:
    office.limits.edits.take(caller.id)
    seen = {"seen": request.edited_at} if "edited_at" in request.model_fields_set else {}
    return answer(await store.transact(lambda tx: spaces.edit(tx, caller, id, request.text, **seen)))


@router.delete("/messages/{id}", response_model=Message)
async def delete_message(id: str, caller: Caller, office: Office, store: Store) -> Response:
    office.limits.edits.take(caller.id)
    return answer(await store.transact(lambda tx: spaces.delete(tx, caller, id)))


@router.post("/messages/{id}/reactions", status_code=201, response_model=Message)
async def add_reaction(id: str, request: AddReaction, caller: Caller, office: Office, store: Store) -> Response:
    office.limits.reactions.take(caller.id)

    async def body(tx: Transaction) -> Message:
        message = await spaces.get_message(tx, caller, id)
        await spaces.writable_room(tx, caller, message.space_id)
        await spaces.react(tx, message, caller.id, request.emoji)
        return await spaces.get_message(tx, caller, id)

    return answer(await store.transact(body), 201)


@router.delete("/messages/{id}/reactions/{emoji:path}", response_model=Message)
async def remove_reaction(id: str, emoji: str, caller: Caller, office: Office, store: Store) -> Response:
    office.limits.reactions.take(caller.id)

    async def body(tx: Transaction) -> Message:
        message = await spaces.get_message(tx, caller, id)
        await spaces.writable_room(tx, caller, message.space_id)
        await spaces.unreact(tx, message, caller.id, emoji)
        return await spaces.get_message(tx, caller, id)

    return answer(await store.transact(body))


@router.put("/messages/{id}/pin", response_model=PinnedMessage)
async def pin_message(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Keep it at hand for everybody in the space. Whoever may post there may pin."""
    office.limits.reactions.take(caller.id)
    return answer(await store.transact(lambda tx: spaces.pin(tx, caller, id)))


@router.delete("/messages/{id}/pin", status_code=204, response_class=Response)
async def unpin_message(id: str, caller: Caller, office: Office, store: Store) -> Response:
    office.limits.reactions.take(caller.id)
    await store.transact(lambda tx: spaces.unpin(tx, caller, id))
    return Response(status_code=204)
