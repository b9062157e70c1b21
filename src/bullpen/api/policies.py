"""Policies: which agent may use which tool, where, and with which arguments."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from bullpen.access import rules as access
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import LAST, Cursor, Limit, Page, answer, page
from bullpen.operations import policies
from bullpen.storage import Transaction
from bullpen.tools import actions, rows
from bullpen.wire.nouns import Policy
from bullpen.wire.requests import PutPolicy

router = APIRouter(prefix="/policies", route_class=CappedRoute, tags=["policies"])

AgentId = Annotated[str | None, Query(alias="agentId", max_length=200, description="Only those of this agent.")]
SpaceId = Annotated[str | None, Query(alias="spaceId", max_length=200, description="Only those for this space.")]


@router.get("", response_model=Page[Policy])
async def list_policies(
    caller: Caller,
    store: Store,
    agent_id: AgentId = None,
    space_id: SpaceId = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Newest first. What agents and tools say in their own definitions is not among them."""
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> list[Policy]:
        return await rows.select_policies(tx, agent_id=agent_id, space_id=space_id, before=cursor or LAST, limit=limit)

    return page(await store.read(body), limit, lambda policy: policy.id)


@router.put("", response_model=Policy)
async def put_policy(request: PutPolicy, caller: Caller, office: Office, store: Store) -> Response:
    """Decide about an agent and a tool; instead of what was decided for the same space and condition before."""
    access.authorize(caller, "manage_agents")
    await policies.check_tools(store, office.registry, [request.tool_name])
    return answer(await store.transact(lambda tx: policies.put(tx, caller, request)))


@router.delete("/{id}", status_code=204, response_class=Response)
async def delete_policy(id: str, caller: Caller, store: Store) -> Response:
    access.authorize(caller, "manage_agents")
    await store.transact(lambda tx: actions.delete_policy(tx, caller, id))
    return Response(status_code=204)
