"""Groups as the SDK has them: `bp.groups` registers chats elsewhere as groups, and is where bridges report them."""

from __future__ import annotations

from collections.abc import Iterable

from bullpen.client.connection import Connection, Page, path
from bullpen.wire import Space
from bullpen.wire.nouns import Chat


class Groups:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Space]:
        """Newest first."""
        query = {"kind": "group", "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("spaces"), query=query)
        return Page([Space.model_validate(item) for item in found["items"]], found.get("next"))

    async def register(
        self,
        jid: str,
        name: str,
        folder: str,
        trigger: str,
        *,
        members: Iterable[str] = (),
        provider: str | None = None,
        model: str | None = None,
    ) -> Space:
        """A chat becomes a private group, whose id is the folder's name."""
        body = {
            "id": folder,
            "kind": "group",
            "name": name,
            "private": True,
            "members": list(members),
            "folder": folder,
            "trigger": trigger,
            "bridge": jid,
            "provider": provider,
            "model": model,
        }
        return Space.model_validate(await self._connection.request("POST", path("spaces"), body=body))

    async def chats(
        self, *, registered: bool | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Page[Chat]:
        """Chats that bridges have seen; with `registered=False`, those that could become a group."""
        said = None if registered is None else str(registered).lower()
        query = {"registered": said, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("chats"), query=query)
        return Page([Chat.model_validate(item) for item in found["items"]], found.get("next"))

    async def report(self, jid: str, name: str) -> Chat:
        """For bridges: this chat is there. Doing it again keeps its name up to date."""
        return Chat.model_validate(await self._connection.request("PUT", path("chats", jid), body={"name": name}))
