"""Agents, and what they remember."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import actions as agents
from bullpen.agents import rows
from bullpen.api.apply import update_agent as update
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.audit.actions import note
from bullpen.errors import NotFound
from bullpen.events.actions import in_turn
from bullpen.hooks import rows as hooks
from bullpen.inbox import actions as inbox
from bullpen.inbox import rows as inbox_rows
from bullpen.inbox.types import Cause
from bullpen.memory import actions as memory
from bullpen.memory import rows as memory_rows
from bullpen.runs import actions as runs
from bullpen.runs import holds
from bullpen.runs import rows as run_rows
from bullpen.runs.loop import EVERY
from bullpen.spaces import actions as spaces
from bullpen.storage import Transaction
from bullpen.tasks import rows as task_rows
from bullpen.threads import actions as threads
from bullpen.tools import pending
from bullpen.tools import rows as tool_rows
from bullpen.wire import Agent
from bullpen.wire.nouns import Block, InboxItem, Passage, Pause, Woken
from bullpen.wire.requests import CreateAgent, CreatePassage, PutBlock, TriggerAgent, UpdateAgent

router = APIRouter(prefix="/agents", route_class=CappedRoute, tags=["agents"])

Label = Annotated[str, Path(max_length=200)]
Search = Annotated[str, Query(max_length=1000, description="Words the passage contains, in any case.")]


@router.post("", status_code=201, response_model=Agent)
async def create_agent(request: CreateAgent, caller: Caller, office: Office) -> Response:
    access.authorize(caller, "manage_agents")
    await office.check_agent(request.model, request.tools, policy=request.policy)

    async def body(tx: Transaction) -> Agent:
        return await _with_blocks(tx, (await office.create_agent(tx, request, caller)).id)

    return answer(await office.store.transact(body), 201)


class AgentPage(Page[Agent]):
    """`pausedAt`: since when all agents are paused, those to come as well."""

    paused_at: str | None = None


@router.get("", response_model=AgentPage)
async def list_agents(caller: Caller, office: Office, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Newest first. A token without the right to read sees none."""
    if not access.allows(caller, "see_agent"):
        return page([], limit, lambda agent: agent["createdAt"])

    async def body(tx: Transaction) -> tuple[list[Agent], str | None]:
        found = await rows.select_agents(tx, before=cursor or LAST, limit=limit)
        return await _with_calls(tx, found), await rows.select_all_paused_at(tx)

    found, paused_at = await office.store.read(body)
    more = {} if paused_at is None else {"pausedAt": paused_at}
    return page([_shown(agent, caller) for agent in found], limit, lambda agent: agent["createdAt"], **more)


@router.get("/{id}", response_model=Agent)
async def get_agent(id: str, caller: Caller, office: Office) -> Response:
    access.authorize(caller, "see_agent", Thing("agent", id))
    return answer(_shown(await office.store.read(lambda tx: _with_blocks(tx, id)), caller))


async def _with_blocks(tx: Transaction, id: str) -> Agent:
    agent = await agents.get(tx, id)
    blocks = {label: content for label, content, _ in await memory_rows.select_blocks(tx, id)}
    (agent,) = await _with_calls(tx, [agent])
    return agent.model_copy(update={"blocks": blocks})


async def _with_calls(tx: Transaction, found: list[Agent]) -> list[Agent]:
    """With the calls that each waits for. One statement, on the few rows that are open."""
    waited_for = await tool_rows.select_waited_for(tx, [agent.id for agent in found])
    return [
        agent.model_copy(update={"waiting_for": waited_for[agent.id]}) if agent.id in waited_for else agent
        for agent in found
    ]


def _shown(agent: Agent, caller: Principal) -> dict[str, Any]:
    """Everybody may know who is there; instructions and models are for those who look after agents."""
    shown = agent.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not access.allows(caller, "see_inside_agent", Thing("agent", agent.id, holder=agent.id)):
        for name in ("instructions", "model", "limits", "blocks", "policy"):
            shown.pop(name, None)
    return shown


