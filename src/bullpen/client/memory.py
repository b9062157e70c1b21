"""What an agent remembers, as the SDK has it: `bp.blocks` always stand in its prompt, `bp.passages` are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from bullpen.client.connection import Connection, Page, path
from bullpen.client.fields import UpdatePassageFields
from bullpen.wire.nouns import Block, BlockVersion, Passage


class Blocks:
    """`space`: the blocks that the agent keeps for that space alone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, agent: str, *, space: str | None = None) -> Page[Block]:
        """By label: its own, and those that other agents share with it."""
        found = await self._connection.request("GET", path("agents", agent, "blocks"), query={"spaceId": space})
        return Page([Block.model_validate(item) for item in found["items"]], found.get("next"))

    async def get(self, agent: str, label: str, *, space: str | None = None) -> Block:
        address, query = path("agents", agent, "blocks", label), {"spaceId": space}
        return Block.model_validate(await self._connection.request("GET", address, query=query))

    async def set(
        self,
        agent: str,
        label: str,
        content: str,
        *,
        description: str | None = None,
        limit: int | None = None,
        readers: Sequence[str] | None = None,
        writers: Sequence[str] | None = None,
        reason: str | None = None,
        space: str | None = None,
    ) -> Block:
        """What it says from the agent's next run on; made, if there is none of this label.

        `readers` and `writers` are the agents that it is shared with from now on: `[]` ends the sharing, and without
        either it stays as it is.
        """
        body: dict[str, Any] = {"content": content, "description": description, "limit": limit, "reason": reason}
        if readers is not None or writers is not None:
            body["shared"] = {"readers": list(readers or ()), "writers": list(writers or ())}
        body = {name: value for name, value in body.items() if value is not None}
        address, query = path("agents", agent, "blocks", label), {"spaceId": space}
        found = await self._connection.request("PUT", address, query=query, body=body, repeatable=True)
        return Block.model_validate(found)

    async def delete(self, agent: str, label: str, *, history: bool = False, space: str | None = None) -> None:
        """It can be brought back with `revert`, unless its `history` goes, too."""
        query = {"spaceId": space, "history": "true" if history else None}
        await self._connection.request("DELETE", path("agents", agent, "blocks", label), query=query)

    async def history(
        self,
        agent: str,
        label: str,
        *,
        space: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[BlockVersion]:
        """What it was, newest first, and who changed it."""
        query = {"spaceId": space, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("agents", agent, "blocks", label, "history"), query=query)
        return Page([BlockVersion.model_validate(item) for item in found["items"]], found.get("next"))

    async def diff(self, agent: str, label: str, old: int, new: int, *, space: str | None = None) -> str:
        """A unified diff of two versions."""
        query = {"spaceId": space, "from": old, "to": new, "limit": 1}
        found = await self._connection.request("GET", path("agents", agent, "blocks", label, "history"), query=query)
        return str(found["diff"])

    async def revert(
        self, agent: str, label: str, version: int, *, reason: str | None = None, space: str | None = None
    ) -> Block:
        """Write what it was in this version: a change like any other."""
        body = {"version": version} | ({} if reason is None else {"reason": reason})
        address, query = path("agents", agent, "blocks", label, "revert"), {"spaceId": space}
        return Block.model_validate(await self._connection.request("POST", address, query=query, body=body))


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
