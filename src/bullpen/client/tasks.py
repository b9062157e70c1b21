"""Tasks as the SDK has them: `bp.tasks` schedules what agents do later, and shows what came of it."""

from __future__ import annotations

from typing import Any, Literal

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import ContextMode, Firing, MissedPolicy, ScheduleType, Task, TaskStatus


class Tasks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        space: str | None = None,
        agent: str | None = None,
        status: TaskStatus | Literal["all"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Task]:
        """Newest first; active and paused ones, unless `status` says otherwise."""
        query = {"spaceId": space, "agentId": agent, "status": status, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("tasks"), query=query)
        return Page([Task.model_validate(item) for item in found["items"]], found.get("next"))

    async def create(
        self,
        space: str,
        prompt: str,
        schedule_type: ScheduleType,
        schedule_value: str,
        *,
        agent: str | None = None,
        context_mode: ContextMode | None = None,
        timezone: str | None = None,
        missed: MissedPolicy | None = None,
        precheck: dict[str, Any] | None = None,
        may_schedule: bool | None = None,
    ) -> Task:
        """Schedule something for the agent of a space. The answer's `next_runs` are the next five times."""
        body = _said(
            spaceId=space,
            agentId=agent,
            prompt=prompt,
            scheduleType=schedule_type,
            scheduleValue=schedule_value,
            contextMode=context_mode,
            timezone=timezone,
            missed=missed,
            precheck=precheck,
            maySchedule=may_schedule,
        )
        return Task.model_validate(await self._connection.request("POST", path("tasks"), body=body))

    async def get(self, id: str) -> Task:
        return Task.model_validate(await self._connection.request("GET", path("tasks", id)))

    async def update(
        self,
        id: str,
        *,
        prompt: str | None = None,
        schedule_type: ScheduleType | None = None,
        schedule_value: str | None = None,
        context_mode: ContextMode | None = None,
        timezone: str | None = None,
        missed: MissedPolicy | None = None,
        precheck: dict[str, Any] | None = None,
        may_schedule: bool | None = None,
    ) -> Task:
        """Change what it does, or when. Change its prompt or its precheck, and it works on your behalf from then on."""
        body = _said(
            prompt=prompt,
            scheduleType=schedule_type,
            scheduleValue=schedule_value,
            contextMode=context_mode,
            timezone=timezone,
            missed=missed,
            precheck=precheck,
            maySchedule=may_schedule,
        )
        return Task.model_validate(
            await self._connection.request("PATCH", path("tasks", id), body=body, repeatable=True)
        )

    async def pause(self, id: str) -> Task:
        return Task.model_validate(await self._connection.request("POST", path("tasks", id, "pause"), repeatable=True))

    async def resume(self, id: str) -> Task:
        """It goes on with its next time; what was due meanwhile is not made up for."""
        return Task.model_validate(await self._connection.request("POST", path("tasks", id, "resume"), repeatable=True))

    async def run(self, id: str) -> Firing:
        """Fire it now, besides its schedule."""
        return Firing.model_validate(await self._connection.request("POST", path("tasks", id, "run")))

    async def cancel(self, id: str) -> None:
        """It is gone, with its history."""
        await self._connection.request("DELETE", path("tasks", id))

    async def firings(self, id: str, *, limit: int | None = None, cursor: str | None = None) -> Page[Firing]:
        """Each time at which it was due, newest first, with what came of it."""
        query = {"limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("tasks", id, "firings"), query=query)
        return Page([Firing.model_validate(item) for item in found["items"]], found.get("next"))


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
