"""The tools there are, by name and by family. Two tools with one name stop the server at start."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from bullpen.errors import CannotStart, Invalid
from bullpen.tools.types import Tool
from bullpen.wire import Agent

# What an agent of scope `agent` has besides what it lists. That is not for its definition to change; an owner's policy
# may still deny any of them.
BUILT_IN: Final = (
    "enter_space",
    "leave_space",
    "send_message",
    "read_messages",
    "skip",
    "set_goals",
    "delete_goals",
    "set_memories",
    "delete_memories",
    "set_plans",
    "delete_plans",
    "get_plans",
)


def listed_by(agent: Agent) -> tuple[str, ...]:
    """The tools and families of an agent: what it lists, and what a mind across all spaces has anyway."""
    listed = tuple(agent.tools)
    return (*listed, *(name for name in BUILT_IN if name not in listed)) if agent.scope == "agent" else listed


class Registry:
    def __init__(self, families: Mapping[str, Sequence[Tool]]) -> None:
        self._tools: dict[str, Tool] = {}
        self._families = {family: [tool.name for tool in tools] for family, tools in families.items()}
        self._family_of = {name: family for family, names in self._families.items() for name in names}
        self._listed = lru_cache(maxsize=1024)(self._find_listed)
        for tools in families.values():
            for tool in tools:
                self._add(tool)

    def _add(self, tool: Tool) -> None:
        there = self._tools.get(tool.name)
        if there is not None:
            raise CannotStart(f"Two tools are named {tool.name!r}: in {_home(there)} and in {_home(tool)}. Rename one.")
        self._tools[tool.name] = tool

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    @property
    def tools(self) -> list[Tool]:
        return list(self._tools.values())

    def knows(self, name: str) -> bool:
        """Is it the name of a tool or of a family?"""
        return name in self._tools or name in self._families

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def family_of(self, name: str) -> str | None:
        return self._family_of.get(name)

    def listed(self, names: Iterable[str], defined: Mapping[str, Tool] | None = None) -> list[Tool]:
        """The tools an agent has: exactly those it lists, by family or one by one, in that order.

        `defined` are those that somebody has made, as far as the agent lists them.
        """
        return list(self._choose(names, defined).values()) if defined else list(self._listed(tuple(names)))

    def _find_listed(self, names: tuple[str, ...]) -> tuple[Tool, ...]:
        return tuple(self._choose(names, {}).values())

    def _choose(self, names: Iterable[str], defined: Mapping[str, Tool]) -> dict[str, Tool]:
        chosen: dict[str, Tool] = {}
        for name in names:
            for member in self._families.get(name, [name]):
                found = self._tools.get(member) or defined.get(member)
                if found is not None:
                    chosen[member] = found
        return chosen

    def can_speak(self, names: Iterable[str]) -> bool:
        """Does an agent that lists these have a tool that says something? One that somebody has defined may show it."""
        names = list(names)
        return any(tool.act == "spoke" for tool in self.listed(names)) or bool(self.unknown(names))

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those that do not come with Bullpen, so that somebody must have defined them."""
        return [name for name in names if not self.knows(name)]

    def names_of(self, listed: Sequence[str]) -> frozenset[str]:
        """Of all tools that an agent has which lists these."""
        return frozenset(tool.name for tool in self.listed(listed)) | frozenset(self.unknown(listed))

    def check(self, names: Iterable[str], defined: Iterable[str] = ()) -> None:
        there = set(defined)
        for name in names:
            if not self.knows(name) and name not in there:
                known = ", ".join([*self._families, *self._tools, *sorted(there)])
                message = f"There is no tool or family named {name!r}. Known: {known}."
                raise Invalid(message, fields={"tools": message})


def _home(tool: Tool) -> str:
    return inspect.getsourcefile(tool.function) or tool.function.__module__
