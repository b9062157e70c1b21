"""Create, change, pause, wake, delete and erase an agent.

An agent has something in most nouns: runs, calls that wait, policies, hooks, tasks, an inbox, memberships, memory. What
goes with it when it is deleted and when it is erased is one list, `PARTS`. The long rest of an erasure, which finds
what the agent said and did, is `upkeep/erasure.py:finish`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bullpen.access import rows as access_rows
from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.agents import instructions
from bullpen.agents import rows as agent_rows
from bullpen.audit.actions import note
from bullpen.budgets import actions as budgets
from bullpen.budgets import rows as budget_rows
from bullpen.connections import actions as connections
from bullpen.connections.types import Resolved
from bullpen.errors import NotFound
from bullpen.events.actions import access_changed, in_turn
from bullpen.files import actions as files
from bullpen.hooks import rows as hook_rows
from bullpen.ids import Whose
from bullpen.inbox import actions as inbox
from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import Cause
from bullpen.llm.models import Models
from bullpen.memory import block_rows
from bullpen.mind import actions as mind
from bullpen.operations import blocks, policies, portraits
from bullpen.runs import actions as runs
from bullpen.runs import holds
from bullpen.runs import rows as run_rows
from bullpen.runs.loop import EVERY
from bullpen.skills import actions as skills
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction, Transacts
from bullpen.tasks import actions as tasks
from bullpen.tasks import rows as task_rows
from bullpen.threads import actions as threads
from bullpen.tools import pending
from bullpen.tools import rows as tool_rows
from bullpen.tools.registry import Registry
from bullpen.upkeep import rows as upkeep_rows
from bullpen.upkeep.rules import NAMES, Target
from bullpen.variables import actions as variables
from bullpen.variables.types import Scope
from bullpen.wire import Agent
from bullpen.wire.nouns import InstructionsVersion
from bullpen.wire.requests import CreateAgent, UpdateAgent

# ── seeing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def get(tx: Transaction, id: str) -> Agent:
    """The agent with its blocks, and the calls that it waits for."""
    agent = await agents.get(tx, id)
    (agent,) = await _add_calls(tx, [agent])
    return agent.model_copy(update={"blocks": await blocks.own_contents(tx, id)})


def warn(agent: Agent, registry: Registry) -> Agent:
    """With what is odd about its definition, though it can be used like this."""
    found = warnings(agent.name, agent.tools, agent.on_unsent_text, registry)
    return agent.model_copy(update={"warnings": found}) if found else agent


def warnings(name: str, tools: Sequence[str], on_unsent_text: str, registry: Registry) -> list[str]:
    if on_unsent_text == "deliver" or registry.can_speak(tools):
        return []
    return [f'{name} has no tool to speak with, so nobody hears from it. Add "messaging" to its tools.']


async def list_agents(tx: Transaction, *, before: str, limit: int) -> list[Agent]:
    return await _add_calls(tx, await agent_rows.select_agents(tx, before=before, limit=limit))


async def _add_calls(tx: Transaction, found: list[Agent]) -> list[Agent]:
    """With the calls that each waits for. One statement, on the few rows that are open."""
    waited_for = await tool_rows.select_waited_for(tx, [agent.id for agent in found])
    return [
        agent.model_copy(update={"waiting_for": waited_for[agent.id]}) if agent.id in waited_for else agent
        for agent in found
    ]


# ── making and changing ─────────────────────────────────────────────────────────────────────────────────────────────


async def check_definition(
    store: Transacts,
    caller: Principal,
    models: Models,
    registry: Registry,
    request: CreateAgent | UpdateAgent,
) -> None:
    """Refuse what could never run: an unknown model or tool. Comes before the transaction, since building a model takes
    a while."""
    access.authorize(caller, "manage_agents")
    await check_parts(store, models, registry, request)


async def check_parts(
    store: Transacts,
    models: Models,
    registry: Registry,
    request: CreateAgent | UpdateAgent,
    coming: Iterable[str] = (),
) -> None:
    """For other operations, which have checked who asks. `coming`: tools made along with the agent."""
    await policies.check_tools(store, registry, request.policy or (), coming)
    if request.model is not None:
        models.resolve((await store.read(lambda tx: _resolved(tx, request.model))).spec)
    if request.tools is not None and (others := registry.unknown(request.tools)):
        found = await store.read(lambda tx: tool_rows.select_tools(tx, others))
        registry.check(request.tools, [*(tool.name for tool in found), *coming])


async def _resolved(tx: Transaction, model: Any) -> Resolved:
    return await connections.resolve(tx, await connections.canonical(tx, model))


async def create(tx: Transaction, caller: Principal, request: CreateAgent) -> Agent:
    access.authorize(caller, "manage_agents")
    return await get(tx, await insert(tx, caller, request))


async def insert(tx: Transaction, caller: Principal, request: CreateAgent) -> str:
    """For other operations, which have checked who asks. The agent's id."""
    model = await connections.default(tx) if request.model is None else request.model
    request = request.model_copy(update={"model": await connections.hold(tx, model)})
    agent = await agents.create(tx, request)
    if agent.instructions:
        await instructions.begin(tx, agent, caller.id)
    await portraits.change_for_agent(tx, caller, agent)
    await blocks.add_missing(tx, caller, agent.id, request.blocks)
    note(tx, caller, "agent.created", "agent", agent.id, tools=agent.tools)
    return agent.id


