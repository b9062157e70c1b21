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
from bullpen.tools.types import Journal, Means, RunView, Tool, ToolCall, ToolResult, rendered
from bullpen.wire import Agent

Handler: TypeAlias = Callable[[ToolCall, str | None], Awaitable[ToolResult | None]]


@dataclass(frozen=True, slots=True)
class Toolkit:
    tools: Mapping[str, Tool]
    run: RunView
    store: Store
    journal: Journal
    means: Means

    @property
    def definitions(self) -> list[ToolSpec]:
        return [tool.spec for tool in self.tools.values()]

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {name: self._handler(tool) for name, tool in self.tools.items()}

    def _handler(self, tool: Tool | None) -> Handler:
        return partial(execute, tool=tool, run=self.run, store=self.store, journal=self.journal, means=self.means)

    async def dispatch(self, call: ToolCall, space_id: str | None) -> ToolResult | None:
        """None: the run waits for somebody's answer."""
        return await self._handler(self.tools.get(call.tool))(call, space_id)


def get_toolkit(
    agent: Agent,
    run: RunView,
    *,
    registry: Registry,
    store: Store,
    journal: Journal,
    means: Means,
    defined: Mapping[str, Tool] | None = None,
) -> Toolkit:
    """`defined` are the tools that somebody has made, as far as the agent lists them."""
    tools = {tool.name: tool for tool in registry.listed(agent.tools, defined)}
    return Toolkit(tools, run, store, journal, means)


def content(result: ToolResult) -> dict[str, Any]:
    """The form that model APIs take as a tool's result."""
    return {"content": rendered(result.value)}
