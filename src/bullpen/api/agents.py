"""Agents, and what they remember."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from bullpen.access import rules as access
from bullpen.access.types import Principal, Thing
from bullpen.agents import rows
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.errors import Invalid
from bullpen.inbox import rows as inbox_rows
from bullpen.operations import agents, memory, seeing
from bullpen.storage import Transaction
from bullpen.wire import Agent
from bullpen.wire.nouns import Block, InboxItem, InstructionsVersion, Pause, Prompt, Woken
from bullpen.wire.requests import CreateAgent, PutBlock, TriggerAgent, UpdateAgent

router = APIRouter(prefix="/agents", route_class=CappedRoute, tags=["agents"])

Label = Annotated[str, Path(max_length=200)]


@router.post("", status_code=201, response_model=Agent)
async def create_agent(request: CreateAgent, caller: Caller, office: Office, store: Store) -> Response:
    await agents.check_definition(store, caller, office.models, office.registry, request)
    return answer(await store.transact(lambda tx: agents.create(tx, caller, request)), 201)


class AgentPage(Page[Agent]):
    """`pausedAt`: since when all agents are paused, those to come as well."""

    paused_at: str | None = None


@router.get("", response_model=AgentPage)
async def list_agents(caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Newest first. A token without the right to read sees none."""
    if not access.allows(caller, "see_agent"):
        return page([], limit, lambda agent: agent["createdAt"])

    async def body(tx: Transaction) -> tuple[list[Agent], str | None]:
        found = await agents.list_agents(tx, before=cursor or LAST, limit=limit)
        return found, await rows.select_all_paused_at(tx)

    found, paused_at = await store.read(body)
    more = {} if paused_at is None else {"pausedAt": paused_at}
    return page([_shown(agent, caller) for agent in found], limit, lambda agent: agent["createdAt"], **more)


@router.get("/{id}", response_model=Agent)
async def get_agent(id: str, caller: Caller, store: Store) -> Response:
    access.authorize(caller, "see_agent", Thing("agent", id))
    return answer(_shown(await store.read(lambda tx: agents.get(tx, id)), caller))


def _shown(agent: Agent, caller: Principal) -> dict[str, Any]:
    """Everybody may know who is there; instructions and models are for those who look after agents."""
    shown = agent.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not access.allows(caller, "see_inside_agent", Thing("agent", agent.id, holder=agent.id)):
        for name in ("instructions", "model", "script", "limits", "blocks", "policy"):
            shown.pop(name, None)
    return shown


@router.patch("/{id}", response_model=Agent)
async def update_agent(id: str, request: UpdateAgent, caller: Caller, office: Office, store: Store) -> Response:
    await agents.check_definition(store, caller, office.models, office.registry, request)
    return answer(await store.transact(lambda tx: agents.change(tx, caller, id, request)))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_agent(id: str, caller: Caller, store: Store) -> Response:
    """What it is doing just now is stopped; what it said stays."""
    await store.transact(lambda tx: agents.delete(tx, caller, id))
    return Response(status_code=204)


@router.get("/{id}/prompt", response_model=Prompt)
async def get_prompt(
    id: str,
    caller: Caller,
    office: Office,
    store: Store,
    space_id: Annotated[str | None, Query(alias="spaceId", max_length=200)] = None,
) -> Response:
    """What the agent would be shown if it were woken now, part by part. Nothing is started or claimed."""
    seen = await store.read(lambda tx: seeing.see_now(tx, office.world, caller, id, space_id))
    return answer(
        Prompt(
            agent_id=id,
            space_id=space_id,
            model=seen.model or "",
            parts=seen.parts,
            tools=seen.tools,
            tokens=seen.tokens,
            window=seen.window,
            left_out=seen.left_out,
        )
    )


Version = Annotated[int | None, Query(ge=1, le=2**53)]


