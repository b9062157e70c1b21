"""Tools: those that come with Bullpen, and those that somebody has defined."""

from __future__ import annotations

from fastapi import APIRouter, Response

from bullpen.access import rules as access
from bullpen.access.types import Thing
from bullpen.api.body import CappedRoute
from bullpen.api.door import Caller, Office, Store
from bullpen.api.pages import Cursor, Limit, Page, answer, page
from bullpen.errors import Invalid
from bullpen.storage import Transaction
from bullpen.tools import actions, rows
from bullpen.tools.types import Tool
from bullpen.wire.nouns import ToolConfig
from bullpen.wire.requests import CreateTool, UpdateTool

router = APIRouter(route_class=CappedRoute, tags=["tools"])


def built_in(tool: Tool, family: str | None) -> ToolConfig:
    return ToolConfig(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        execution_type="function",
        visible=tool.visible,
        timeout=tool.timeout_ms,
        variables=list(tool.variables),
        built_in=True,
        family=family,
    )


@router.post("/tools", status_code=201, response_model=ToolConfig)
async def create_tool(request: CreateTool, caller: Caller, office: Office, store: Store) -> Response:
    access.authorize(caller, "manage_agents")

    async def body(tx: Transaction) -> ToolConfig:
        return await actions.create(tx, office.registry, caller, request)

    return answer(await store.transact(body), 201)


@router.get("/tools", response_model=Page[ToolConfig])
async def list_tools(
    caller: Caller, office: Office, store: Store, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """By name; headers are shown to those who manage agents."""
    access.authorize(caller, "see_tool")
    registry = office.registry
    ours = sorted(
        (built_in(tool, registry.family_of(tool.name)) for tool in registry.tools), key=lambda tool: tool.name
    )
    theirs = await store.read(lambda tx: rows.select_page(tx, after=cursor or "", limit=limit))
    found = sorted([*(tool for tool in ours if tool.name > (cursor or "")), *theirs], key=lambda tool: tool.name)
    manages = access.allows(caller, "manage_agents")
    return page([_seen(tool, manages) for tool in found[:limit]], limit, lambda tool: tool.name)


def _seen(tool: ToolConfig, manages: bool) -> ToolConfig:
    """Where it sends what, and with which headers, is for those who may change it."""
    return tool if manages or tool.execution is None else tool.model_copy(update={"execution": None})


@router.get("/tools/{name}", response_model=ToolConfig)
async def get_tool(name: str, caller: Caller, office: Office, store: Store) -> Response:
    """For people, and for a token that answers calls of this tool."""
    access.authorize(caller, "see_tool", Thing(kind="tool", id=name, tool=name, holder=caller.serves))
    known = office.registry.find(name)
    if known is not None:
        return answer(built_in(known, office.registry.family_of(name)))
    found = await store.read(lambda tx: actions.get(tx, name))
    return answer(_seen(found, access.allows(caller, "manage_agents")))


@router.patch("/tools/{name}", response_model=ToolConfig)
async def update_tool(name: str, request: UpdateTool, caller: Caller, office: Office, store: Store) -> Response:
    """Change what is said and keep the rest. Approvals of what it did before do not count any more."""
    access.authorize(caller, "manage_agents")
    _refuse_built_in(office, name)
    return answer(await store.transact(lambda tx: actions.update(tx, caller, name, request)))


@router.delete("/tools/{name}", status_code=204, response_class=Response)
async def delete_tool(name: str, caller: Caller, office: Office, store: Store) -> Response:
    access.authorize(caller, "manage_agents")
    _refuse_built_in(office, name)
    await store.transact(lambda tx: actions.remove(tx, caller, name))
    return Response(status_code=204)


def _refuse_built_in(office: Office, name: str) -> None:
    if office.registry.find(name) is not None:
        raise Invalid(f"{name!r} comes with Bullpen and cannot be changed.", fields={"name": "is built in"})
