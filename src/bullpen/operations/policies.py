"""Decide which agent may use which tool, where and with which arguments: about agents, spaces and tools at once."""

from __future__ import annotations

from collections.abc import Iterable

from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction, Transacts
from bullpen.tools import actions as tools
from bullpen.tools import rows as tool_rows
from bullpen.tools.registry import Registry
from bullpen.wire.nouns import Policy
from bullpen.wire.requests import PutPolicy


async def put(tx: Transaction, caller: Principal, request: PutPolicy) -> Policy:
    """Decide about an agent and a tool, instead of what was decided for the same space and condition before."""
    access.authorize(caller, "manage_agents")
    await agents.get(tx, request.agent_id)
    wanted = request
    if request.space_id is not None:
        room = await spaces.room_for(tx, caller, "see_space", request.space_id)
        wanted = request.model_copy(update={"space_id": room.id})
    return await tools.put_policy(tx, caller, wanted)


async def check_tools(store: Transacts, registry: Registry, names: Iterable[str], coming: Iterable[str] = ()) -> None:
    """Refuse a policy for a tool that is not there: nobody would keep it. `coming`: tools made along with it."""
    unknown = [name for name in names if registry.find(name) is None and name not in set(coming)]
    if unknown:
        found = {tool.name for tool in await store.read(lambda tx: tool_rows.select_tools(tx, unknown))}
        tools.refuse_unknown([name for name in unknown if name not in found])
