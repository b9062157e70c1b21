"""A real server, killed while agents are paused, is still paused afterwards, and goes on when it is told to."""

from __future__ import annotations

from typing import Any

import pytest

from bullpen.testing import invariants, snapshot
from tests.durability.rooms import until_said
from tests.servers import Server

SLOW: dict[str, Any] = {
    "provider": "script",
    "turns": [
        {
            "when": "hello",
            "steps": [
                {"calls": [{"tool": "send_message", "args": {"text": "one"}}]},
                {"delayMs": 3000, "calls": [{"tool": "send_message", "args": {"text": "two"}}]},
            ],
        },
        {"steps": [{"calls": [{"tool": "send_message", "args": {"text": "three"}}]}]},
    ],
}


@pytest.mark.parametrize("everybody", [False, True], ids=["one", "all"])
async def test_a_server_killed_while_paused_stays_paused_until_resumed(server: Server, everybody: bool) -> None:
    async with server.client() as bp:
        await bp.agents.create(id="ada", name="Ada", model=SLOW)
        await bp.spaces.create(id="general", members=["ada"], wake={"people": "all"})
        await bp.spaces("general").send("hello")
        await until_said(bp, "general", 2)
        await (bp.agents.pause_all() if everybody else bp.agents.pause("ada"))
        await bp.spaces("general").send("and this")
    server.kill()
    server.start()
    async with server.client() as bp:
        assert (await bp.agents.get("ada")).state == "paused"
        await bp.agents.create(id="bo", name="Bo", model=SLOW)
        assert (await bp.agents.get("bo")).state == ("paused" if everybody else "idle")
    server.kill()
    server.start()
    async with server.client() as bp:
        seen = invariants.Seen(await snapshot.read(server.database_url))
        assert invariants.violations(seen) == []
        (run,) = seen.rows.runs
        assert (run["step"], run["finished_at"]) == (1, None)
        await (bp.agents.resume_all() if everybody else bp.agents.resume("ada"))
        assert await until_said(bp, "general", 5) == ["hello", "one", "and this", "two", "three"]
