"""A long-lived executor that is a fake: it holds nothing, counts what is done to it, and breaks when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bullpen.errors import ToolFailed
from bullpen.tools import Tool, ToolContext
from bullpen.tools.types import Executor


@dataclass
class History:
    """What happened to the sessions of one name, in order, whichever process they were in."""

    done: list[str] = field(default_factory=list)
    refuses: str = ""  # why it cannot be opened
    broken: str = ""  # what is wrong with the one that is open
    opening: Callable[[], Any] | None = None  # awaited while it opens


class FakeSession(Executor):
    """Not open when it is made. A call of one that is not open fails the test."""

    def __init__(self, history: History, name: str = "fake:session", *, exclusive: bool = False) -> None:
        self.history = history
        self.name = name
        self.exclusive = exclusive
        self.is_open = False

    async def open(self) -> None:
        self.history.done.append("open")
        await asyncio.sleep(0)
        if self.history.opening is not None:
            await self.history.opening()
        if self.history.refuses:
            raise ToolFailed(self.history.refuses)
        self.history.broken = ""
        self.is_open = True

    async def call(self, tool: Tool, context: ToolContext, args: Mapping[str, Any]) -> Any:
        assert self.is_open, "called before it was open, or after it was closed"
        assert context.executor is self
        self.history.done.append("call")
        if self.history.broken:
            raise ConnectionResetError(self.history.broken)
        return await super().call(tool, context, args)

    async def close(self) -> None:
        self.history.done.append("close")
        self.is_open = False

    async def health(self) -> str | None:
        return self.history.broken or None


class SessionOfEachSpace(Executor):
    """One session for each space that a run was woken in, as a browser would have one for each group."""

    def __init__(self, histories: dict[str, History]) -> None:
        self.histories = histories

    def choose(self, context: ToolContext) -> Executor:
        home = context.run.home
        assert home is not None
        return FakeSession(self.histories[home.id], f"fake:{home.id}", exclusive=True)