@router.patch("/{id}", response_model=Agent)
async def update_agent(id: str, request: UpdateAgent, caller: Caller, office: Office) -> Response:
    access.authorize(caller, "manage_agents")
    await office.check_agent(request.model, request.tools, policy=request.policy)

    async def body(tx: Transaction) -> Agent:
        await update(tx, id, request, caller)
        if request.model is not None and await run_rows.retry_now(tx, id):
            await threads.go_on(tx, id)  # another model may be there
        return await _with_blocks(tx, id)

    return answer(await office.store.transact(body))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_agent(id: str, caller: Caller, office: Office) -> Response:
    """What it is doing just now is stopped; what it said stays."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> list[str]:
        calls = await tool_rows.select_open_of(tx, id)
        await in_turn(tx, id, *{call.space_id for call in calls if call.visible and call.space_id is not None})
        await agents.delete(tx, id)
        note(tx, caller, "agent.deleted", "agent", id)
        stopped = await runs.cancel_all_of(tx, id)
        await pending.drop(tx, [call.call_id for call in calls], caller.id)
        await tool_rows.delete_policies_of(tx, id)
        await hooks.delete_hooks_of(tx, id)
        await task_rows.drop_waiting_of(tx, id)
        await inbox_rows.delete_unclaimed(tx, id)
        await spaces.remove_everywhere(tx, id)
        return stopped

    for run_id in await office.store.transact(body):
        office.signals.cancel(run_id)
    return Response(status_code=204)


# ── pausing ─────────────────────────────────────────────────────────────────────────────────────────────


@router.post("/pause", response_model=Pause)
async def pause_agents(caller: Caller, office: Office) -> Response:
    """Pause all agents, those to come as well. Nothing is lost: messages are kept for when they go on."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> Pause:
        await agents.pause_all(tx, caller)
        return Pause(paused=True, paused_at=await rows.select_all_paused_at(tx))

    paused = await office.store.transact(body)
    office.signals.cancel(EVERY)
    return answer(paused)


@router.post("/resume", response_model=Pause)
async def resume_agents(caller: Caller, office: Office) -> Response:
    """Let all agents go on exactly where they were. Those that were paused singly stay paused."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> Pause:
        if await agents.resume_all(tx, caller):
            await inbox.go_on_all(tx, office.posting.group_wait_ms)
        return Pause(paused=False)

    return answer(await office.store.transact(body))


@router.post("/{id}/pause", response_model=Agent)
async def pause_agent(id: str, caller: Caller, office: Office) -> Response:
    """Pause it: no run begins, and one under way stops before its next step and keeps its place."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> tuple[Agent, list[str]]:
        if await agents.pause(tx, id, caller):
            await inbox.step_aside(tx, id)
        return await _with_blocks(tx, id), await run_rows.select_under_way_of(tx, id)

    agent, under_way = await office.store.transact(body)
    for run_id in under_way:
        office.signals.cancel(run_id)
    return answer(agent)


@router.post("/{id}/resume", response_model=Agent)
async def resume_agent(id: str, caller: Caller, office: Office) -> Response:
    """Let it go on exactly where it was. While all agents are paused it stays so with them.

    Work that a used-up budget has stopped goes on, too: as much again may be spent until the budget begins anew.
    """
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> Agent:
        await holds.take_turns(tx, id)
        paused = await agents.resume(tx, id, caller)
        if await holds.resume(tx, caller, id) or paused:
            await inbox.go_on(tx, id)
        return await _with_blocks(tx, id)

    return answer(await office.store.transact(body))


