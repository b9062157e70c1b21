"""Many callers at once: one message per client message id, numbers without a hole, one of everything that is one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.databases import Database
from tests.driver import Offices
from tests.feed.streams import following, rising
from tests.feed.worlds import Made, World, enter


async def both(copied: tuple[Database, Made], stack: AsyncExitStack) -> list[World]:
    """Two servers on one database, where the database allows that; else one, twice."""
    database, made = copied
    offices = Offices(database, stack)
    first = await enter(offices, made, drive=False)
    return [first, first if database.kind == "sqlite" else await enter(offices, made, drive=False)]


@pytest.mark.proves("P2")
async def test_fifty_posts_with_one_client_message_id_store_one_message(copied: tuple[Database, Made]) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        before = await worlds[0].office.messages("team")
        made = await asyncio.gather(
            *(worlds[n % 2].office.post("team", "once", clientMessageId="the one") for n in range(50))
        )
        assert len({message["id"] for message in made}) == 1
        assert await worlds[0].office.messages("team") == [*before, made[0]]


@pytest.mark.proves("P1")
async def test_concurrent_posts_are_numbered_without_gaps_and_announced_once_each(
    copied: tuple[Database, Made],
) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        await worlds[0].office.space("crowd", ["psn_pia"])
        async with following(worlds[0].office) as here, following(worlds[1].office, worlds[1]["pia"]) as there:
            made = await asyncio.gather(*(worlds[n % 2].office.post("crowd", f"{n}") for n in range(200)))
            assert sorted(message["seq"] for message in made) == list(range(1, 201))
            kept = await worlds[0].office.messages("crowd")
            assert [message["seq"] for message in kept] == list(range(1, 201))
            assert {m["id"]: m["text"] for m in kept} == {m["id"]: m["text"] for m in made}
            await worlds[1].office.post("crowd", "end")
            for stream in (here, there):
                await stream.until_text("end")
                assert sorted(stream.texts()) == sorted([*(f"{n}" for n in range(200)), "end"])
                assert rising(stream.ids)


async def test_concurrent_creations_of_the_same_thing_succeed_once(copied: tuple[Database, Made]) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        agent = {"id": "twin", "name": "Twin", "model": "script:echo"}
        things: list[tuple[str, Any]] = [
            ("/agents", agent),
            ("/spaces", {"id": "twins"}),
            ("/spaces", {"kind": "dm", "members": ["ada", "psn_pia"]}),
        ]
        for path, body in things:
            answers = await asyncio.gather(*(worlds[n % 2].office.http.post(path, json=body) for n in range(10)))
            assert sorted(answer.status_code for answer in answers) == [201, *[409] * 9], path


async def test_a_reaction_made_many_times_at_once_is_one(copied: tuple[Database, Made]) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        path = f"/messages/{worlds[0].messages['owner']['id']}"
        await asyncio.gather(*(worlds[n % 2].office.create(f"{path}/reactions", {"emoji": "🎉"}) for n in range(10)))
        assert (await worlds[0].office.get(path))["reactions"] == [
            {"emoji": "🎉", "memberIds": [worlds[0].office.owner_id]}
        ]
        gone = await asyncio.gather(*(worlds[n % 2].office.http.delete(f"{path}/reactions/🎉") for n in range(10)))
        assert sorted(answer.status_code for answer in gone) == [200, *[404] * 9]


async def test_reacting_during_deletion_leaves_no_reaction_on_the_deleted_message(
    copied: tuple[Database, Made],
) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        for _ in range(6):
            id = (await worlds[0].office.post("team", "going"))["id"]
            reacting = [
                worlds[n % 2]["pia"].http.post(f"/messages/{id}/reactions", json={"emoji": f"{n}"}) for n in range(6)
            ]
            await asyncio.gather(*reacting[:3], worlds[1].office.http.delete(f"/messages/{id}"), *reacting[3:])
            message = await worlds[0].office.get(f"/messages/{id}")
            assert "deletedAt" in message
            assert message["reactions"] == []


async def test_an_agent_deleted_while_being_added_joins_no_space(copied: tuple[Database, Made]) -> None:
    async with AsyncExitStack() as stack:
        worlds = await both(copied, stack)
        for number in range(5):
            await worlds[0].office.agent(f"brief{number}", steps=[])
            await asyncio.gather(
                *(w.office.http.post("/spaces/team/members", json={"memberId": f"brief{number}"}) for w in worlds),
                worlds[1].office.http.delete(f"/agents/brief{number}"),
            )
            assert f"brief{number}" not in (await worlds[0].office.get("/spaces/team"))["members"]
