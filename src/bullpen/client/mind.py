"""What an agent wants (`bp.goals`), knows under keys (`bp.memories`) and plans (`bp.plans`), as the SDK has it.

`space` is the private space that something stays in; left out, it is what the agent is shown everywhere.
"""

from __future__ import annotations

from typing import Any

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Goal, GoalStatus, Memory, Plan, TaskStatus


class Goals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, agent: str) -> Page[Goal]:
        """Active ones first, and among them the ones that matter most."""
        found = await self._connection.request("GET", path("agents", agent, "goals"))
        return Page([Goal.model_validate(item) for item in found["items"]], found.get("next"))

    async def set(
        self,
        agent: str,
        description: str,
        *,
        id: str | None = None,
        status: GoalStatus | None = None,
        priority: int | None = None,
        space: str | None = None,
    ) -> Goal:
        """A new goal, or the one with this id as it is from now on."""
        goal = _said(id=id, description=description, status=status, priority=priority)
        address, query = path("agents", agent, "goals"), {"spaceId": space}
        found = await self._connection.request("PUT", address, query=query, body={"goals": [goal]})
        return Goal.model_validate(found["items"][0])

    async def delete(self, agent: str, id: str, *, space: str | None = None) -> None:
        await self._connection.request("DELETE", path("agents", agent, "goals", id), query={"spaceId": space})


class Memories:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, agent: str) -> Page[Memory]:
        """By key."""
        found = await self._connection.request("GET", path("agents", agent, "memories"))
        return Page([Memory.model_validate(item) for item in found["items"]], found.get("next"))

    async def set(self, agent: str, key: str, value: str, *, space: str | None = None) -> Memory:
        """What the agent knows under this key from its next run on."""
        address, query = path("agents", agent, "memories"), {"spaceId": space}
        body = {"memories": [{"key": key, "value": value}]}
        found = await self._connection.request("PUT", address, query=query, body=body, repeatable=True)
        return Memory.model_validate(found["items"][0])

    async def delete(self, agent: str, key: str, *, space: str | None = None) -> None:
        query = {"key": key, "spaceId": space}
        await self._connection.request("DELETE", path("agents", agent, "memories"), query=query)


class Plans:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, agent: str, *, status: TaskStatus | None = None) -> Page[Plan]:
        """Those that are not over, unless `status` says otherwise."""
        address = path("agents", agent, "plans")
        found = await self._connection.request("GET", address, query={"status": status})
        return Page([Plan.model_validate(item) for item in found["items"]], found.get("next"))

    async def set(
        self,
        agent: str,
        name: str,
        instruction: str,
        *,
        run_after: str | None = None,
        scheduled_at: str | None = None,
        cron: str | None = None,
        id: str | None = None,
        space: str | None = None,
    ) -> Plan:
        """Exactly one of the three says when. It works on your behalf, in `space`, or in no space."""
        plan = _said(id=id, name=name, instruction=instruction, runAfter=run_after, scheduledAt=scheduled_at, cron=cron)
        address, query = path("agents", agent, "plans"), {"spaceId": space}
        found = await self._connection.request("PUT", address, query=query, body={"plans": [plan]})
        return Plan.model_validate(found["items"][0])

    async def delete(self, agent: str, id: str, *, space: str | None = None) -> None:
        """It does not wake the agent any more. `space`, if it stays in that space."""
        await self._connection.request("DELETE", path("agents", agent, "plans", id), query={"spaceId": space})


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
