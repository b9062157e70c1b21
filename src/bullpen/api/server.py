"""All routes in one ASGI application. Who opens and closes what they use is `app.py`'s business."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.encoders import jsonable_encoder
from fastapi.openapi.utils import get_openapi
from starlette.types import Receive, Scope, Send

from bullpen import __version__
from bullpen.api import (
    agents,
    apply,
    audit,
    bridges,
    budgets,
    cards,
    chats,
    errors,
    events,
    files,
    health,
    hooks,
    messages,
    models,
    passages,
    pending,
    people,
    policies,
    runs,
    search,
    sessions,
    skills,
    spaces,
    tasks,
    tokens,
    tools,
    upkeep,
    usage,
    variables,
    webhooks,
    why,
)
from bullpen.api.gate import Gate
from bullpen.api.office import OpenOffice, office_of
from bullpen.api.packing import Packing
from bullpen.api.watch import watched
from bullpen.wire.events import describe_events
from bullpen.wire.nouns import Refusal

# Routes are tried one after another, some 4 µs each: messages come first, since nothing is asked for as often.
ROUTERS = (
    messages.router,
    events.router,
    spaces.router,
    agents.router,
    passages.router,
    runs.router,
    pending.router,
    tasks.router,
    chats.router,
    bridges.router,
    skills.router,
    search.router,
    files.router,
    why.router,
    sessions.router,
    people.router,
    tokens.router,
    tools.router,
    policies.router,
    hooks.router,
    webhooks.router,
    usage.router,
    budgets.router,
    models.router,
    apply.router,
    audit.router,
    upkeep.router,
    variables.router,
)


class Application(FastAPI):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await watched(partial(office_of(self).edge, super().__call__), scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The description of all routes, with what FastAPI cannot see: events in their stream, and how to sign in."""
        if not self.openapi_schema:
            schema = get_openapi(
                title=self.title, version=self.version, description=self.description, routes=self.routes
            )
            told = jsonable_encoder(describe_events("#/components/schemas/{model}"), exclude_none=True)
            schema["components"]["schemas"] |= told
            schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
            self.openapi_schema = schema
        return self.openapi_schema


def build(office: OpenOffice | None, *more: APIRouter) -> FastAPI:
    """The API, and what else is served beside it. Without an office it can only describe its routes."""
    app = Application(
        title="Bullpen",
        version=__version__,
        description="An office where AI agents and people share the same rooms, and agents act only through tools.",
        docs_url=None,  # the stock page loads scripts from elsewhere; ours is web/pages.py
        redoc_url=None,
        redirect_slashes=False,  # the address to go to would be made from the Host header, which anybody may write
        responses={"4XX": {"model": Refusal, "description": "What is wrong, and what to do about it."}},
    )
    app.state.office = office
    for router in ROUTERS:
        app.include_router(router, prefix="/api")
    for router in (health.router, hooks.bell, cards.router, *more):
        app.include_router(router)
    errors.install(app)
    app.add_middleware(Packing)
    app.add_middleware(Gate)
    return app
