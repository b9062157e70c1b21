"""Whatever the server offers, the SDK has a verb for; what it leaves to the page is listed here, with the reason.

Every public verb is called once, with something for each argument that it needs. A server that has nothing
writes down what it was asked for.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx

from bullpen.client import Bullpen, tool
from tests.openapi import find_response_models

LEFT_OUT = {
    "POST /api/setup": "a browser signs in; a program has a token",
    "POST /api/session": "a browser signs in",
    "DELETE /api/session": "a browser signs out",
    "POST /api/invites/look": "somebody who has no token yet",
    "POST /api/invites/accept": "somebody who has no token yet",
    "GET /api/avatars/{}": "what the page shows of a picture",
    "POST /api/me/password": "a person's own, in the page",
    "GET /api/files/{}/thumbnail": "what the page shows of a picture",
    "GET /healthz": "for those who watch over the server",
    "GET /readyz": "for those who watch over the server",
    "GET /metrics": "for those who watch over the server",
    "POST /hooks/{}": "rung by others; bp.hooks makes them",
}
NOT_VERBS = {"aclose", "serve_tools", "download"}


@tool(name="x")
async def nothing() -> None:
    """Nothing."""


class Listener(httpx.AsyncBaseTransport):
    def __init__(self) -> None:
        self.asked: set[str] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.add(f"{request.method} {request.url.path}")
        return httpx.Response(404, json={}, request=request)


def verbs(bp: Bullpen) -> Iterator[Any]:
    nouns = [value for name, value in vars(bp).items() if not name.startswith("_")]
    for noun in (bp, *nouns, bp.spaces("x"), bp.messages("x")):
        for name, verb in inspect.getmembers(noun, inspect.ismethod):
            if not name.startswith("_") and name not in NOT_VERBS:
                yield verb


def needed(verb: Any, file: Path, **more: Any) -> dict[str, Any]:
    """Something for each argument that has no default."""
    given: dict[str, Any] = dict(more)
    for name, parameter in inspect.signature(verb).parameters.items():
        if parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            given.setdefault(name, file if name == "source" else nothing if name == "function" else "x")
    return given


async def ask(verb: Any, arguments: dict[str, Any]) -> None:
    """Whatever it makes of the answer that there is none."""
    found = verb(**arguments)
    if isinstance(found, AsyncIterator):
        found = anext(found)
    if inspect.isawaitable(found):
        await asyncio.gather(found, return_exceptions=True)


def shape(route: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", route)


async def test_the_sdk_has_a_verb_for_every_route(tmp_path: Path) -> None:
    file, listener = tmp_path / "x", Listener()
    file.write_bytes(b"x")
    async with Bullpen("http://office", "t", transport=listener, patience=0) as bp:
        for verb in verbs(bp):
            await ask(verb, needed(verb, file))
        # Without what was seen it reads the message first, and here there is none.
        await ask(bp.messages("x").edit, {"text": "x", "seen": SimpleNamespace(edited_at=None)})
        for verb in (bp.export, bp.erase):
            for kind in ("space", "person", "agent"):
                await ask(verb, needed(verb, file, kind=kind))
    routes = {shape(route) for route in find_response_models()}
    asked = {re.sub(r"/x(?=/|$|\.)", "/{}", one) for one in listener.asked}
    assert asked <= routes, "the SDK asks for what is not there"
    assert routes - asked == set(LEFT_OUT)
