"""What an agent remembers, as the SDK has it: `bp.blocks` always stand in its prompt, `bp.passages` are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Block, Passage


class Blocks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, agent: str) -> Page[Block]:
        """By label."""
        found = await self._connection.request("GET", path("agents", agent, "blocks"))
        return Page([Block.model_validate(item) for item in found["items"]], found.get("next"))

    async def get(self, agent: str, label: str) -> Block:
        return Block.model_validate(await self._connection.request("GET", path("agents", agent, "blocks", label)))

    async def set(self, agent: str, label: str, content: str) -> Block:
        """What it says from the agent's next run on; made, if there is none of this label."""
        address, body = path("agents", agent, "blocks", label), {"content": content}
        return Block.model_validate(await self._connection.request("PUT", address, body=body, repeatable=True))

    async def delete(self, agent: str, label: str) -> None:
        await self._connection.request("DELETE", path("agents", agent, "blocks", label))


class Passages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def search(self, agent: str, text: str | None = None, *, limit: int | None = None) -> Page[Passage]:
        """Those that fit the text best; without one, the newest."""
        query = {"q": text, "limit": limit}
        found = await self._connection.request("GET", path("agents", agent, "passages"), query=query)
        return Page([Passage.model_validate(item) for item in found["items"]], found.get("next"))

    async def store(
        self, agent: str, content: str, *, tags: Sequence[str] = (), metadata: Mapping[str, Any] | None = None
    ) -> Passage:
        """Have the agent remember something. The same content again is the passage that is there."""
        body = {"content": content, "tags": list(tags), "metadata": dict(metadata or {})}
        address = path("agents", agent, "passages")
        return Passage.model_validate(await self._connection.request("POST", address, body=body, repeatable=True))
