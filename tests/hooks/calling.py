"""Making hooks, and calling them as somebody does who knows only their address."""

from __future__ import annotations

from typing import Any

import httpx

from tests.driver import Api, Driver, Json


async def made(office: Driver, agent: str = "ada", name: str = "ci", **more: Any) -> Json:
    found: Json = await office.create("/hooks", {"agentId": agent, "name": name}, status=201, **more)
    return found


def path_of(hook: Json) -> str:
    return str(httpx.URL(hook["url"]).path)


def ringing(office: Driver) -> httpx.AsyncClient:
    """Whoever rings shows nothing but the address."""
    api = Api(office.office, None)
    api.http.base_url = httpx.URL("http://office")
    return api.http


async def ring(office: Driver, path: str, text: str = "the build is red", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await ringing(office).post(path, json={"text": text}, headers=named)
