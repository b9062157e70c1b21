"""Asking somebody outside: what one small POST costs this side, beside the bare library and beside the other one.

Loopback, a kept connection, one call at a time. The clients take turns, so that whatever else the machine does happens
to all of them. Ours judges, resolves and pins each call; the bare ones only send it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median

import aiohttp
import httpx

from bench import servers
from bench.budgets import Figures
from bench.measure import middle_ratio, spent
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.testing.dns import FakeDns

BODY = b'{"question": "what is the weather like?"}'
NAME = "api.example.com"
Ask = Callable[[], Awaitable[object]]


async def measure(*, quick: bool) -> Figures:
    rounds, calls = (3, 50) if quick else (12, 400)
    cpu: dict[str, list[float]] = defaultdict(list)
    with servers.answering() as server:
        async with AsyncExitStack() as stack:
            clients = {
                "egress.call": await _ours(stack, server.port),
                "egress.bare": await _aiohttp(stack, server.port),
                "egress.httpx": await _httpx(stack, server.port),
            }
            for number in range(rounds + 1):
                for name, ask in clients.items():
                    cost = await _cost(ask, calls)
                    if number:  # the first is for warming up
                        cpu[name].append(cost)
    figures = {name: median(costs) for name, costs in cpu.items()}
    return {**figures, "egress.call_to_bare": middle_ratio(cpu["egress.call"], cpu["egress.bare"])}


async def _cost(ask: Ask, calls: int) -> float:
    """Milliseconds of CPU for one."""
    with spent() as used:
        for _ in range(calls):
            await ask()
    return used.cpu / calls * 1000


async def _ours(stack: AsyncExitStack, port: int) -> Ask:
    url = f"http://{NAME}:{port}/ask?x=1"
    egress = Egress(Allowance({"bench": [url]}), dns=FakeDns({NAME: ["127.0.0.1"]}))
    await stack.enter_async_context(egress)
    return lambda: egress.request("bench", "POST", url, body=BODY, headers={"Content-Type": "application/json"})


async def _aiohttp(stack: AsyncExitStack, port: int) -> Ask:
    session = await stack.enter_async_context(aiohttp.ClientSession())

    async def ask() -> bytes:
        headers = {"Content-Type": "application/json"}
        async with session.post(f"http://127.0.0.1:{port}/ask?x=1", data=BODY, headers=headers) as response:
            return await response.read()

    return ask


async def _httpx(stack: AsyncExitStack, port: int) -> Ask:
    client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
    headers = {"Content-Type": "application/json"}
    return lambda: client.post(f"http://127.0.0.1:{port}/ask?x=1", content=BODY, headers=headers)
