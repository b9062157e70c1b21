"""Many offices, one set of routes: making FastAPI's routes anew for each would take most of the time of these tests."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.datastructures import State

from bullpen import app
from bullpen.api import server


@cache
def _routes() -> FastAPI:
    return server.build(None)


def _build(office: Any) -> FastAPI:
    """The same application for another office: shared routes, a state of its own."""
    made = copy.copy(_routes())
    made.state = State({"office": office})
    return made


@pytest.fixture(autouse=True)
def _routes_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "build", _build)
