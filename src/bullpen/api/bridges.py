"""Bridges to chats elsewhere: how they are, what waits to be sent, and what to do about entries that are dead."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.api.body import CappedRoute
from bullpen.api.door import Office, Owner, Store
from bullpen.api.pages import Limit, Page, answer, page
from bullpen.errors import NotFound
from bullpen.outbox import actions, rows
from bullpen.outbox.types import Entry
from bullpen.storage import Transaction
from bullpen.wire.nouns import Bridge, OutboxEntry

router = APIRouter(prefix="/bridges", route_class=CappedRoute, tags=["bridges"])

NEWEST = 2**62
Number = Annotated[int | None, Query(ge=0, le=NEWEST, description="`next` of the page before.")]


@router.get("", response_model=Page[Bridge])
async def list_bridges(caller: Owner, office: Office, store: Store) -> Response:
    """All that were ever connected; `off` are those that no process here runs."""
    health = await office.bridges.health()

    async def body(tx: Transaction) -> list[Bridge]:
        known = await rows.select_bridges(tx)
        return [actions.describe(id, await rows.select_queue(tx, id), health.get(id)) for id in known]

    return answer({"items": await store.read(body)})


@router.get("/{id}/dead", response_model=Page[OutboxEntry])
async def list_dead(id: str, caller: Owner, store: Store, limit: Limit = 50, cursor: Number = None) -> Response:
    """What could not be sent, and why; newest first."""
    before = NEWEST if cursor is None else cursor

    async def body(tx: Transaction) -> list[Entry]:
        if id not in await rows.select_bridges(tx):
            raise NotFound(f"There is no bridge {id!r}.")
        return await rows.select_dead(tx, id, before=before, limit=limit)

    found = [actions.to_wire(entry) for entry in await store.read(body)]
    return page(found, limit, lambda entry: entry.id)


@router.post("/{id}/dead/{entry_id}/retry", response_model=OutboxEntry)
async def retry_dead(id: str, entry_id: str, caller: Owner, office: Office, store: Store) -> Response:
    """Send it after all. It goes before what was said later and is not sent yet."""
    entry = await store.transact(lambda tx: actions.retry(tx, caller, id, entry_id))
    office.bridges.hint()
    return answer(entry)


@router.delete("/{id}/dead/{entry_id}", status_code=204, response_class=Response)
async def drop_dead(id: str, entry_id: str, caller: Owner, store: Store) -> Response:
    """Never send it."""
    await store.transact(lambda tx: actions.drop(tx, caller, id, entry_id))
    return Response(status_code=204)