@router.get("/{id}/instructions/history", response_model=Page[InstructionsVersion])
async def list_instructions(
    id: str,
    caller: Caller,
    store: Store,
    limit: Limit = 20,
    cursor: Version = None,
    old: Annotated[int | None, Query(alias="from", ge=1, le=2**53, description="Compare this version …")] = None,
    new: Annotated[int | None, Query(alias="to", ge=1, le=2**53, description="… with this one: adds `diff`.")] = None,
) -> Response:
    """What the agent's instructions were, newest first, and who changed them."""
    if (old is None) != (new is None):
        raise Invalid("Say both versions to compare: from and to.", fields={"from": "goes with to"})

    async def body(tx: Transaction) -> tuple[list[InstructionsVersion], str | None]:
        found = await agents.list_instructions(tx, caller, id, before=cursor or 2**53, limit=limit)
        compared = None if old is None or new is None else await agents.compare_instructions(tx, caller, id, old, new)
        return found, compared

    found, compared = await store.read(body)
    return page(found, limit, lambda one: str(one.version), **({} if compared is None else {"diff": compared}))


# ── pausing ─────────────────────────────────────────────────────────────────────────────────────────────


@router.post("/pause", response_model=Pause)
async def pause_agents(caller: Caller, store: Store) -> Response:
    """Pause all agents, those to come as well. Nothing is lost: messages are kept for when they go on."""
    paused_at = await store.transact(lambda tx: agents.pause_all(tx, caller))
    return answer(Pause(paused=True, paused_at=paused_at))


@router.post("/resume", response_model=Pause)
async def resume_agents(caller: Caller, office: Office, store: Store) -> Response:
    """Let all agents go on exactly where they were. Those that were paused singly stay paused."""
    await store.transact(lambda tx: agents.resume_all(tx, caller, office.posting.group_wait_ms))
    return answer(Pause(paused=False))


@router.post("/{id}/pause", response_model=Agent)
async def pause_agent(id: str, caller: Caller, store: Store) -> Response:
    """Pause it: no run begins, and one under way stops before its next step and keeps its place."""
    return answer(await store.transact(lambda tx: agents.pause(tx, caller, id)))


@router.post("/{id}/resume", response_model=Agent)
async def resume_agent(id: str, caller: Caller, store: Store) -> Response:
    """Let it go on exactly where it was. While all agents are paused it stays so with them.

    Work that a used-up budget has stopped goes on, too: as much again may be spent until the budget begins anew.
    """
    return answer(await store.transact(lambda tx: agents.resume(tx, caller, id)))


@router.get("/{id}/inbox", response_model=Page[InboxItem])
async def list_inbox(id: str, caller: Caller, store: Store, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """What the agent has not yet looked at, newest first."""
    access.authorize(caller, "see_inside_agent", Thing("agent", id, holder=id))

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

    return page(await store.read(body), limit, lambda item: item["id"])


@router.post("/{id}/trigger", status_code=202, response_model=Woken)
async def trigger_agent(id: str, request: TriggerAgent, caller: Caller, store: Store) -> Response:
    """Wake the agent because something happened outside. It gets the payload as data, in no space."""

    async def body(tx: Transaction) -> str:
        return await agents.trigger(tx, caller, id, request.service_name, request.payload)

    return answer({"itemId": await store.transact(body)}, 202)


# ── memory ──────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/{id}/blocks", response_model=Page[Block])
async def list_blocks(id: str, caller: Caller, store: Store) -> Response:
    return answer({"items": await store.read(lambda tx: memory.list_blocks(tx, caller, id))})


@router.get("/{id}/blocks/{label}", response_model=Block)
async def get_block(id: str, label: str, caller: Caller, store: Store) -> Response:
    return answer(await store.read(lambda tx: memory.get_block(tx, caller, id, label)))


@router.put("/{id}/blocks/{label}", response_model=Block)
async def put_block(id: str, label: Label, request: PutBlock, caller: Caller, store: Store) -> Response:
    await store.transact(lambda tx: memory.put_block(tx, caller, id, label, request.content))
    return answer({"label": label, "content": request.content, "outside": []})


@router.delete("/{id}/blocks/{label}", status_code=204, response_class=Response)
async def delete_block(id: str, label: str, caller: Caller, store: Store) -> Response:
    await store.transact(lambda tx: memory.delete_block(tx, caller, id, label))
    return Response(status_code=204)
