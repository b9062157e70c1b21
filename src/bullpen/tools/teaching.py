"""What an agent is taught about the tools that come with Bullpen: sentences, each for the tools that it names.

A family keeps its sentences beside its tools. An agent reads a sentence only if it has every tool the sentence is
about, so no agent is told to call what it cannot call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from bullpen.tools.registry import Registry


class Lesson(NamedTuple):
    text: str
    tools: tuple[str, ...]  # an agent needs all of them to be taught this


class Teaching:
    def __init__(self, registry: Registry, families: Mapping[str, Sequence[Lesson]]) -> None:
        self.registry = registry
        self._families = families
        # Agents are few and change seldom; runs are many.
        self.choose = lru_cache(maxsize=1024)(self._choose)

    def _choose(self, listed: tuple[str, ...]) -> tuple[str, ...]:
        """The lessons of an agent that lists these tools and families: one paragraph a family."""
        has = self.registry.names_of(listed)
        paragraphs = [
            " ".join(lesson.text for lesson in lessons if has.issuperset(lesson.tools))
            for lessons in self._families.values()
        ]
        return tuple(paragraph for paragraph in paragraphs if paragraph)
