"""The SDK over a network that cuts every connection: nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio

import pytest

from bullpen.client import Bullpen, Event, Follow
from bullpen.testing import snapshot
from bullpen.testing.histories import pair
from tests import effort
from tests.client.cutting import cutting
from tests.path.scripts import call, step
from tests.servers import Server
from tests.waits import BOUND

EVENTS = 10_000  # at least so many in a full run,
CREW, STEPS, SAYS = 8, 15, 30  # by agents, each of which takes so many steps and says so much in each
CUTS = 10


@pytest.mark.proves("M2")
async def test_ten_thousand_events_survive_a_network_that_cuts_connections(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = effort.count(STEPS, sample=2)
    async with asyncio.timeout(3 * BOUND), server.client() as bp, cutting(server.url) as network:
        await hire(bp, steps)
        async with Bullpen(network.url, server.token) as other, other.events() as events:
            began = pair(events.cursor or "")
            for n in range(CREW):
                await bp.spaces(f"room{n}").send("go")
            seen = await all_told(events)
    rows = (await snapshot.read(server.database_url)).events
    table = [((row["place"].xid, row["place"].id), row["type"]) for row in rows]
    assert [(pair(event.cursor or ""), event.type) for event in seen] == [row for row in table if row[0] > began]
    with capsys.disabled():
        print(f"\n{len(seen)} events, {network.cuts} connections cut")
    assert len(seen) >= EVENTS * steps // STEPS
    assert network.cuts >= max(3, CUTS * steps // STEPS)


async def hire(bp: Bullpen, steps: int) -> None:
    """Agents that have a lot to say: each message is an event, and so is each call that sends one."""
    limits = {"maxMessages": steps * SAYS, "maxSteps": steps + 1}
    turn = {"steps": steps * [step(*SAYS * [call("send_message", text="x")])]}
    model = {"provider": "script", "turns": [turn]}
    crew = [{"id": f"a{n}", "name": f"a{n}", "model": model, "limits": limits} for n in range(CREW)]
    rooms = [{"id": f"room{n}", "members": [f"a{n}"], "wake": {"people": "all"}} for n in range(CREW)]
    await bp.apply(agents=crew, spaces=rooms)


async def all_told(events: Follow) -> list[Event]:
    """Every stored event until the whole crew is done."""
    seen: list[Event] = []
    async for event in events:
        if event.cursor is not None:
            seen.append(event)
            if event.type == "run_finished" and sum(one.type == "run_finished" for one in seen) == CREW:
                break
    return seen
