"""Tools and the calls that wait for an answer, as the SDK has them: `bp.tools`, `bp.pending`.

A function made a tool with `@tool` may stand wherever a definition or a tool's name is expected. Carrying out its calls
is `serving.py`; reading its signature is `bullpen.define`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack

from bullpen.client.connection import Connection, Page, path
from bullpen.client.fields import CreateToolFields, UpdateToolFields
from bullpen.define import FunctionTool
from bullpen.wire.errors import AlreadyExists, NotFound
from bullpen.wire.nouns import Acceptance, PendingCall, PendingKind, PendingStatus, ScopeKind, ToolConfig

AnyTool: TypeAlias = "FunctionTool[..., Any]"


class Tools:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, function: AnyTool | None = None, /, **fields: Unpack[CreateToolFields]) -> ToolConfig:
        """A new tool: a function made one with `@tool`, or the fields of `bullpen.wire.requests.CreateTool`."""
        body = {**({} if function is None else function.definition), **fields}
        return ToolConfig.model_validate(await self._connection.request("POST", path("tools"), body=body))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[ToolConfig]:
        """By name; those that come with Bullpen as well."""
        found = await self._connection.request("GET", path("tools"), query={"limit": limit, "cursor": cursor})
        return Page([ToolConfig.model_validate(item) for item in found["items"]], found.get("next"))

    async def get(self, name: str) -> ToolConfig:
        return ToolConfig.model_validate(await self._connection.request("GET", path("tools", name)))

    async def update(self, name: str, **fields: Unpack[UpdateToolFields]) -> ToolConfig:
        """Change the named fields and no others. Approvals of what it did before do not count any more."""
        found = await self._connection.request("PATCH", path("tools", name), body=fields, repeatable=True)
        return ToolConfig.model_validate(found)

    async def delete(self, name: str) -> None:
        await self._connection.request("DELETE", path("tools", name))

    async def define(self, function: AnyTool) -> ToolConfig:
        """Make the server know this function: created if it is new, changed if it differs, else left alone."""
        wanted = function.definition
        try:
            there = await self.get(function.name)
        except NotFound:
            try:
                return await self.create(function)
            except AlreadyExists:  # somebody else has just made it, or our answer was lost
                there = await self.get(function.name)
        if there.execution_type != "external":
            raise AlreadyExists(
                f"There is a {there.execution_type} tool named {function.name!r} already; give the function another.",
                fields={"name": "is taken"},
            )
        found = there.model_dump(by_alias=True, mode="json")
        differing = {name: value for name, value in wanted.items() if found[name] != value}
        return await self.update(function.name, **differing) if differing else there

    async def names(self, tools: Iterable[AnyTool | str]) -> Sequence[str]:
        """What an agent lists: functions are defined first and become their names."""
        found = []
        for tool in tools:
            if isinstance(tool, FunctionTool):
                await self.define(tool)
            found.append(name_of(tool))
        return found


def name_of(tool: AnyTool | str) -> str:
    return tool.name if isinstance(tool, FunctionTool) else tool


def definition_of(tool: AnyTool | Mapping[str, Any]) -> Mapping[str, Any]:
    return tool.definition if isinstance(tool, FunctionTool) else tool


class Pending:
    """Calls that wait for somebody. `call_id` is a call's id everywhere."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(
        self,
        *,
        status: PendingStatus | None = None,
        kind: PendingKind | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[PendingCall]:
        """Newest first; without a `status`, those that are open."""
        query = {"status": status, "kind": kind, "limit": limit, "cursor": cursor}
        found = await self._connection.request("GET", path("pending"), query=query)
        return Page([PendingCall.model_validate(item) for item in found["items"]], found.get("next"))

    async def get(self, call_id: str) -> PendingCall:
        return PendingCall.model_validate(await self._connection.request("GET", path("pending", call_id)))

    async def resolve(self, call_id: str, result: Any) -> Acceptance:
        """Answer a call. The same answer again is a duplicate; another one is a Conflict, and the first stands."""
        body = {"result": result}
        found = await self._connection.request("POST", path("pending", call_id, "resolve"), body=body, repeatable=True)
        return Acceptance.model_validate(found)

    async def approve(
        self,
        call_id: str,
        *,
        args: Mapping[str, Any] | None = None,
        always: Literal["space", "agent"] | None = None,
        hash: str | None = None,
    ) -> Acceptance:
        """Let it be carried out, with other arguments if they are given; `always` allows the next such calls too.

        `hash` is that of the pending call you have looked at: if it is another one by now, this is a Conflict.
        """
        said = {"args": args, "always": always, "hash": hash}
        return await self.resolve(call_id, {"approved": True, **{k: v for k, v in said.items() if v is not None}})

    async def reject(self, call_id: str, reason: str | None = None, *, hash: str | None = None) -> Acceptance:
        """It is not carried out, and the agent reads why."""
        said = {"reason": reason, "hash": hash}
        return await self.resolve(call_id, {"approved": False, **{k: v for k, v in said.items() if v is not None}})

    async def supply(self, call_id: str, env: Mapping[str, str], *, scope: ScopeKind | None = None) -> Acceptance:
        """Give a call the values that it waits for, by the names of its variables. They are kept as variables.

        `scope`: where, if not where the call says; it takes the right to set variables there.
        """
        return await self.resolve(call_id, {"env": dict(env), **({} if scope is None else {"scope": scope})})

    async def progress(
        self, call_id: str, *, fraction: float | None = None, message: str | None = None, runner: str | None = None
    ) -> PendingCall:
        """Say that a call is being carried out, and how far it is. Gone: nobody waits for it any more.

        `runner`: a name of your process. A call of a tool that is `once` is for the first that names itself; for
        others this is a Conflict.
        """
        body = {"fraction": fraction, "message": message, "runner": runner}
        said = {name: value for name, value in body.items() if value is not None}
        return PendingCall.model_validate(
            await self._connection.request("POST", path("pending", call_id, "progress"), body=said, repeatable=True)
        )

    async def cancel(self, call_id: str) -> PendingCall:
        """Nobody will answer it; its agent is told so."""
        return PendingCall.model_validate(await self._connection.request("POST", path("pending", call_id, "cancel")))
