"""Hooks and webhooks as the SDK has them: `bp.hooks` are rung by others, `bp.webhooks` tell others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Delivery, Hook, NewHook, NewWebhook, Webhook, WebhookEvent, WebhookTest


class Hooks:
    """Secret addresses, each of which wakes one agent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self, *, agent: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[Hook]:
        query = {"agentId": agent, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("hooks"), query=query)
        return Page([Hook.model_validate(item) for item in found["items"]], found.get("next"))

    async def create(self, agent: str, name: str) -> NewHook:
        """The answer's `url` is the hook's address, shown this once."""
        body = {"agentId": agent, "name": name}
        return NewHook.model_validate(await self._connection.request("POST", path("hooks"), body=body))

    async def revoke(self, id: str) -> None:
        await self._connection.request("DELETE", path("hooks", id))


class Webhooks:
    """Addresses that are told of one's mentions, and of calls that one may answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Webhook]:
        """One's own; for owners, all."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("webhooks"), query=query)
        return Page([Webhook.model_validate(item) for item in found["items"]], found.get("next"))

    async def create(
        self, url: str, *, events: Sequence[WebhookEvent] | None = None, members: Sequence[str] | None = None
    ) -> NewWebhook:
        """The answer's `secret` is what deliveries are signed with, shown this once. `members`: whose mentions."""
        body = _said(url=url, events=events, members=members)
        return NewWebhook.model_validate(await self._connection.request("POST", path("webhooks"), body=body))

    async def update(
        self,
        id: str,
        *,
        url: str | None = None,
        events: Sequence[WebhookEvent] | None = None,
        members: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> Webhook:
        body = _said(url=url, events=events, members=members, enabled=enabled)
        return Webhook.model_validate(
            await self._connection.request("PATCH", path("webhooks", id), body=body, repeatable=True)
        )

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("webhooks", id))

    async def deliveries(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Delivery]:
        """What it was told, or is about to be; newest first."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("webhooks", id, "deliveries"), query=query)
        return Page([Delivery.model_validate(item) for item in found["items"]], found.get("next"))

    async def test(self, id: str) -> WebhookTest:
        """Send a `ping` now; what came of it."""
        return WebhookTest.model_validate(await self._connection.request("POST", path("webhooks", id, "test")))


def _said(**fields: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, list | tuple | set) else value
        for name, value in fields.items()
        if value is not None
    }
