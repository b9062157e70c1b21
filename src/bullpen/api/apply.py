"""Apply a project: agents, spaces, tools, variables and skills as files describe them.

Idempotent: what is there and the same is left alone, what differs is changed, what is not named is not touched. Memory
is the agent's own once it has it: a block is only made when it is missing. A skill waits for approval, unless it is
said to be active.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from bullpen import ids
from bullpen.access.types import Principal
from bullpen.agents import actions as agents
from bullpen.agents import rows as agent_rows
from bullpen.api.body import CappedRoute
from bullpen.api.door import Office, Owner
from bullpen.api.pages import answer
from bullpen.api.variables import put_one, secrets_in
from bullpen.audit.actions import note
from bullpen.budgets import rows as budget_rows
from bullpen.errors import Invalid
from bullpen.events.actions import in_turn
from bullpen.memory import rows as memory_rows
from bullpen.runs import holds
from bullpen.skills import actions as skills
from bullpen.skills import rows as skill_rows
from bullpen.skills.actions import Wish
from bullpen.spaces import actions as spaces
from bullpen.spaces import rows as space_rows
from bullpen.spaces import rules as space_rules
from bullpen.storage import Transaction
from bullpen.tools import actions as tools
from bullpen.tools.registry import Registry
from bullpen.variables.actions import Vault
from bullpen.wire import Agent, Space
from bullpen.wire.nouns import Applied
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

router = APIRouter(route_class=CappedRoute, tags=["apply"])

Change = dict[str, Any]


@router.post("/apply", response_model=Applied)
async def apply(request: ApplyProject, caller: Owner, office: Office) -> Response:
    await prepare(office, request)
    most = office.settings.skills.per_space

    async def body(tx: Transaction) -> dict[str, list[Change]]:
        return await apply_project(tx, request, caller, office.vault, office.registry, skills_per_space=most)

    async with office.vault.setting(office.store, secrets_in(request.variables)):
        return answer(await office.store.transact(body))


async def prepare(office: Any, request: ApplyProject) -> None:
    """Refuse what could never run, before anything is changed."""
    for agent in request.agents:
        coming = [tool.name for tool in request.tools]
        await office.check_agent(agent.model, agent.tools, coming, policy=agent.policy)
    for space in request.spaces:
        office.models.check_choice(space.provider, space.model)


async def apply_project(
    tx: Transaction,
    request: ApplyProject,
    caller: Principal,
    vault: Vault,
    registry: Registry,
    *,
    skills_per_space: int = 0,
) -> dict[str, list[Change]]:
    """All or nothing: one transaction."""
    spaces_named = [id for space in request.spaces if (id := _id_of(space)) is not None]
    members = [member for space in request.spaces for member in space.members]
    agents_named = [agent.id for agent in request.agents if agent.id is not None]
    tools_named = [tools.turn_of(tool.name) for tool in request.tools]
    skills_of = [skills.turn_of(skill.space_id) for skill in request.skills]
    await in_turn(tx, *agents_named, *spaces_named, *members, *tools_named, *skills_of)
    return {
        # First: agents may list them.
        "tools": [await _apply_tool(tx, tool, caller, registry) for tool in request.tools],
        "agents": [await _apply_agent(tx, agent, caller) for agent in request.agents],
        "spaces": [await _apply_space(tx, space, caller) for space in request.spaces],
        # Last: they may be at home in an agent or a space that has just been made.
        "variables": [await _apply_variable(tx, variable, caller, vault) for variable in request.variables],
        "skills": [await _apply_skill(tx, skill, caller, skills_per_space) for skill in request.skills],
    }


async def _apply_tool(tx: Transaction, request: CreateTool, caller: Principal, registry: Registry) -> Change:
    return {"id": request.name, "change": await tools.ensure(tx, registry, caller, request)}


async def _apply_variable(tx: Transaction, request: ApplyVariable, caller: Principal, vault: Vault) -> Change:
    variable, change = await put_one(tx, vault, caller, request)
    return {"id": variable.name, "change": change}


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


async def create_agent(tx: Transaction, request: CreateAgent, caller: Principal) -> Agent:
    agent = await agents.create(tx, request)
    await _missing_blocks(tx, agent.id, request)
    note(tx, caller, "agent.created", "agent", agent.id, tools=agent.tools)
    return agent


async def update_agent(tx: Transaction, id: str, request: UpdateAgent, caller: Principal) -> Agent:
    await in_turn(tx, id)
    before = await agents.get(tx, id)
    agent = await agents.update(tx, id, request)
    if agent.limits != before.limits:
        held = await budget_rows.select_holds_of_agent(tx, id)
        await holds.release(tx, [hold for hold in held if hold.kind == "agent"])
    if agent.name != before.name:
        await spaces.renamed(tx, id)
    note(tx, caller, "agent.changed", "agent", id, fields=sorted(request.model_fields_set))
    return agent


async def _apply_agent(tx: Transaction, request: CreateAgent, caller: Principal) -> Change:
    there = None if request.id is None else await agent_rows.select_agent(tx, request.id)
    if there is None:
        return {"id": (await create_agent(tx, request, caller)).id, "change": "created"}
    wanted = {name: getattr(request, name) for name in UpdateAgent.model_fields if name in CreateAgent.model_fields}
    if wanted["tools"] is None:
        wanted["tools"] = ["messaging"]
    differing = {name: value for name, value in wanted.items() if value is not None and value != getattr(there, name)}
    if differing:
        await update_agent(tx, there.id, UpdateAgent(**differing), caller)
    made = await _missing_blocks(tx, there.id, request)
    return {"id": there.id, "change": "updated" if differing or made else "unchanged"}


async def _missing_blocks(tx: Transaction, agent_id: str, request: CreateAgent) -> bool:
    there = {label for label, _, _ in await memory_rows.select_blocks(tx, agent_id)}
    missing = {label: content for label, content in request.blocks.items() if label not in there}
    for label, content in missing.items():
        await memory_rows.upsert_block(tx, agent_id, label, content)
    return bool(missing)


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
