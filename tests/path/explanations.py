"""Asking why a message woke an agent, or did not."""

from __future__ import annotations

from tests.driver import Api, Json


async def why(caller: Api, message: Json, agent: str | None = None) -> dict[str, Json]:
    """By agent."""
    params = {} if agent is None else {"agentId": agent}
    found = await caller.get(f"/messages/{message['id']}/why", params=params)
    assert (found["messageId"], found["spaceId"]) == (message["id"], message["spaceId"])
    assert all(item["reason"].endswith(".") for item in found["agents"])
    return {item["agentId"]: item for item in found["agents"]}
