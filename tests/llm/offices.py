"""An office whose agents think with models of a strict server."""

from __future__ import annotations

from typing import Any

import orjson

from bullpen.testing.model_server import KEY, ModelServer
from bullpen.testing.wires import Text, Wanted
from tests.driver import Driver, Offices

SILENT = Text("")


def say(text: str, id: str = "c1") -> Wanted:
    return Wanted(id, "send_message", orjson.dumps({"text": text}).decode())


async def an_office(offices: Offices, server: ModelServer, **more: Any) -> Driver:
    """As an operator sets it up: keys and base URLs in the environment."""
    return await offices.open(
        **{
            "variables": {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY},
            "anthropic_base_url": server.url,
            "openai_base_url": f"{server.url}/v1",
            **more,
        }
    )


async def ada(office: Driver, model: Any, **more: Any) -> None:
    await office.agent("ada", model=model, **more)
    await office.space("general", ["ada"], wake={"people": "all"})
