"""Create, change, delete and pause agents. What a pause means for runs is said in runs/loop.py."""

from __future__ import annotations

from typing import Any

from bullpen import ids
from bullpen.access import actions as access
from bullpen.access.types import Principal
from bullpen.agents import rows
from bullpen.audit import actions as audit
from bullpen.budgets import actions as budgets
from bullpen.errors import AlreadyExists, Invalid, NotFound
from bullpen.events.actions import in_turn, record
from bullpen.storage import Transaction
from bullpen.wire import Agent
from bullpen.wire.events import AgentCreated, AgentDeleted, AgentsPaused, AgentsResumed, AgentUpdated, AllAgents
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
    await access.refuse_look_alike(tx, request.name, but_for=id)
    now = tx.clock.now()
    # An agent acts with exactly the tools it lists; one that lists none can at least speak and stay silent.
    tools = ["messaging"] if request.tools is None else request.tools
    agent = Agent(id=id, created_at=now, updated_at=now, **{**_fields(request), "tools": tools})
    await rows.insert_agent(tx, agent)
    await budgets.keep_limits(tx, id, agent.limits)
    record(tx, AgentCreated(agent_id=id, agent=agent))
    return agent


async def update(tx: Transaction, id: str, request: UpdateAgent) -> Agent:
    """Change what was said and keep the rest. A run under way goes on with the definition it began with."""
    agent = await get(tx, id)
    said = {name: getattr(request, name) for name in request.model_fields_set if getattr(request, name) is not None}
    if "avatar" in request.model_fields_set:
        said["avatar"] = request.avatar  # null takes the picture away
    if "model" in said and plays_script(agent.model) and not plays_script(said["model"]):
        said["script"] = agent.model
    changed = agent.model_copy(update={**said, "updated_at": tx.clock.now()})
    if changed.name != agent.name:
        await access.refuse_look_alike(tx, changed.name, but_for=id)
    await rows.update_agent(tx, changed)
    await budgets.keep_limits(tx, id, changed.limits)
    record(tx, AgentUpdated(agent_id=id, agent=changed))
    return changed


def plays_script(model: Any) -> bool:
    provider = model.get("provider") if isinstance(model, dict) else str(model).partition(":")[0]
    return provider == "script"


async def delete(tx: Transaction, id: str) -> None:
    await get(tx, id)
    await rows.delete_agent(tx, id)
    await budgets.forget(tx, "agent", id)
    record(tx, AgentDeleted(agent_id=id))


async def tell(tx: Transaction, id: str) -> None:
    """How it stands now. Of one that is gone there is nothing to tell."""
    agent = await rows.select_agent(tx, id)
    if agent is not None:
        record(tx, AgentUpdated(agent_id=id, agent=agent))


# The turn of everything that pauses or lets go on: an agent and all of them at once must not miss each other.
PAUSING = "agents"


async def pause(tx: Transaction, id: str, by: Principal) -> bool:
    """True if it was not paused before. No run of it begins or goes on until it is resumed."""
    await in_turn(tx, PAUSING, id)
    if (await get(tx, id)).paused_at is not None:
        return False
    await rows.update_paused(tx, id, tx.clock.now())
    record(tx, AgentUpdated(agent_id=id, agent=await get(tx, id)))
    audit.note(tx, by, "agent.paused", "agent", id)
    return True


async def resume(tx: Transaction, id: str, by: Principal) -> bool:
    """True if it was paused by itself. While all are paused it stays so with them."""
    await in_turn(tx, PAUSING, id)
    if (await get(tx, id)).paused_at is None:
        return False
    await rows.update_paused(tx, id, None)
    record(tx, AgentUpdated(agent_id=id, agent=await get(tx, id)))
    audit.note(tx, by, "agent.resumed", "agent", id)
    return True


async def pause_all(tx: Transaction, by: Principal) -> bool:
    """True if they were not paused before. Agents that are made later are paused, too."""
    await in_turn(tx, PAUSING)
    now = tx.clock.now()
    if not await rows.switch_pause(tx, now):
        return False
    record(tx, AgentsPaused(agents=AllAgents(paused_at=now)), audience="all")
    audit.note(tx, by, "agents.paused", "office", "")
    return True


async def resume_all(tx: Transaction, by: Principal) -> bool:
    """True if all were paused. Those that were paused singly stay so."""
    await in_turn(tx, PAUSING)
    if not await rows.switch_pause(tx, None):
        return False
    record(tx, AgentsResumed(agents=AllAgents()), audience="all")
    audit.note(tx, by, "agents.resumed", "office", "")
    return True


def _fields(request: CreateAgent) -> dict[str, Any]:
    names = set(CreateAgent.model_fields) - {"id", "blocks", "tools"}
    return {name: getattr(request, name) for name in names}
