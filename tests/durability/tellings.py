"""The story as it is told when nobody dies: where each of its chapters begins, and what the database tells at its end.

Only as much is told as somebody asks for. Chapters before that are told in one life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bullpen.testing.forks import Forks
from tests.databases import Database
from tests.durability.chapters import CHAPTERS
from tests.durability.lives import LONG, live
from tests.durability.worlds import Worlds

NAMES = list(CHAPTERS)


@dataclass(frozen=True)
class Chapter:
    """A chapter that was told calmly."""

    name: str
    began: int  # commits before the first deed
    commits: int  # commits in all
    told: dict[str, Any]


class Story:
    """The story on one kind of database."""

    def __init__(self, forks: Forks, worlds: Worlds) -> None:
        self.forks = forks
        self.worlds = worlds
        self._chapters: dict[str, Chapter] = {}
        self._beginnings: dict[int, Database] = {0: worlds.new()}

    def beginning(self, name: str) -> Database:
        """A database as it is before this chapter. Only to be copied."""
        number = NAMES.index(name)
        if number not in self._beginnings:
            nearest = max(known for known in self._beginnings if known < number)
            self._beginnings[number] = self.worlds.new(self._beginnings[nearest])
            before = NAMES[nearest:number]
            assert live(self.forks, "tell", self._beginnings[number], seconds=LONG, chapters=before) is not None
        return self._beginnings[number]

    def calm(self, name: str) -> Chapter:
        if name not in self._chapters:
            world = self.worlds.new(self.beginning(name))
            found = live(self.forks, "tell", world, chapters=[name])
            assert found is not None
            assert not found["violations"], (name, found["violations"])
            self._chapters[name] = Chapter(name, found["began"], found["commits"], found["told"])
            self.go_on_from(name, world)
        return self._chapters[name]

    def go_on_from(self, name: str, world: Database) -> None:
        """The next chapter begins where this one has ended."""
        number = NAMES.index(name) + 1
        if number in self._beginnings:
            self.worlds.end(world)
        else:
            self._beginnings[number] = world

    def leave(self, name: str) -> None:
        """Whoever asks for this beginning again has it told again. Each database takes 10 MB of memory."""
        if number := NAMES.index(name):
            self.worlds.end(self._beginnings.pop(number))
