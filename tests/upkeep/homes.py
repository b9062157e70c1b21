"""A lived-in office for every test that needs one: lived in once per kind of database, and then copied."""

from __future__ import annotations

import shutil
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.databases import Database, aside, postgres_database, sqlite_database
from tests.driver import Api, Offices
from tests.postgres import PostgresServer
from tests.upkeep.offices import Lived, live


@dataclass(frozen=True)
class Home:
    """A lived-in database that nobody has open."""

    database: Database
    erin_id: str
    erin_token: str

    async def enter(self, stack: AsyncExitStack, **how: Any) -> Lived:
        """Open the office again. The stack closes it."""
        office = await Offices(self.database, stack).open(**how)
        return Lived(office, self.database, self.erin_id, Api(office.office, self.erin_token))

    def copy_to(self, data: Path, server: PostgresServer | None) -> Home:
        """`server` is the one that has this database, if it is on PostgreSQL."""
        if server is None:
            copy = sqlite_database(data, None)
        else:
            copy = postgres_database(server, data, template=urlsplit(self.database.url).path[1:])
        shutil.copytree(self.database.data, data, dirs_exist_ok=True)
        return replace(self, database=copy)


def move_in(database: Database) -> Home:
    async def live_there() -> Home:
        async with AsyncExitStack() as stack:
            erin_id, erin = await live(await Offices(database, stack).open(watch=False))
            assert erin.token is not None
            return Home(database, erin_id, erin.token)

    return aside(live_there)