async def list_instructions(
    tx: Transaction, caller: Principal, id: str, *, before: int, limit: int
) -> list[InstructionsVersion]:
    """What its instructions were, newest first. One that never changed has only what it has now."""
    access.authorize(caller, "see_inside_agent", Thing("agent", id, holder=id))
    agent = await agents.get(tx, id)
    return await instructions.read(tx, agent, before=before, limit=limit)


async def compare_instructions(tx: Transaction, caller: Principal, id: str, old: int, new: int) -> str:
    """A unified diff of two versions."""
    access.authorize(caller, "see_inside_agent", Thing("agent", id, holder=id))
    return await instructions.compare(tx, await agents.get(tx, id), old, new)


async def change(tx: Transaction, caller: Principal, id: str, request: UpdateAgent) -> Agent:
    access.authorize(caller, "manage_agents")
    await update(tx, caller, id, request)
    return await get(tx, id)


async def update(tx: Transaction, caller: Principal, id: str, request: UpdateAgent) -> None:
    """For other operations, which have checked who asks."""
    await in_turn(tx, id)
    if request.model is not None:
        request = request.model_copy(update={"model": await connections.hold(tx, request.model)})
    before = await agents.get(tx, id)
    agent = await agents.update(tx, id, request)
    if agent.instructions != before.instructions:
        await instructions.keep(tx, before, agent, caller.id)
    if agent.avatar != before.avatar:
        await portraits.change_for_agent(tx, caller, agent)
        await spaces.renamed(tx, id)
    if agent.limits != before.limits:
        held = await budget_rows.select_holds_of_agent(tx, id)
        await holds.release(tx, [hold for hold in held if hold.kind == "agent"])
    if agent.name != before.name:
        await spaces.renamed(tx, id)
    note(tx, caller, "agent.changed", "agent", id, fields=sorted(request.model_fields_set))
    if request.model is not None and await run_rows.retry_now(tx, id):
        await threads.go_on(tx, id)  # another model may be there


# ── pausing and waking ──────────────────────────────────────────────────────────────────────────────────────────────


async def pause(tx: Transaction, caller: Principal, id: str) -> Agent:
    """No run begins, and one under way stops before its next step and keeps its place."""
    access.authorize(caller, "manage_agents")
    if await agents.pause(tx, id, caller):
        await inbox.step_aside(tx, id)
    runs.interrupt(tx, await run_rows.select_under_way_of(tx, id))
    return await get(tx, id)


async def resume(tx: Transaction, caller: Principal, id: str) -> Agent:
    """It goes on exactly where it was, also where a used-up budget has stopped it. While all agents are paused it
    stays so with them."""
    access.authorize(caller, "manage_agents")
    await holds.take_turns(tx, id)
    paused = await agents.resume(tx, id, caller)
    if await holds.resume(tx, caller, id) or paused:
        await inbox.go_on(tx, id)
    return await get(tx, id)


async def pause_all(tx: Transaction, caller: Principal) -> str | None:
    """All agents, those to come as well; since when."""
    access.authorize(caller, "manage_agents")
    await agents.pause_all(tx, caller)
    runs.interrupt(tx, [EVERY])
    return await agent_rows.select_all_paused_at(tx)


async def resume_all(tx: Transaction, caller: Principal, group_wait_ms: int) -> None:
    """Those that were paused one by one stay paused."""
    access.authorize(caller, "manage_agents")
    if await agents.resume_all(tx, caller):
        await inbox.go_on_all(tx, group_wait_ms)


async def trigger(tx: Transaction, caller: Principal, id: str, service: str, payload: Any) -> str:
    """Wake the agent because something happened outside. It gets the payload as data, in no space; the item's id."""
    access.authorize(caller, "manage_agents")
    agent = await agents.get(tx, id)
    said = {"serviceName": service, "payload": payload, "outside": [f"trigger:{service}"]}
    cause = Cause(caller.kind, caller.id, access.written(caller.grants))
    return await inbox.deliver_trigger(tx, id, agent.scope, said, cause)


# ── deleting and erasing ────────────────────────────────────────────────────────────────────────────────────────────


async def delete(tx: Transaction, caller: Principal, id: str) -> None:
    """What it is doing just now is stopped; what it said stays."""
    access.authorize(caller, "manage_agents")
    calls = await tool_rows.select_open_of(tx, id)
    await in_turn(tx, id, *{call.space_id for call in calls if call.visible and call.space_id is not None})
    await agents.delete(tx, id)
    note(tx, caller, "agent.deleted", "agent", id)
    leaving = Leaving(id, caller, [call.call_id for call in calls])
    for part in PARTS:
        if part.deleted:
            await part.remove(tx, leaving)


