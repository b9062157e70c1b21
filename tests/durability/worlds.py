"""Databases to be told stories in: made in memory where that is possible, copied, and thrown away."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.databases import TEMPLATE, Database, Kind, drop, postgres_database, sqlite_database
from tests.postgres import PostgresServer
from tests.ram import find_memory


class Worlds:
    def __init__(self, kind: Kind, folder: Path, *, template: Path | None, server: PostgresServer | None) -> None:
        self.kind = kind
        self._folder = folder
        self._template = template
        self._server = server
        self._numbers = itertools.count(1)
        self._alive: set[Database] = set()

    def new(self, like: Database | None = None) -> Database:
        """A fresh one, or a copy of one that nobody uses at the moment."""
        made = self._make(self._folder / str(next(self._numbers)), like)
        self._alive.add(made)
        return made

    def _make(self, data: Path, like: Database | None) -> Database:
        if self._server is None:
            template = self._template if like is None else like.path
            return sqlite_database(data, template)
        template_name = TEMPLATE if like is None else urlsplit(like.url).path[1:]
        return postgres_database(self._server, data, template=template_name)

    def end(self, world: Database) -> None:
        self._alive.remove(world)
        if self._server is not None:
            drop(self._server, world)
        shutil.rmtree(world.data)

    def end_all(self) -> None:
        for world in list(self._alive):
            self.end(world)


@contextmanager
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=find_memory()) as folder:
        yield Path(folder)


def worlds_of(kind: Kind, request: pytest.FixtureRequest, folder: Path) -> Worlds:
    template: Path | None = request.getfixturevalue("sqlite_template") if kind == "sqlite" else None
    server: PostgresServer | None = request.getfixturevalue("postgres_server") if kind == "postgres" else None
    return Worlds(kind, folder / kind, template=template, server=server)
