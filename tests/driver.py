"""An office to test: the real one, in this process, driven over HTTP by its owner.

The fixtures are in tests/conftest.py. `office` comes once for each database. It makes agents and spaces, posts, and
waits for events with a bound; nothing in here sleeps. `offices` makes one with other settings, tools or several on one
database.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakSet

import asyncpg
import httpx
import orjson
import pytest

from bullpen import app
from bullpen.access import actions as access
from bullpen.access import rows as access_rows
from bullpen.access.types import Principal
from bullpen.app import Office, office
from bullpen.bridges.types import Bridge
from bullpen.clock import Clock
from bullpen.llm import prices
from bullpen.llm.embedding import Embedder
from bullpen.llm.prices import Prices
from bullpen.settings import EngineSettings, LimitSettings, load_settings
from bullpen.storage import Store, Transaction, migrations
from bullpen.testing import UNLIMITED
from bullpen.toolbox import FAMILIES
from bullpen.tools import Tool
from bullpen.wire.nouns import Person
from tests.databases import Database
from tests.events import check_events
from tests.routes import build_shared
from tests.waits import BOUND

Json = dict[str, Any]


# ── what all offices share ──────────────────────────────────────────────────────────────────────────────────────────
# Doing this anew for each office would take most of the time of most tests.


@cache
def _packaged_prices() -> Prices:
    return prices.load()


def _load_prices(data: Path) -> Prices:
    """Read the list that comes with Bullpen once. A list in the data folder is read each time."""
    return prices.load(data) if (data / prices.FILE).is_file() else _packaged_prices()


async def _migrate(store: Store, backups: Path) -> list[migrations.Migration]:
    """Migrate, except a copy of the current template on PostgreSQL: to check the queue's tables takes 50 ms of CPU."""
    if store in _FROM_TEMPLATE and await store.read(migrations.is_current) and await store.read(_has_queue):
        return []
    return await migrations.migrate(store, backups)


async def _has_queue(tx: Transaction) -> bool:
    """A restored office has lost the tables of the queue."""
    found = await tx.connection.fetchval("SELECT to_regclass('pgqueuer') IS NOT NULL")  # type: ignore[attr-defined]
    return bool(found)


_FROM_TEMPLATE: WeakSet[Store] = WeakSet()  # open on PostgreSQL, on a copy of the template


class _Known(NamedTuple):
    """A statement that was not needed."""

    name: str = "known"


async def _look_up_types(connection: Any, oids: Iterable[int], seconds: float) -> tuple[Any, Any]:
    """Ask a server once what its types are. Every new connection wants to know, and each answer takes 10 ms of CPU.

    Databases of one server never give the same number to different types, unless they are copies.
    """
    asked = (str(connection._addr), tuple(sorted(oids)))
    if asked not in _TYPES:
        _TYPES[asked], statement = await _INTROSPECT(connection, oids, seconds)
        return _TYPES[asked], statement
    return _TYPES[asked], _Known()


_TYPES: dict[tuple[str, tuple[int, ...]], Any] = {}
_INTROSPECT = asyncpg.Connection._introspect_types


def share_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", _look_up_types)
    monkeypatch.setattr(app, "build", build_shared)
    monkeypatch.setattr(app, "prices", SimpleNamespace(load=_load_prices))
    monkeypatch.setattr(app, "migrations", SimpleNamespace(migrate=_migrate))


class Api:
    """HTTP calls as one caller. A status that was not expected is a failure that shows the answer."""

    def __init__(self, opened: Office, token: str | None) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.office = opened
        self.token = token
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(opened.api, raise_app_exceptions=False),
            base_url="http://office/api",
            headers=headers,
            timeout=BOUND,
        )

    async def ask(self, method: str, path: str, *, status: int | None = None, **more: Any) -> Any:
        """The answer's JSON. Without `status`, any success will do."""
        response = await self.http.request(method, path, **more)
        expected = response.is_success if status is None else response.status_code == status
        assert expected, f"{method} {path}: {response.status_code} {response.text}"
        return orjson.loads(response.content) if response.content else None

    async def get(self, path: str, **more: Any) -> Any:
        return await self.ask("GET", path, **more)

    async def create(self, path: str, body: Json, **more: Any) -> Any:
        return await self.ask("POST", path, json=body, **more)

    async def items(self, path: str, **params: Any) -> list[Json]:
        found: list[Json] = (await self.get(path, params=params))["items"]
        return found


