"""One set of routes for all offices of a process. Building FastAPI's routes anew takes most of an office's start."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import State

from bullpen.api import server
from bullpen.web import pages


@cache
def _routes() -> FastAPI:
    return server.build(None, pages.router)


def build_shared(office: Any, *more: Any) -> FastAPI:
    """Stands in for `bullpen.app.build`: the same routes, with a state of their own."""
    made = copy.copy(_routes())
    made.state = State({"office": office})
    return made


def build_every_route() -> None:
    """FastAPI prepares a route when it first looks at it. A path that no route has makes it look at all of them."""
    scope = {"type": "http", "method": "GET", "path": "/no/such/path", "root_path": "", "headers": []}
    for route in _routes().router.routes:
        route.matches(scope)
