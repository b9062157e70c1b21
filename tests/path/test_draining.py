"""One run takes what has come in meanwhile, as far as its causes hold equal grants; a thread does one at a time."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.driver import Driver
from tests.path.puppets import puppet, told, untimed
from tests.path.scripts import SILENT, say, turn


async def test_ten_quick_messages_to_a_busy_agent_are_one_run(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "first")
    await ada.asked(1)
    posted = [await office.post("general", f"number {n}") for n in range(10)]
    ada.release()
    run = await office.run_finished("ada", nth=2)
    await office.idle()
    assert len(await office.runs()) == 2
    assert (run["trigger"]["items"], run["trigger"]["messageId"]) == (10, posted[-1]["id"])
    news = untimed(told(ada.shown[2])[-1]).splitlines()
    assert news == [
        "New for you:",
        *(f"[{m['id']} in general] Olga (person {office.owner_id}): {m['text']}" for m in posted),
    ]
    assert await office.items("/agents/ada/inbox") == []


async def test_messages_with_different_grants_get_separate_runs(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.agent("bo", [turn("go", say("from bo"))])
    await office.space("general", ["ada"], wake={"people": "all", "agents": "all"})
    peter, api = await office.person("Peter")
    quinn, other = await office.person("Quinn")
    for id in (peter, quinn, "bo"):
        await office.create("/spaces/general/members", {"memberId": id})
    bo = await office.as_agent("bo")
    await office.post("general", "wait")
    await ada.asked(1)
    speakers = [
        (office, "owner 1"),
        (office, "owner 2"),
        (api, "peter"),
        (other, "quinn"),
        (bo, "bo"),
        (office, "owner 3"),
    ]
    for speaker, text in speakers:
        await speaker.create("/spaces/general/messages", {"text": text})
    ada.release()
    await office.run_finished("ada", nth=5)
    await office.idle()
    taken = [
        [line.rpartition(": ")[2] for line in (await office.journal(run["id"]))[0]["content"].splitlines()[2:]]
        for run in await office.runs(agentId="ada")
    ]
    # A person is a person, whoever they are; the owner may more, and an agent less.
    assert taken == [["wait"], ["owner 1", "owner 2"], ["peter", "quinn"], ["bo"], ["owner 3"]]


@pytest.mark.proves("P10")
async def test_an_agents_message_for_an_owner_gets_a_separate_run(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=SILENT, held=True)
    await office.agent("bo", [turn("go", say("from bo", spaceId="general"))])
    await office.space("general", ["ada", "bo"], wake={"people": "mention", "agents": "all"})
    await office.space("aside", ["bo"], wake={"people": "all"})
    await office.post("general", "@ada wait")
    await ada.asked(1)
    await office.post("general", "@ada before")
    await office.post("aside", "go")
    await office.run_finished("bo")
    await office.post("general", "@ada after")
    ada.release()
    await office.run_finished("ada", nth=4)
    # Bo spoke because the owner asked it to; still, what Bo said is not drained together with what the owner said.
    runs = await office.runs(agentId="ada")
    assert [(run["trigger"]["items"], run["trigger"]["authorId"]) for run in runs] == [
        (1, office.owner_id),
        (1, office.owner_id),
        (1, "bo"),
        (1, office.owner_id),
    ]


@pytest.mark.proves("P3")
async def test_runs_are_serial_within_a_thread_and_parallel_across_threads(office: Driver) -> None:
    ada = await puppet(office, "ada", steps=[say("heard")], held=True)
    for space in ("red", "blue"):
        await office.space(space, ["ada"], wake={"people": "all"})
    await asyncio.gather(*(office.post(space, f"{n}") for n in range(10) for space in ("red", "blue")))
    await ada.asked(2)
    assert {run["spaceId"] for run in await office.runs(status="thinking")} == {"red", "blue"}
    assert len(await office.runs()) == 2
    ada.release()
    await asyncio.gather(*(office.post(space, f"more {n}") for n in range(5) for space in ("red", "blue")))
    await office.idle()
    for space in ("red", "blue"):
        runs = await office.runs(spaceId=space)
        assert len({run["threadId"] for run in runs}) == 1
        assert all(earlier["finishedAt"] < later["startedAt"] for earlier, later in pairwise(runs))
        assert sum(run["trigger"]["items"] for run in runs) == 15
