"""What an agent remembers, as the SDK has it: `bp.blocks` always stand in its prompt, `bp.passages` are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from bullpen.client.connection import Connection, Page, path
from bullpen.client.fields import UpdatePassageFields
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
    """Of an agent, or of a space: say one of both. Stored for an agent with a space, only that space hears of it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def search(
        self,
        agent: str | None,
        text: str | None = None,
        *,
        space: str | None = None,
        tags: Sequence[str] = (),
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Passage]:
        """The best matches first; without a text, the newest. With tags, those that have all of them."""
        query = {"q": text, "tags": ",".join(tags) or None, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", _store_of(agent, space), query=query)
        return Page([Passage.model_validate(item) for item in found["items"]], found.get("next"))

    async def store(
        self,
        agent: str | None,
        content: str,
        *,
        space: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        supersedes: str | None = None,
        expires: str | None = None,
    ) -> Passage:
        """Have an agent, or a space, remember something. The same content again is the passage that is there."""
        body: dict[str, Any] = {"content": content, "tags": list(tags), "metadata": dict(metadata or {})}
        more = {"spaceId": space if agent is not None else None, "supersedes": supersedes, "expiresAt": expires}
        body |= {field: value for field, value in more.items() if value is not None}
        address = _store_of(agent, None if agent is not None else space)
        return Passage.model_validate(await self._connection.request("POST", address, body=body, repeatable=True))

    async def get(self, id: str) -> Passage:
        return Passage.model_validate(await self._connection.request("GET", path("passages", id)))

    async def update(self, id: str, **fields: Unpack[UpdatePassageFields]) -> Passage:
        """Correct it. What is left out stays."""
        found = await self._connection.request("PATCH", path("passages", id), body=fields, repeatable=True)
        return Passage.model_validate(found)

    async def delete(self, id: str) -> None:
        """What it had replaced is found again."""
        await self._connection.request("DELETE", path("passages", id))


def _store_of(agent: str | None, space: str | None) -> str:
    if agent is not None and space is None:
        return path("agents", agent, "passages")
    if space is not None and agent is None:
        return path("spaces", space, "passages")
    raise TypeError("say whose passages: an agent or a space")
