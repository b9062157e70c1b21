"""The server as a process: killed, stopped and started again, it goes on where it was."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.servers import Server

BOUND = 60
ECHO: dict[str, Any] = {
    "provider": "script",
    "turns": [{"steps": [{"calls": [{"tool": "send_message", "args": {"text": "Heard: {{trigger.text}}"}}]}]}],
}


async def test_killed_and_started_again_a_server_has_everything_it_acknowledged(server: Server) -> None:
    async with asyncio.timeout(BOUND):
        async with server.client() as bp:
            await bp.agents.create(id="ada", name="Ada", model=ECHO, tools=["messaging"])
            await bp.spaces.create(id="general", members=["ada"], wake={"people": "all"})
            await bp.spaces("general").send("hello")
        server.kill()
        server.start()
        async with server.client() as bp:
            while len(texts := [m.text for m in (await bp.spaces("general").messages()).items]) < 2:
                await asyncio.sleep(0.02)
    assert texts == ["hello", "Heard: hello"]


def test_sigterm_closes_everything_and_is_a_success(server: Server) -> None:
    assert server.stop() == 0
    left = {path.name for path in server.data.iterdir()}
    assert left & {"bullpen.sock", "bullpen.db-wal"} == set()
