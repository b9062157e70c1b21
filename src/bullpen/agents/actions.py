"""Create, change and delete agents."""

from __future__ import annotations

from typing import Any

from bullpen import ids
from bullpen.agents import rows
from bullpen.errors import AlreadyExists, Invalid, NotFound
from bullpen.events.actions import record
from bullpen.storage import Transaction
from bullpen.wire import Agent
from bullpen.wire.requests import CreateAgent, UpdateAgent


async def get(tx: Transaction, id: str) -> Agent:
    agent = await rows.select_agent(tx, id)
    if agent is None:
        raise NotFound(f"There is no agent {id!r}.")
    return agent


async def create(tx: Transaction, request: CreateAgent) -> Agent:
    if request.id is not None and not ids.choosable(request.id):
        raise Invalid(
            f"{request.id!r} cannot be an agent's id.",
            fields={"id": "1–64 of a–z, 0–9, _ and -, not starting with _ or -, without '--' and not 'dm-…'"},
        )
    id = request.id or ids.agent()
    if await rows.id_is_taken(tx, id):
        raise AlreadyExists(f"The id {id!r} is taken; choose another, or PATCH the agent.", fields={"id": "is taken"})
    now = tx.clock.now()
    # An agent acts with exactly the tools it lists; one that lists none can at least speak and stay silent.
    tools = ["messaging"] if request.tools is None else request.tools
    agent = Agent(id=id, created_at=now, updated_at=now, **{**_fields(request), "tools": tools})
    await rows.insert_agent(tx, agent)
    record(tx, "agent_created", agent_id=id, agent=agent)
    return agent


async def update(tx: Transaction, id: str, request: UpdateAgent) -> Agent:
    """Change what was said and keep the rest. A run under way goes on with the definition it began with."""
    agent = await get(tx, id)
    said = {name: getattr(request, name) for name in request.model_fields_set if getattr(request, name) is not None}
    changed = agent.model_copy(update={**said, "updated_at": tx.clock.now()})
    await rows.update_agent(tx, changed)
    record(tx, "agent_updated", agent_id=id, agent=changed)
    return changed


async def delete(tx: Transaction, id: str) -> None:
    await get(tx, id)
    await rows.delete_agent(tx, id)
    record(tx, "agent_deleted", agent_id=id)


def _fields(request: CreateAgent) -> dict[str, Any]:
    names = set(CreateAgent.model_fields) - {"id", "blocks", "tools"}
    return {name: getattr(request, name) for name in names}
