"""Many change the same thing at once: followers end up with what is there. (On SQLite there is one writer anyway.)"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests import effort
from tests.driver import Json
from tests.feed.snapshots import Known, apply, fetch, followed, seen
from tests.feed.streams import following
from tests.feed.worlds import World

AT_ONCE = 8
ROUNDS = 40

Change = Callable[[World, int], Awaitable[Any]]


async def edit(world: World, number: int) -> None:
    await world.office.ask("PATCH", f"/messages/{world.messages['owner']['id']}", json={"text": f"version {number}"})


async def rename_the_space(world: World, number: int) -> None:
    caller = world["pia" if number % 2 else "owner"]
    await caller.ask("PATCH", "/spaces/team", json={"name": f"name {number}"})


async def react_and_take_it_back(world: World, number: int) -> None:
    path = f"/messages/{world.messages['owner']['id']}/reactions"
    if number % 2:
        await world["pia"].create(path, {"emoji": "👍"})
    else:
        await world["pia"].http.delete(f"{path}/👍")


async def join_and_leave(world: World, number: int) -> None:
    if number % 2:
        await world.office.create("/spaces/team/members", {"memberId": "pong"})
    else:
        await world.office.http.delete("/spaces/team/members/pong")


async def redefine_the_agent(world: World, number: int) -> None:
    await world.office.ask("PATCH", "/agents/pong", json={"description": f"the {number}th"})


CHANGES: list[Change] = [edit, rename_the_space, react_and_take_it_back, join_and_leave, redefine_the_agent]


@pytest.mark.proves("M6")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_followers_end_with_the_stored_one_of_concurrent_changes(world: World, change: Change) -> None:
    before: Known = await fetch(world.office)
    async with following(world.office) as stream:
        for round in range(effort.count(ROUNDS, sample=2)):
            await asyncio.gather(*(change(world, round * AT_ONCE + number) for number in range(AT_ONCE)))
            await world.office.post("lobby", f"round {round}")
            await stream.until_text(f"round {round}")
            assert followed(apply(before, stream.stored)) == seen(await fetch(world.office))


async def test_two_changes_of_one_space_at_once_both_stay(world: World) -> None:
    fields: list[Json] = [{"trigger": "t"}, {"name": "n"}, {"timezone": "UTC"}, {"folder": "f"}, {"bridge": "tg:1"}]
    await asyncio.gather(*(world.office.ask("PATCH", "/spaces/team", json=field) for field in fields))
    space = await world.office.get("/spaces/team")
    assert {name: space.get(name) for field in fields for name in field} == {k: v for f in fields for k, v in f.items()}
