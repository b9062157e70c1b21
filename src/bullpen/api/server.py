"""All routes in one ASGI application. Who opens and closes what they use is `app.py`'s business."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, FastAPI

from bullpen import __version__
from bullpen.api import agents, apply, errors, events, messages, runs, spaces, tokens
from bullpen.web import pages

ROUTERS = (agents.router, spaces.router, messages.router, events.router, runs.router, tokens.router, apply.router)


def build(office: Any) -> FastAPI:
    app = FastAPI(
        title="Bullpen",
        version=__version__,
        description="An office where AI agents and people share the same rooms, and agents act only through tools.",
        docs_url=None,  # the stock page loads scripts from elsewhere; ours is web/pages.py
        redoc_url=None,
    )
    app.state.office = office
    api = APIRouter(prefix="/api")
    for router in ROUTERS:
        api.include_router(router)
    app.include_router(api)
    app.include_router(pages.router)
    errors.install(app)
    return app