class Driver(Api):
    """An open office and its owner."""

    def __init__(self, opened: Office, token: str, owner_id: str) -> None:
        super().__init__(opened, token)
        self.owner_id = owner_id
        self.events: list[Json] = []
        self._heard = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    # ── making ──────────────────────────────────────────────────────────────────────────────────────────

    async def agent(
        self, id: str, turns: Sequence[Json] = (), *, steps: Sequence[Json] | None = None, **fields: Any
    ) -> Json:
        """An agent on a script: `turns` as the contract has them, or `steps` of the one turn that always plays."""
        script = [{"steps": list(steps)}] if steps is not None else list(turns)
        model = {"provider": "script", "turns": script}
        body = {"id": id, "name": id.capitalize(), "model": model, **fields}
        made: Json = await self.create("/agents", body)
        return made

    async def space(self, id: str, members: Sequence[str] = (), **fields: Any) -> Json:
        made: Json = await self.create("/spaces", {"id": id, "members": list(members), **fields})
        return made

    async def dm(self, first: str, second: str) -> Json:
        made: Json = await self.create("/spaces", {"kind": "dm", "members": [first, second]})
        return made

    async def person(self, name: str) -> tuple[str, Api]:
        """Somebody who is not the owner, and their API."""

        async def body(tx: Transaction) -> tuple[str, str]:
            id = f"psn_{name.lower()}"
            person = Person(id=id, name=name, role="member", created_at=tx.clock.now())
            await access_rows.insert_person(tx, person)
            _, value = await access.create_token(tx, name, person_id=id)
            return id, value

        id, token = await self.office.store.transact(body)
        return id, Api(self.office, token)

    async def as_agent(self, id: str) -> Api:
        made = await self.create("/tokens", {"name": id, "agentId": id})
        return Api(self.office, made["token"])

    # ── speaking and looking ────────────────────────────────────────────────────────────────────────────

    async def post(self, space_id: str, text: str, **more: Any) -> Json:
        made: Json = await self.create(f"/spaces/{space_id}/messages", {"text": text, **more})
        return made

    async def messages(self, space_id: str, **params: Any) -> list[Json]:
        return await self.items(f"/spaces/{space_id}/messages", **{"limit": 200, **params})

    async def texts(self, space_id: str) -> list[str]:
        return [message["text"] for message in await self.messages(space_id)]

    async def runs(self, **params: Any) -> list[Json]:
        """Oldest first."""
        return (await self.items("/runs", **{"limit": 200, **params}))[::-1]

    async def journal(self, run_id: str) -> list[Json]:
        return await self.items(f"/runs/{run_id}/messages")

    async def results(self, run_id: str) -> list[Any]:
        """What the run's calls came to, in order."""
        return [entry["result"] for entry in await self.journal(run_id) if entry["type"] == "tool_return_message"]

    # ── waiting ─────────────────────────────────────────────────────────────────────────────────────────

    async def watch(self) -> None:
        """Keep every event the owner may see in `events`, from now on."""
        _, chunks = await self.office.feed.follow(await self.office.local_owner())
        self._watching = asyncio.create_task(self._listen(chunks))

    async def _listen(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            for line in chunk.split(b"\n"):
                if line.startswith(b"data: "):
                    self.events.append(orjson.loads(line[6:]))
                    self._heard.set()

    async def event(self, type: str, where: Callable[[Json], bool] = lambda event: True, *, nth: int = 1) -> Json:
        """The n-th such event since the office opened, waited for with a bound."""

        def found() -> list[Json]:
            return [event for event in self.events if event["type"] == type and where(event)]

        try:
            async with asyncio.timeout(BOUND):
                while len(found()) < nth:
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            seen = [event["type"] for event in self.events]
            raise AssertionError(f"no {type} number {nth} within {BOUND} s; seen: {seen}") from None
        return found()[nth - 1]

    async def run_finished(self, agent: str | None = None, *, nth: int = 1) -> Json:
        """The n-th finished run (of an agent), as its event tells it."""
        event = await self.event("run_finished", lambda e: agent in (None, e["agentId"]), nth=nth)
        run: Json = event["run"]
        return run

    async def until(self, holds: Callable[[], Awaitable[bool]], bound: float = BOUND) -> None:
        """Wait for something that no event tells of. It is asked for again whenever one came, and now and then."""
        async with asyncio.timeout(bound):
            while not await holds():
                self._heard.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._heard.wait(), 0.05)

    async def idle(self, bound: float = BOUND) -> None:
        """Wait until no thread is queued and no run is under way, but for agents that are paused."""

        async def holds() -> bool:
            return all(agent["state"] in ("idle", "paused") for agent in await self.items("/agents", limit=200))

        await self.until(holds, bound)
        # What was committed last has been handed to followers, too.
        await self.office.feed.pump()
        await asyncio.sleep(0)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            check_events(self.events)


