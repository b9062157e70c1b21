"""The server as a process: killed, stopped and started again, it goes on where it was."""

from __future__ import annotations

from typing import Any

from tests.cli.processes import Process, PythonProcess
from tests.durability.rooms import until_said
from tests.servers import Server, Servers

ECHO: dict[str, Any] = {
    "provider": "script",
    "turns": [{"steps": [{"calls": [{"tool": "send_message", "args": {"text": "Heard: {{trigger.text}}"}}]}]}],
}


async def test_killed_and_started_again_a_server_has_everything_it_acknowledged(server: Server) -> None:
    async with server.client() as bp:
        await bp.agents.create(id="ada", name="Ada", model=ECHO, tools=["messaging"])
        await bp.spaces.create(id="general", members=["ada"], wake={"people": "all"})
        await bp.spaces("general").send("hello")
    server.kill()
    server.start()
    async with server.client() as bp:
        assert await until_said(bp, "general", 2) == ["hello", "Heard: hello"]


def test_sigterm_closes_everything_and_is_a_success(servers: Servers) -> None:
    # With a Python of its own on SQLite, as people start it.
    server = servers.serve(PythonProcess if servers.database.kind == "sqlite" else Process)
    assert server.stop() == 0
    left = {path.name for path in server.data.iterdir()}
    assert left & {"bullpen.sock", "bullpen.db-wal"} == set()
