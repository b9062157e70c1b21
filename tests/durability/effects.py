"""Tools with effects outside our database, which write down each effect, and a cast that uses them.

Each of them kills its own process the first time it is called, right after its effect: the worst moment there is.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from bullpen.testing.histories import Effect, append_effect
from bullpen.tools import Tool, ToolContext, tool
from tests.durability.story import say, script, turn


def sink(folder: Path) -> dict[str, list[Tool]]:
    """The family `sink`. Effects go to `effects` in the folder; who has died already is noted there too."""

    def happen(context: ToolContext, kind: str, *, die: bool) -> dict[str, Any]:
        append_effect(folder / "effects", Effect(kind, context.call_id, key=context.call_id))
        mark = folder / f"died-{context.call_id}"
        if die and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"happened": kind}

    @tool(effect="once")
    async def pay(context: ToolContext, die: bool = True) -> dict[str, Any]:
        """Pay. Must never happen twice."""
        return happen(context, "once", die=die)

    @tool(effect="once", visible=True)
    async def pay_in_public(context: ToolContext, die: bool = True) -> dict[str, Any]:
        """Pay, with a card in the space."""
        return happen(context, "once", die=die)

    @tool(effect="idempotent")
    async def put(context: ToolContext, die: bool = True) -> dict[str, Any]:
        """Put something somewhere; putting it there again changes nothing."""
        return happen(context, "idempotent", die=die)

    @tool(effect="idempotent", visible=True)
    async def put_in_public(context: ToolContext, die: bool = True) -> dict[str, Any]:
        """Put something somewhere, with a card in the space."""
        return happen(context, "idempotent", die=die)

    @tool(effect="pure", act=None)
    async def look(context: ToolContext, die: bool = True) -> dict[str, Any]:
        """Look at something outside."""
        return happen(context, "pure", die=die)

    return {"sink": [pay, pay_in_public, put, put_in_public, look]}


def agent(name: str, *steps: Any) -> dict[str, Any]:
    return {"id": name, "name": name.title(), "tools": ["messaging", "sink"], "model": script(turn("", *steps))}


SENDS = [say("send_message", text=f"message {n}") for n in range(1, 7)]

AGENTS = [
    *(
        agent(name, [say(name)], [say("send_message", text="went on: {{results[0].happened}}")])
        for name in ("pay", "put", "look")
    ),
    *(
        agent(name.replace("_", "-"), [say(name), say("send_message", text="then")])
        for name in ("pay_in_public", "put_in_public")
    ),
    agent("chatty", [*SENDS[:3], say("look"), *SENDS[3:]]),
    agent(
        "busy",
        [say("pay", die=False), say("put", die=False), say("look", die=False), say("send_message", text="all done")],
        [say("pay_in_public", die=False), say("put_in_public", die=False)],
    ),
    {
        "id": "thinker",
        "name": "Thinker",
        "tools": ["messaging", "sink"],
        "model": script(
            {"steps": [{"delayMs": 500, "calls": [say("put", die=False), say("send_message", text="I thought.")]}]}
        ),
    },
]
SPACES: list[dict[str, Any]] = [
    {"id": made["id"] + "-room", "members": [made["id"]], "wake": {"people": "all"}} for made in AGENTS
]