@router.get("/{id}/inbox", response_model=Page[InboxItem])
async def list_inbox(id: str, caller: Caller, office: Office, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """What the agent has not yet looked at, newest first."""
    _may_look(caller, id)

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        await agents.get(tx, id)
        found = await inbox_rows.select_of_agent(tx, id, before=cursor or LAST, limit=limit)
        return [
            {
                "id": item.id,
                "threadId": item.thread_id,
                "kind": item.kind,
                "spaceId": item.space_id,
                "depth": item.depth,
                "payload": item.payload,
                "createdAt": created_at,
            }
            for item, created_at in found
        ]

    return page(await office.store.read(body), limit, lambda item: item["id"])


@router.post("/{id}/trigger", status_code=202, response_model=Woken)
async def trigger_agent(id: str, request: TriggerAgent, caller: Caller, office: Office) -> Response:
    """Wake the agent because something happened outside. It gets the payload as data, in no space."""
    access.authorize(caller, "manage_agents")
    cause = Cause(caller.kind, caller.id, access.written(caller.grants))
    source = f"trigger:{request.service_name}"
    payload = {"serviceName": request.service_name, "payload": request.payload, "outside": [source]}

    async def body(tx: Transaction) -> str:
        agent = await agents.get(tx, id)
        return await inbox.deliver_trigger(tx, id, agent.scope, payload, cause)

    return answer({"itemId": await office.store.transact(body)}, 202)


def _may_look(caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "see_inside_agent", Thing("agent", agent_id, holder=agent_id))


def _may_change(caller: Principal, agent_id: str) -> None:
    access.authorize(caller, "change_inside_agent", Thing("agent", agent_id, holder=agent_id))


# ── memory ──────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/{id}/blocks", response_model=Page[Block])
async def list_blocks(id: str, caller: Caller, office: Office) -> Response:
    _may_look(caller, id)

    async def body(tx: Transaction) -> list[dict[str, Any]]:
        await agents.get(tx, id)
        found = await memory_rows.select_blocks(tx, id)
        return [{"label": label, "content": content, "updatedAt": at} for label, content, at in found]

    return answer({"items": await office.store.read(body)})


@router.get("/{id}/blocks/{label}", response_model=Block)
async def get_block(id: str, label: str, caller: Caller, office: Office) -> Response:
    _may_look(caller, id)

    async def body(tx: Transaction) -> dict[str, Any]:
        await agents.get(tx, id)
        for found, content, at in await memory_rows.select_blocks(tx, id):
            if found == label:
                return {"label": label, "content": content, "updatedAt": at}
        raise NotFound(f"{id!r} has no block {label!r}.")

    return answer(await office.store.read(body))


@router.put("/{id}/blocks/{label}", response_model=Block)
async def put_block(id: str, label: Label, request: PutBlock, caller: Caller, office: Office) -> Response:
    _may_change(caller, id)

    async def body(tx: Transaction) -> dict[str, Any]:
        await agents.get(tx, id)
        await memory_rows.upsert_block(tx, id, label, request.content)
        return {"label": label, "content": request.content}

    return answer(await office.store.transact(body))


@router.delete("/{id}/blocks/{label}", status_code=204, response_class=Response)
async def delete_block(id: str, label: str, caller: Caller, office: Office) -> Response:
    _may_change(caller, id)

    async def body(tx: Transaction) -> None:
        await agents.get(tx, id)
        if not await memory_rows.delete_block(tx, id, label):
            raise NotFound(f"{id!r} has no block {label!r}.")

    await office.store.transact(body)
    return Response(status_code=204)


@router.get("/{id}/passages", response_model=Page[Passage])
async def list_passages(id: str, caller: Caller, office: Office, q: Search = "", limit: Limit = 50) -> Response:
    _may_look(caller, id)

    async def body(tx: Transaction) -> list[Passage]:
        await agents.get(tx, id)
        return await memory.search(tx, id, q.replace("\x00", ""), limit)

    return answer({"items": await office.store.read(body)})


@router.post("/{id}/passages", status_code=201, response_model=Passage)
async def create_passage(id: str, request: CreatePassage, caller: Caller, office: Office) -> Response:
    """The same content again answers 200 with the first passage."""
    _may_change(caller, id)

    async def body(tx: Transaction) -> tuple[Passage, bool]:
        await agents.get(tx, id)
        return await memory.store(tx, id, request.content, list(request.tags), request.metadata)

    passage, new = await office.store.transact(body)
    return answer(passage, 201 if new else 200)
