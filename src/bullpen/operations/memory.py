"""Passages that an agent remembers, as those see and change them who manage agents, and the agent by its own token.

In a run an agent uses its tools instead (`toolbox/memory`).
"""

from __future__ import annotations

from typing import Any

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.memory import actions
from bullpen.storage import Transaction
from bullpen.wire.nouns import Passage


async def search(tx: Transaction, caller: Principal, agent_id: str, words: str, limit: int) -> list[Passage]:
    await _look_into(tx, caller, agent_id)
    return await actions.search(tx, agent_id, words, limit)


async def store_passage(
    tx: Transaction, caller: Principal, agent_id: str, content: str, tags: list[str], metadata: dict[str, Any] | None
) -> tuple[Passage, bool]:
    """The passage, and whether it is new: the same content again is the first one."""
    await _reach_into(tx, caller, agent_id)
    return await actions.store(tx, agent_id, content, tags, metadata)


async def _look_into(tx: Transaction, caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "see_inside_agent", Thing("agent", agent_id, holder=agent_id))
    await agents.get(tx, agent_id)


async def _reach_into(tx: Transaction, caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "change_inside_agent", Thing("agent", agent_id, holder=agent_id))
    await agents.get(tx, agent_id)
