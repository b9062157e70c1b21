"""Bridges as the SDK has them: `bp.bridges` says how they are, and decides about what could not be sent."""

from __future__ import annotations

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Bridge, OutboxEntry


class Bridges:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self) -> Page[Bridge]:
        found = await self._connection.request("GET", path("bridges"))
        return Page([Bridge.model_validate(item) for item in found["items"]], found.get("next"))

    async def dead(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[OutboxEntry]:
        """What could not be sent, and why; newest first."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("bridges", id, "dead"), query=query)
        return Page([OutboxEntry.model_validate(item) for item in found["items"]], found.get("next"))

    async def retry(self, id: str, entry_id: str) -> OutboxEntry:
        """Send it after all."""
        found = await self._connection.request("POST", path("bridges", id, "dead", entry_id, "retry"))
        return OutboxEntry.model_validate(found)

    async def drop(self, id: str, entry_id: str) -> None:
        """Never send it."""
        await self._connection.request("DELETE", path("bridges", id, "dead", entry_id))
