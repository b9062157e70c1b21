"""Webhooks: addresses that their people are told at. Everybody has their own; owners see that they are there."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.storage import Transaction
from bullpen.webhooks import actions, rows, rules
from bullpen.webhooks.types import Address
from bullpen.wire.nouns import Delivery, NewWebhook, Webhook, WebhookTest
from bullpen.wire.requests import CreateWebhook, UpdateWebhook

router = APIRouter(prefix="/webhooks", route_class=CappedRoute, tags=["webhooks"])


def _shown(webhook: Webhook, caller: Principal) -> Webhook:
    return webhook if webhook.person_id == caller.id else actions.shown_to_others(webhook)


@router.get("", response_model=Page[Webhook])
async def list_webhooks(caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Owners see all, everybody else their own."""
    access.authorize(caller, "list_webhooks")
    person_id = None if access.allows(caller, "operate") else caller.id
    found = await store.read(
        lambda tx: rows.select_webhooks(tx, before=cursor or LAST, limit=limit, person_id=person_id)
    )
    return page([_shown(webhook, caller) for webhook in found], limit, lambda webhook: webhook.id)


@router.post("", status_code=201, response_model=NewWebhook)
async def create_webhook(request: CreateWebhook, caller: Caller, office: Office, store: Store) -> Response:
    """The answer holds what its deliveries are signed with, this once."""
    access.authorize(caller, "make_webhook")
    await office.vault.prepare(store)

    async def body(tx: Transaction) -> NewWebhook:
        webhook, secret = await actions.create(tx, office.vault, caller, request)
        return NewWebhook(**webhook.model_dump(), secret=secret)

    return answer(await store.transact(body), 201)


@router.patch("/{id}", response_model=Webhook)
async def update_webhook(id: str, request: UpdateWebhook, caller: Caller, store: Store) -> Response:
    """Also switches one on again that was switched off after too many failures."""
    return answer(await store.transact(lambda tx: actions.update(tx, caller, id, request)))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_webhook(id: str, caller: Caller, store: Store) -> Response:
    await store.transact(lambda tx: actions.remove(tx, caller, id))
    return Response(status_code=204)


@router.get("/{id}/deliveries", response_model=Page[Delivery])
async def list_deliveries(id: str, caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """What it was told, or is about to be; newest first. The words are not kept."""

    async def body(tx: Transaction) -> list[Delivery]:
        await actions.get(tx, caller, id)
        return await rows.select_deliveries(tx, id, before=cursor or LAST, limit=limit)

    return page(await store.read(body), limit, lambda delivery: delivery.id)


@router.post("/{id}/test", response_model=WebhookTest)
async def test_webhook(id: str, caller: Caller, office: Office, store: Store) -> Response:
    """Send a `ping` now, once, and answer with what came of it."""

    async def body(tx: Transaction) -> Address:
        await actions.get(tx, caller, id, "change_webhook")
        address = await rows.select_address(tx, id)
        assert address is not None
        return address

    sent = await office.webhooks.try_out(await store.read(body))
    delivered = rules.arrived(sent)
    error = None if delivered else rules.problem(sent)
    return answer(WebhookTest(delivered=delivered, status=sent.status, error=error, ms=sent.ms))