async def claimed(tx: Transaction) -> Principal:
    """The owner of an office that has been claimed, now if nobody has before."""
    return await access.find_owner(tx) or await access.claim(tx, "Olga", None)


class Offices:
    """Opens offices on one fresh database, and closes them when the test ends."""

    def __init__(self, database: Database, stack: AsyncExitStack) -> None:
        self.database = database
        self._stack = stack

    async def open(
        self,
        *,
        families: Mapping[str, Sequence[Tool]] | None = None,
        drive: bool = True,
        engine: EngineSettings | None = None,
        limits: LimitSettings | None = None,
        watch: bool = True,
        clock: Clock | None = None,
        bridges: Sequence[Bridge] = (),
        embedder: Embedder | None = None,
        **more: Any,
    ) -> Driver:
        opened = await self.raw(
            families=families,
            drive=drive,
            engine=engine,
            limits=limits,
            clock=clock,
            bridges=bridges,
            embedder=embedder,
            **more,
        )
        owner = await opened.store.transact(claimed)
        _, token = await opened.store.transact(lambda tx: access.create_token(tx, "tests", person_id=owner.id))
        driver = Driver(opened, token, owner.id)
        self._stack.push_async_callback(driver.close)
        if watch:
            await driver.watch()
        return driver

    async def raw(
        self,
        *,
        families: Mapping[str, Sequence[Tool]] | None = None,
        drive: bool = False,
        engine: EngineSettings | None = None,
        limits: LimitSettings | None = None,
        clock: Clock | None = None,
        bridges: Sequence[Bridge] = (),
        embedder: Embedder | None = None,
        **more: Any,
    ) -> Office:
        """An office that nobody owns yet."""
        settings = load_settings(
            {},
            data=self.database.data,
            database_url=self.database.url,
            # Longer than any test waits: a turn that is not passed on must not pass by itself and hide it.
            engine=engine or EngineSettings(lease_seconds=2.0, group_wait_seconds=600.0),
            limits=limits or UNLIMITED,
            **{"hosts": ("office",), **more},
        )
        store = self.database.store()
        store.clock = clock or store.clock
        if self.database.kind == "postgres":
            _FROM_TEMPLATE.add(store)
        return await self._stack.enter_async_context(
            office(
                settings,
                families={**FAMILIES, **(families or {})},
                drive=drive,
                store=store,
                bridges=bridges,
                embedder=embedder,
            )
        )