async def begin_erasing(tx: Transaction, caller: Principal, id: str) -> Target:
    """The part of an erasure that takes effect at once, and the mark that makes somebody finish it. Beginning twice is
    harmless, and so is beginning with an agent that was deleted before."""
    access.authorize(caller, "operate")
    await in_turn(tx, id)
    found = await agent_rows.select_any_agent(tx, id)
    if found is None:
        raise NotFound(f"There is no agent {id!r}.")
    name, is_deleted = found
    target = Target("agent", id, name)
    if await upkeep_rows.insert_begun(tx, target):
        note(tx, caller, "agent.erased", "agent", id)
    if not is_deleted:
        await agents.delete(tx, id)
    for part in PARTS:
        if part.erased:
            await part.remove(tx, Leaving(id, caller))
    return target


@dataclass(frozen=True, slots=True)
class Leaving:
    """An agent that goes, who has it go, and the calls that it waits for."""

    id: str
    by: Principal
    calls: Sequence[str] = ()


async def _cancel_runs(tx: Transaction, agent: Leaving) -> None:
    runs.interrupt(tx, await runs.cancel_all_of(tx, agent.id))


async def _drop_calls(tx: Transaction, agent: Leaving) -> None:
    await pending.drop(tx, agent.calls, agent.by.id)


async def _remove_policies(tx: Transaction, agent: Leaving) -> None:
    await tool_rows.delete_policies_of(tx, Whose(member=agent.id))


async def _remove_hooks(tx: Transaction, agent: Leaving) -> None:
    await hook_rows.delete_hooks_of(tx, agent.id)


async def _drop_firings(tx: Transaction, agent: Leaving) -> None:
    await task_rows.drop_waiting_of(tx, agent.id)


async def _empty_inbox(tx: Transaction, agent: Leaving) -> None:
    await inbox_rows.delete_unclaimed(tx, agent.id)


async def _leave_spaces(tx: Transaction, agent: Leaving) -> None:
    await spaces.remove_everywhere(tx, agent.id)


async def _blank_definition(tx: Transaction, agent: Leaving) -> None:
    """Its name, its picture, its definition with all that it was before, and its blocks."""
    await files.remove_portrait(tx, agent.id)
    await instructions.forget(tx, agent.id)
    await agent_rows.erase_agent(tx, agent.id, NAMES["agent"])
    await block_rows.delete_blocks(tx, Whose(member=agent.id))


async def _revoke_tokens(tx: Transaction, agent: Leaving) -> None:
    for token_id, holder_id in await access_rows.erase_tokens(tx, agent.id):
        access_changed(tx, holder_id, token_id)
    access_changed(tx, agent.id)


async def _remove_variables(tx: Transaction, agent: Leaving) -> None:
    await variables.remove_scope(tx, Scope("agent", agent.id))


async def _remove_budgets(tx: Transaction, agent: Leaving) -> None:
    await budgets.forget(tx, "agent", agent.id)


async def _remove_tasks(tx: Transaction, agent: Leaving) -> None:
    await tasks.forget(tx, Whose(member=agent.id))


async def _end_sharing(tx: Transaction, agent: Leaving) -> None:
    await block_rows.delete_shares_of(tx, agent.id)


async def _remove_mind(tx: Transaction, agent: Leaving) -> None:
    await mind.forget(tx, Whose(member=agent.id))


async def _remove_skills(tx: Transaction, agent: Leaving) -> None:
    await skills.forget(tx, Whose(member=agent.id))


Removal: TypeAlias = Callable[[Transaction, Leaving], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that belongs to an agent. Does it go when the agent is deleted, and in the beginning of an erasure?"""

    remove: Removal
    deleted: bool = True
    erased: bool = True


# What goes with an agent, in this order. Something new that belongs to agents gets a line here.
PARTS: Sequence[Part] = (
    Part(_cancel_runs, erased=False),  # an erasure ends them itself, and waits until they are over
    Part(_drop_calls, erased=False),  # and forgets the calls with all that was asked
    Part(_remove_policies),
    Part(_remove_hooks),
    Part(_drop_firings),
    Part(_empty_inbox),
    Part(_leave_spaces),
    Part(_end_sharing),  # its readers have no block any more whose owner is gone
    # What it was and knew stays when it is deleted: people may want to read it.
    Part(_blank_definition, deleted=False),
    Part(_revoke_tokens, deleted=False),  # those of an agent that is deleted open nothing any more
    Part(_remove_variables, deleted=False),
    Part(_remove_budgets, deleted=False),
    Part(_remove_tasks, deleted=False),
    Part(_remove_mind, deleted=False),
    Part(_remove_skills, deleted=False),
)
