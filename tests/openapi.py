"""The OpenAPI document and the models of answers. The document is built once per process: that takes 1.5 s."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi.routing import APIRoute

from bullpen.api import health, hooks
from bullpen.api.server import ROUTERS, build

Json = dict[str, Any]


@cache
def read_openapi() -> Json:
    """The document. Do not change it: others read it, too."""
    return build(None).openapi()


def list_routes() -> list[str]:
    """Every route, as "POST /api/spaces/{id}/members"."""
    return [f"{method.upper()} {path}" for path, methods in read_openapi()["paths"].items() for method in methods]


@cache
def find_response_models() -> Json:
    """The model that each route says it answers with."""
    found: Json = {}
    for prefix, router in [*(("/api", router) for router in ROUTERS), ("", health.router), ("", hooks.bell)]:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            found |= {f"{method} {prefix}{route.path_format}": route.response_model for method in route.methods or ()}
    return found
