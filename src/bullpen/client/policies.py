"""Which agent may use which tool, as the SDK has it: `bp.policies`. What a decision means is the server's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Decision, Policy


class Policies:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        agent: str | None = None,
        space: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Policy]:
        """Newest first. What agents and tools say in their own definitions is not among them."""
        query = {"agentId": agent, "spaceId": space, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("policies"), query=query)
        return Page([Policy.model_validate(item) for item in found["items"]], found.get("next"))

    async def set(
        self,
        agent: str,
        tool: str,
        decision: Decision,
        *,
        space: str | None = None,
        when: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> Policy:
        """Decide about an agent and a tool: everywhere or in a space, for all arguments or `when` they are such.

        With a `source`, only for calls that text from there may have caused.
        """
        said = {"agentId": agent, "spaceId": space, "toolName": tool, "decision": decision, "when": when}
        said["source"] = source
        body = {name: value for name, value in said.items() if value is not None}
        return Policy.model_validate(
            await self._connection.request("PUT", path("policies"), body=body, repeatable=True)
        )

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("policies", id))
