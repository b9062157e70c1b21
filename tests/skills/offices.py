"""An office whose agents do what they are told, and a workflow that people start."""

from __future__ import annotations

from typing import Any

from tests.driver import Api, Driver, Json

INSTRUCTIONS = "1. Ask who was in. 2. Say what they did."
STANDUP: Json = {"description": "Who did what", "instructions": INSTRUCTIONS, "parameters": "[day]"}
TOOLS = ["messaging", "skills"]


def call(tool: str, **args: Any) -> Json:
    return {"tool": tool, "args": args}


def turn(when: str, *calls: Json) -> Json:
    return {"when": when, "steps": [{"calls": list(calls)}, {}]}


DONE: Json = {"kind": "skill", "steps": [{"calls": [call("send_message", text="done: {{trigger.text}}")]}, {}]}


async def studio(office: Driver, *turns: Json, space: str = "studio", **agent: Any) -> None:
    """Ada, who follows skills by saying so, in a space of the owner's."""
    await office.agent("ada", [DONE, *turns], **{"tools": TOOLS, **agent})
    await office.space(space, ["ada"])


async def told(office: Driver, text: str, *, space: str = "studio", by: Api | None = None, nth: int = 1) -> Any:
    """What came of the first call that Ada makes when somebody says this."""
    await (by or office).create(f"/spaces/{space}/messages", {"text": f"@ada {text}"})
    run = await office.run_finished("ada", nth=nth)
    return (await office.results(run["id"]))[0]


async def stored(api: Api, name: str = "standup", *, space: str = "studio", **more: Any) -> Json:
    kept: Json = await api.ask("PUT", f"/spaces/{space}/skills/{name}", json={**STANDUP, **more})
    return kept
