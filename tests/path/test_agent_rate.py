"""A space full of agents: together they may say so much in a minute, exactly; people are not counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime

import pytest
from sqlalchemy import bindparam, update

from bullpen.storage import Statement, Transaction
from bullpen.storage.tables import spaces
from bullpen.testing import UNLIMITED
from tests.databases import Database
from tests.driver import Driver, Offices

_SPEAK = [{"calls": [{"tool": "send_message", "args": {"text": "me too"}}]}]
_USE_UP = Statement(
    update(spaces)
    .where(spaces.c.id == bindparam("id_"))
    .values(agents_free_at=bindparam("free_at", type_=spaces.c.agents_free_at.type))
)


async def opened(offices: Offices, per_minute: int) -> Driver:
    return await offices.open(limits=replace(UNLIMITED, agent_messages_per_minute=per_minute))


async def agents_said(office: Driver, space_id: str) -> int:
    return sum(1 for message in await office.messages(space_id) if message["authorKind"] == "agent")


@pytest.mark.proves("L5")
async def test_agents_over_their_shared_rate_are_refused_with_wait_times(offices: Offices) -> None:
    office = await opened(offices, 3)
    for id in ("ada", "bo", "cy"):
        await office.agent(id, steps=_SPEAK)
    await office.space("lobby", ["ada", "bo", "cy"], wake={"people": "all", "agents": "none"})
    for number in (1, 2):
        await office.post("lobby", f"question {number}")
        for id in ("ada", "bo", "cy"):
            await office.run_finished(id, nth=number)

    assert await agents_said(office, "lobby") == 3
    results = [(await office.results(run["id"]))[0] for run in await office.runs()]
    refused = [result["error"] for result in results if "error" in result]
    assert len(refused) == 3
    for why in refused:
        assert "have sent 3 messages within a minute" in why
        assert "room again in " in why
    assert {run["status"] for run in await office.runs()} == {"completed"}
    await office.post("lobby", "people may go on")


@pytest.mark.proves("L5")
@pytest.mark.one_database
async def test_a_send_waits_when_rate_room_is_near(offices: Offices) -> None:
    office = await opened(offices, 600)  # one every 100 ms
    await office.agent("ada", steps=_SPEAK)
    await office.space("lobby", ["ada"], wake={"people": "all"})
    used_up = office.office.store.clock.millis() + 60_000

    async def body(tx: Transaction) -> None:
        await tx.run(_USE_UP, id_="lobby", free_at=used_up)

    await office.office.store.transact(body)
    await office.post("lobby", "anybody?")
    run = await office.run_finished("ada")
    assert run["outcome"] == "spoke"
    said = (await office.messages("lobby"))[-1]
    at = datetime.fromisoformat(said["createdAt"]).timestamp() * 1000
    assert at >= used_up + 100 - 60_000 - 1, "it was sent before there was room"


@pytest.mark.proves("L5")
@pytest.mark.one_database
async def test_an_agents_token_gets_429_and_nobody_else_does(offices: Offices) -> None:
    office = await opened(offices, 2)
    await office.agent("ada", steps=[])
    for id in ("lobby", "attic"):
        await office.space(id, ["ada"], wake={"people": "none"})
    ada = await office.as_agent("ada")
    first = await ada.create("/spaces/lobby/messages", {"text": "one", "clientMessageId": "1"})
    await ada.create("/spaces/lobby/messages", {"text": "two"})
    response = await ada.http.post("/spaces/lobby/messages", json={"text": "three"})
    assert response.status_code == 429
    assert 25 <= int(response.headers["retry-after"]) <= 31
    again = await ada.create("/spaces/lobby/messages", {"text": "one", "clientMessageId": "1"})
    assert again["id"] == first["id"], "a repeat says nothing new, so it costs nothing"
    await ada.create("/spaces/attic/messages", {"text": "another space"})
    await office.post("lobby", "a person")


@pytest.mark.proves("L5")
async def test_the_agent_rate_holds_under_concurrency_and_after_a_restart(database: Database) -> None:
    async with AsyncExitStack() as stack:
        await use_up(await opened(Offices(database, stack), 5))
    async with AsyncExitStack() as stack:
        ada = await (await opened(Offices(database, stack), 5)).as_agent("ada")
        await ada.create("/spaces/lobby/messages", {"text": "after a restart"}, status=429)


async def use_up(office: Driver) -> None:
    await office.space("lobby", [])
    speakers = []
    for id in ("ada", "bo", "cy", "di"):
        await office.agent(id, steps=[])
        await office.create("/spaces/lobby/members", {"memberId": id})
        speakers.append(await office.as_agent(id))
    attempts = [
        speaker.http.post("/spaces/lobby/messages", json={"text": f"{number}"})
        for speaker in speakers
        for number in range(5)
    ]
    answers = await asyncio.gather(*attempts)
    assert Counter(answer.status_code for answer in answers) == {201: 5, 429: 15}
    assert await agents_said(office, "lobby") == 5
    seqs = [message["seq"] for message in await office.messages("lobby")]
    assert seqs == list(range(1, 6)), "a refused message takes no number"
