"""Children in which calls are approved, inline and late, and that die after a chosen commit or in a tool's effect."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from bullpen import app
from bullpen.cli.loop import run_on_fast_loop
from bullpen.testing import invariants, snapshot, telling
from bullpen.testing.crash import Commits, calm, mortal_office, settings_for
from bullpen.testing.forks import Report
from bullpen.testing.histories import read_effects
from bullpen.toolbox import FAMILIES
from bullpen.tools import Tool
from bullpen.wire.nouns import VariableDefinition
from tests.durability import effects
from tests.durability.story import say, script, turn

BUSY = 503
KEY = VariableDefinition(name="TILL_KEY", type="secret")
HASTY = 20  # milliseconds that a run waits for a late approval


def families(folder: Path) -> dict[str, list[Tool]]:
    """The usual ones. `memory` and `sink` do not wait for long; `patient` holds the same tools that do."""
    hasty = {
        name: [replace(tool, timeout_ms=HASTY) for tool in tools]
        for name, tools in {"memory": FAMILIES["memory"], **effects.sink(folder)}.items()
    }
    slow = [*effects.sink(folder)["sink"], *FAMILIES["memory"]]
    patient = [replace(tool, name=f"{tool.name}_slowly") for tool in slow]
    keyed = {
        name: replace(tool, name=f"keyed_{tool.name}", variables=(KEY,))
        for name, tool in {tool.name: tool for tool in [*hasty["sink"], *patient]}.items()
    }
    return {
        **{name: list(tools) for name, tools in FAMILIES.items()},
        **hasty,
        "patient": patient,
        "keyed": list(keyed.values()),
    }


def clerk(id: str, tool: str, **args: Any) -> dict[str, Any]:
    """An agent that makes one call, which somebody has to approve, and says what came of it."""
    told = [say("send_message", text="went on")]
    model = script(
        {"kind": "tool_result", "steps": [{"calls": [say("send_message", text="heard later")]}]},
        turn("", [say(tool, **args)], told),
    )
    tools = ["messaging", "memory", "sink", "patient", "keyed"]
    policy = {} if id.startswith("keyed") else {tool: "ask"}
    return {"id": id, "name": id.title(), "tools": tools, "model": model, "policy": policy}


AGENTS = [
    clerk("keeper", "store_memory", content="The till is locked."),
    clerk("putter", "put_in_public", die=False),
    clerk("patient-putter", "put_slowly", die=False),
    clerk("patient-keeper", "store_memory_slowly", content="The till is locked."),
    clerk("refused", "pay", die=False),
    clerk("payer", "pay", die=True),
    clerk("patient-payer", "pay_slowly", die=True),
    clerk("keyed-putter", "keyed_put_in_public", die=False),
    clerk("keyed-patient-putter", "keyed_put_slowly", die=False),
    clerk("keyed-patient-keeper", "keyed_store_memory_slowly", content="The till is locked."),
    clerk("twice-asked", "keyed_put", die=False),
    clerk("patient-twice-asked", "keyed_put_slowly", die=False),
]
SPACES = [{"id": made["id"] + "-room", "members": [made["id"]], "wake": {"people": "all"}} for made in AGENTS]
LATE = {"keeper", "putter", "refused", "payer", "keyed-putter", "twice-asked"}
TWICE = {"twice-asked", "patient-twice-asked"}  # they need an approval, and values after it
VALUES = {"env": {"TILL_KEY": "till-key-0123456789"}}
ANSWERS: dict[str, dict[str, Any]] = {"refused": {"approved": False, "reason": "not today"}}


@dataclass
class Owner:
    http: httpx.AsyncClient
    commits: Commits

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        """Asked again if the server is busy, as a client does."""
        while (response := await self.http.request(method, path, **more)).status_code == BUSY:
            await self.commits.next()
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json()

    async def call_of(self, agent: str) -> dict[str, Any]:
        """The first call of the agent that somebody had to approve, once it waits as long as it should."""
        wanted = ("pending", "resolved") if agent in LATE else ("waiting", "resolved")
        while True:
            for status in wanted:
                found = (await self.ask("GET", "/pending", params={"status": status}))["items"]
                for call in found[::-1]:
                    if call["agentId"] == agent:
                        return dict(call)
            await self.commits.next()

    async def answer(self, agent: str, call: dict[str, Any]) -> None:
        answer = VALUES if call["kind"] == "variables" else ANSWERS.get(agent, {"approved": True})
        await self.ask("POST", f"/pending/{call['callId']}/resolve", json={"result": answer})


@asynccontextmanager
async def owner_of(opened: app.Office, commits: Commits) -> AsyncIterator[Owner]:
    transport = httpx.ASGITransport(opened.local_api)
    async with httpx.AsyncClient(transport=transport, base_url="http://office/api") as http:
        yield Owner(http, commits)


def approve(report: Report, *, url: str, data: str, agents: list[str], die_after: int | None = None) -> None:
    """Let each of these agents ask, answer it, and say what the database then tells."""
    run_on_fast_loop(_approve(report, url, Path(data), agents, die_after))


async def _approve(report: Report, url: str, data: Path, agents: list[str], die_after: int | None) -> None:
    settings = settings_for(url, str(data))
    async with mortal_office(settings, die_after=die_after, families=families(data)) as (opened, commits):
        began = commits.count
        async with owner_of(opened, commits) as owner:
            await owner.ask("POST", "/apply", json={"agents": AGENTS, "spaces": SPACES})
            for agent in agents:
                body = {"text": "go", "clientMessageId": f"go {agent}"}
                await owner.ask("POST", f"/spaces/{agent}-room/messages", json=body)
                for _ in range(2 if agent in TWICE else 1):
                    await owner.call_of(agent)
                    await calm(opened, commits)  # a late answer comes when its run is over
                    await owner.answer(agent, await owner.call_of(agent))
                    await calm(opened, commits)
        count = commits.count
    happened = read_effects(data / "effects")
    seen = invariants.Seen(await snapshot.read(url), at_rest=True, effects=happened)
    report(
        {
            "began": began,
            "commits": count,
            "told": telling.told(seen.rows),
            "effects": [effect.kind for effect in happened],
            "violations": invariants.violations(seen),
        }
    )
