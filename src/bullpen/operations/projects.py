"""Apply a project: agents, spaces, tools, variables and skills as files describe them.

Idempotent: what is there and the same is left alone, what differs is changed, what is not named is not touched. Memory
is the agent's own once it has it: a block is only made when it is missing. A skill waits for approval, unless it is
said to be active.
"""

from __future__ import annotations

from typing import Any

from bullpen import ids
from bullpen.access import rules as access
from bullpen.access.types import Principal
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.connections import actions as connections
from bullpen.errors import Invalid
from bullpen.events.actions import in_turn
from bullpen.llm.models import Models
from bullpen.operations import agents, blocks, variables
from bullpen.skills import actions as skills
from bullpen.skills import rows as skill_rows
from bullpen.skills.actions import Wish
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.storage import Transaction, Transacts
from bullpen.tools import actions as tools
from bullpen.tools.registry import Registry
from bullpen.variables.actions import Vault
from bullpen.wire import Space
from bullpen.wire.requests import (
    ApplyProject,
    ApplySkill,
    ApplyVariable,
    CreateAgent,
    CreateSpace,
    CreateTool,
    UpdateAgent,
    UpdateSpace,
    WakeRequest,
)

Change = dict[str, Any]


async def check(store: Transacts, caller: Principal, models: Models, registry: Registry, request: ApplyProject) -> None:
    """Refuse what could never run. Comes before the transaction, since building a model takes a while."""
    access.authorize(caller, "operate")
    coming = [tool.name for tool in request.tools]
    for agent in request.agents:
        await agents.check_parts(store, models, registry, agent, coming)
    for space in request.spaces:
        models.check_choice(space.provider, space.model)


async def apply(
    tx: Transaction,
    caller: Principal,
    request: ApplyProject,
    vault: Vault,
    registry: Registry,
    *,
    skills_per_space: int = 0,
) -> dict[str, list[Change]]:
    """All or nothing: one transaction. Around it stands `Vault.setting`, for the secrets of the project."""
    access.authorize(caller, "operate")
    spaces_named = [id for space in request.spaces if (id := _id_of(space)) is not None]
    members = [member for space in request.spaces for member in space.members]
    agents_named = [agent.id for agent in request.agents if agent.id is not None]
    tools_named = [tools.turn_of(tool.name) for tool in request.tools]
    skills_of = [skills.turn_of(skill.space_id) for skill in request.skills]
    await in_turn(tx, *agents_named, *spaces_named, *members, *tools_named, *skills_of)
    return {
        # First: agents may list them.
        "tools": [await _apply_tool(tx, tool, caller, registry) for tool in request.tools],
        "agents": [await _apply_agent(tx, agent, caller, registry) for agent in request.agents],
        "spaces": [await _apply_space(tx, space, caller) for space in request.spaces],
        # Last: they may be at home in an agent or a space that has just been made.
        "variables": [await _apply_variable(tx, variable, caller, vault) for variable in request.variables],
        "skills": [await _apply_skill(tx, skill, caller, skills_per_space) for skill in request.skills],
    }


async def _apply_tool(tx: Transaction, request: CreateTool, caller: Principal, registry: Registry) -> Change:
    return {"id": request.name, "change": await tools.ensure(tx, registry, caller, request)}


async def _apply_variable(tx: Transaction, request: ApplyVariable, caller: Principal, vault: Vault) -> Change:
    stored, change = await variables.put(tx, caller, vault, request)
    return {"id": stored.name, "change": change}


async def _apply_skill(tx: Transaction, request: ApplySkill, caller: Principal, most: int) -> Change:
    """Applying is an owner's, wherever they are a member."""
    space_id = ids.canonical_space(request.space_id)
    room = await space_rows.select_room(tx, space_id)
    if room is None:
        message = f"The skill {request.name!r} is for {request.space_id!r}, and there is no such space."
        raise Invalid(message, fields={"skills": message})
    before = await skill_rows.select_skill(tx, room.id, request.name)
    wish = Wish(request.description, request.instructions, request.parameters)
    after = await skills.store(tx, room, request.name, wish, skills.writer_of(caller), request.status, most=most)
    change = "created" if before is None else "unchanged" if after == before else "updated"
    status = "proposed" if after.proposed is not None else "active"
    return {"id": request.name, "spaceId": room.id, "change": change, "status": status}


async def _apply_agent(tx: Transaction, request: CreateAgent, caller: Principal, registry: Registry) -> Change:
    change = await _ensure_agent(tx, request, caller)
    tools = ["messaging"] if request.tools is None else request.tools
    odd = agents.warnings(request.name, tools, request.on_unsent_text, registry)
    return {**change, "warnings": odd} if odd else change


async def _ensure_agent(tx: Transaction, request: CreateAgent, caller: Principal) -> Change:
    there = None if request.id is None else await agent_rows.select_agent(tx, request.id)
    if there is None:
        return {"id": await agents.insert(tx, caller, request), "change": "created"}
    if request.model is not None:
        request = request.model_copy(update={"model": await connections.hold(tx, request.model)})
    wanted = {name: getattr(request, name) for name in UpdateAgent.model_fields if name in CreateAgent.model_fields}
    if wanted["tools"] is None:
        wanted["tools"] = ["messaging"]
    differing = {name: value for name, value in wanted.items() if value is not None and value != getattr(there, name)}
    if differing:
        await agents.update(tx, caller, there.id, UpdateAgent(**differing))
    made = await blocks.add_missing(tx, caller, there.id, request.blocks)
    return {"id": there.id, "change": "updated" if differing or made else "unchanged"}


def _id_of(request: CreateSpace) -> str | None:
    return ids.dm(*request.members) if request.kind == "dm" and len(request.members) == 2 else request.id


async def _apply_space(tx: Transaction, request: CreateSpace, caller: Principal) -> Change:
    id = _id_of(request)
    there = None if id is None else await space_rows.select_space(tx, id, caller.id)
    if there is None:
        spaces.check_group(caller, request)
        return {"id": (await spaces.create(tx, request, caller)).id, "change": "created"}
    changed = await _change_space(tx, there, request, caller)
    joined = [m for m in request.members if await spaces.ensure_member(tx, there.id, m)]
    for member_id in joined:
        note(tx, caller, "member.added", "space", there.id, memberId=member_id)
    return {"id": there.id, "change": "updated" if changed or joined else "unchanged"}


async def _change_space(tx: Transaction, there: Space, request: CreateSpace, caller: Principal) -> bool:
    if there.kind == "dm":
        return False
    wake = space_rules.wake(there.kind, request.wake, main=there.main)
    differing: dict[str, Any] = (
        {} if wake == there.wake else {"wake": WakeRequest(people=wake.people, agents=wake.agents)}
    )
    for name in ("name", "private", "trigger", "folder", "provider", "model", "timezone", "bridge"):
        wanted = getattr(request, name)
        if wanted is not None and wanted != getattr(there, name):
            differing[name] = wanted
    if differing:
        await spaces.update(tx, caller, there.id, UpdateSpace(**differing))
    return bool(differing)
