"""Blocks of an agent, as others see and change it: those who manage agents, and the agent by its own token.

In a run an agent uses its tools instead (`toolbox/memory`). For passages see operations/passages.py.
"""

from __future__ import annotations

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.errors import NotFound
from bullpen.memory import rows
from bullpen.storage import Transaction
from bullpen.wire.nouns import Block


async def list_blocks(tx: Transaction, caller: Principal, agent_id: str) -> list[Block]:
    await _look_into(tx, caller, agent_id)
    return await read_blocks(tx, agent_id)


async def get_block(tx: Transaction, caller: Principal, agent_id: str, label: str) -> Block:
    await _look_into(tx, caller, agent_id)
    for block in await read_blocks(tx, agent_id):
        if block.label == label:
            return block
    raise NotFound(f"{agent_id!r} has no block {label!r}.")


async def put_block(tx: Transaction, caller: Principal, agent_id: str, label: str, content: str) -> None:
    await _reach_into(tx, caller, agent_id)
    await rows.upsert_block(tx, agent_id, label, content)


async def delete_block(tx: Transaction, caller: Principal, agent_id: str, label: str) -> None:
    await _reach_into(tx, caller, agent_id)
    if not await rows.delete_block(tx, agent_id, label):
        raise NotFound(f"{agent_id!r} has no block {label!r}.")


async def _look_into(tx: Transaction, caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "see_inside_agent", Thing("agent", agent_id, holder=agent_id))
    await agents.get(tx, agent_id)


async def _reach_into(tx: Transaction, caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "change_inside_agent", Thing("agent", agent_id, holder=agent_id))
    await agents.get(tx, agent_id)


async def read_blocks(tx: Transaction, agent_id: str) -> list[Block]:
    """For other operations, which have checked who asks."""
    found = await rows.select_blocks(tx, agent_id)
    return [
        Block(label=each.label, content=each.content, updated_at=each.updated_at, outside=list(each.outside))
        for each in found
    ]
