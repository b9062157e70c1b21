"""The tools of one agent in one run: definitions for the model, handlers for dispatch, identity bound.

A handler knows which agent and run it serves from the moment it is made; nothing in a call's arguments can change that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from bullpen.llm.types import ToolSpec
from bullpen.storage import Store
from bullpen.tools.execute import execute
from bullpen.tools.registry import Registry
from bullpen.tools.types import Journal, RunView, Tool, ToolCall, ToolResult, rendered
from bullpen.wire import Agent

Handler: TypeAlias = Callable[[ToolCall, str | None], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Toolkit:
    definitions: list[ToolSpec]
    handlers: Mapping[str, Handler]
    unknown: Handler

    async def dispatch(self, call: ToolCall, space_id: str | None) -> ToolResult:
        return await self.handlers.get(call.tool, self.unknown)(call, space_id)


def get_toolkit(agent: Agent, run: RunView, *, registry: Registry, store: Store, journal: Journal) -> Toolkit:
    tools = registry.listed(agent.tools)

    def handler(tool: Tool | None) -> Handler:
        return partial(execute, tool=tool, run=run, store=store, journal=journal)

    return Toolkit([tool.spec for tool in tools], {tool.name: handler(tool) for tool in tools}, handler(None))


def content(result: ToolResult) -> dict[str, Any]:
    """The form that model APIs take as a tool's result."""
    return {"content": rendered(result.value)}
