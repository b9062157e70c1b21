"""An office to measure: agents that play one story, each in a room of its own, with a history.

The story is the one that peers were measured with: three model steps and three tool calls. It searches memory, then
stores something and speaks, then ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bullpen import app
from bullpen.access import actions as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.memory import actions as memory
from bullpen.memory import rules
from bullpen.memory.types import Origin
from bullpen.operations.say import author_of
from bullpen.settings import EngineSettings, Settings
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces.types import Author, PostingRules
from bullpen.storage import Transaction
from bullpen.testing import UNLIMITED
from bullpen.threads import actions as threads
from bullpen.wire.requests import CreateAgent, CreateSpace, UpdateSpace, WakeRequest

STORY: dict[str, Any] = {
    "provider": "script",
    "turns": [
        {
            "steps": [
                {"calls": [{"tool": "search_memory", "args": {"query": "green tea"}}]},
                {
                    "calls": [
                        {"tool": "store_memory", "args": {"content": "Somebody said: {{trigger.text}}"}},
                        {"tool": "send_message", "args": {"text": "I have noted that: {{trigger.text}}"}},
                    ]
                },
                {"text": "That is all."},
            ]
        }
    ],
}
SAYING = "The meeting about the new warehouse was moved to Thursday, please tell the others. Note {}."
HISTORY = 20
PAGE = 500

_numbers = itertools.count(1)


class Rooms:
    """Rooms of an open office, and a way to know when all that was said in them has been answered."""

    def __init__(self, opened: app.Office, owner: Principal, model: Any = STORY) -> None:
        self.office = opened
        self._model = model
        self._owner = owner
        self._author = author_of(owner)
        self._drive = opened.engine.callbacks.drive
        self._rested = asyncio.Event()
        self._expected = 0
        opened.engine.callbacks = replace(opened.engine.callbacks, drive=self._count)

    async def _count(self, thread_id: str, epoch: int) -> float | None:
        wait = await self._drive(thread_id, epoch)
        if wait is None:
            self._expected -= 1
            if self._expected == 0:
                self._rested.set()
        return wait

    async def post(self, space_id: str) -> None:
        text = SAYING.format(next(_numbers))

        async def body(tx: Transaction) -> None:
            room = await spaces.writable_room(tx, self._owner, space_id)
            await spaces.post(tx, room, self._author, text, PostingRules())

        await self.office.store.transact(body)

    async def answered(self, space_ids: Sequence[str]) -> None:
        """Say something in each of these rooms, at once, and wait until every agent has finished its run."""
        await self.driven(*(self.post(space_id) for space_id in space_ids))

    async def driven(self, *works: Awaitable[None]) -> None:
        """Do these at once, each of which sets one thread to work, and wait until all of those rest, or wait."""
        self._rested.clear()
        self._expected = len(works)
        await asyncio.gather(*works)
        await self._rested.wait()

    async def make(self, name: str, count: int, history: int = HISTORY) -> list[str]:
        """So many rooms, each with the owner, one agent and a history that woke nobody."""
        return [await self._make_one(f"{name}-{n}", history) for n in range(count)]

    async def _make_one(self, id: str, history: int) -> str:
        agent_id = f"agent-{id}"

        async def body(tx: Transaction) -> None:
            await make_agent(tx, agent_id, self._model)
            await make_space(tx, id, agent_id, self._owner, wake="none")
            for n in range(3):
                place, wish = (
                    rules.Place(rules.agent_scope(agent_id)),
                    memory.Wish(f"Green tea, {n} minutes", ["drinks"]),
                )
                await memory.store(tx, place, agent_id, wish, Origin())

        store = self.office.store
        await store.transact(body)
        for begin in range(0, history, PAGE):
            size = min(PAGE, history - begin)
            await store.transact(partial(self._talk, id=id, agent_id=agent_id, count=size))
        wake = UpdateSpace(wake=WakeRequest(people="all", agents="none"))
        await store.transact(lambda tx: spaces.update(tx, self._owner, id, wake))
        return id

    async def make_empty(self, name: str, count: int, *, wake: Literal["all", "none"]) -> list[str]:
        """So many rooms with the owner and an agent, its thread already there, and nothing said yet."""
        ids = [f"{name}-{n}" for n in range(count)]

        async def body(tx: Transaction, some: Sequence[str]) -> None:
            for id in some:
                await make_agent(tx, f"agent-{id}")
                await make_space(tx, id, f"agent-{id}", self._owner, wake=wake)
                await threads.ensure(tx, f"agent-{id}", "space", id)

        for begin in range(0, count, PAGE):
            await self.office.store.transact(partial(body, some=ids[begin : begin + PAGE]))
        return ids

    async def token(self) -> str:
        """A token of the owner's."""

        async def body(tx: Transaction) -> str:
            _, value = await access.create_token(tx, "bench", person_id=self._owner.id)
            return value

        return await self.office.store.transact(body)

    async def _talk(self, tx: Transaction, id: str, agent_id: str, count: int) -> None:
        room = await space_rows.select_room(tx, id)
        assert room is not None
        agent = Author(id=agent_id, kind="agent", name=agent_id, cause=self._author.cause)
        for n in range(count):
            await spaces.post(tx, room, agent if n % 2 else self._author, SAYING.format(n), PostingRules())


async def make_agent(tx: Transaction, id: str, model: Any = STORY) -> None:
    await agents.create(tx, CreateAgent(id=id, name=id.title(), model=model, tools=["messaging", "memory"]))


async def make_space(tx: Transaction, id: str, agent_id: str, owner: Principal, *, wake: str) -> None:
    asked = WakeRequest.model_validate({"people": wake, "agents": "none"})
    await spaces.create(tx, CreateSpace(id=id, members=[agent_id], wake=asked), owner)


@contextlib.asynccontextmanager
async def opened(
    data: Path,
    database_url: str = "",
    *,
    drive: bool = True,
    lease_seconds: float = 8.0,
    model: Any = STORY,
    **more: Any,
) -> AsyncIterator[Rooms]:
    """An office in this process, without its doors; with `drive`, its agents are at work. `more` are settings."""
    engine = EngineSettings(lease_seconds)
    settings = Settings(data=data, database_url=database_url, limits=UNLIMITED, engine=engine, **more)
    async with app.office(settings, drive=drive) as office:
        yield Rooms(office, await office.store.transact(_claimed), model)


async def _claimed(tx: Transaction) -> Principal:
    """The owner: an office that nobody has claimed serves nobody."""
    return await access.find_owner(tx) or await access.claim(tx, "bench", None)
