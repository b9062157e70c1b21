"""Asking a model over the wire: what one question costs with a short and a long history, and one piece of its answer.

Loopback, a kept connection, the transcript built anew from the journal each time, as a step does. Beside it the
official SDK, which is given the finished request. Then whole runs: the story of `rooms.py`, told by a server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

import openai
import orjson

from bench import rooms, servers
from bench.budgets import Figures
from bench.measure import folder, spent
from bullpen.llm import conversation
from bullpen.llm.elsewhere import DIALECTS, RemoteModel, build
from bullpen.llm.types import Reach, ToolSpec, Transcript, TriggerView, UserTurn
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.runs import bounds, transcript
from bullpen.runs.types import Entry
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys

HISTORIES = (20, 200, 2_000)
PIECES = 2_000
ROOMY = bounds.of(1_000_000)  # nothing is left out, and all is looked at
KEY = "open-sesame-of-the-bench-42"
WIRES = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}
TOOLS = [
    ToolSpec(f"tool_{n}", "Does something useful.", {"type": "object", "properties": {"text": {"type": "string"}}})
    for n in range(12)
]
Ask = Callable[[], Awaitable[object]]


async def measure(*, quick: bool) -> Figures:
    rounds, calls = (2, 10) if quick else (7, 60)
    with servers.of_models() as server, folder() as data:
        async with AsyncExitStack() as stack:
            asks = await _asks(stack, server.port, data)
            cpu: dict[str, list[float]] = defaultdict(list)
            for number in range(rounds + 1):
                for name, ask in asks.items():
                    cost = await _cost(ask, calls)
                    if number:  # the first is for warming up
                        cpu[name].append(cost)
            figures = {name: median(costs) for name, costs in cpu.items()}
            figures |= await _pieces(stack, server.port, data, rounds=rounds)
        run = await _run(server.port, data, count=5 if quick else 30)
        return {**figures, "models.run": run}


async def _cost(ask: Ask, calls: int) -> float:
    """Milliseconds of CPU for one."""
    with spent() as used:
        for _ in range(calls):
            await ask()
    return used.cpu / calls * 1000


def _model(egress: Egress, wire: str, name: str, port: int, data: Path) -> RemoteModel:
    base = f"http://127.0.0.1:{port}" + ("" if wire == "messages" else "/v1")
    reach = Reach(lambda: egress, Vault(Keys(data / "keys.json"), {}))
    made = build({"provider": WIRES[wire], "name": name, "baseUrl": base, "apiKeyVariable": "K"}, reach)
    return made.given({"K": KEY})


async def _egress(stack: AsyncExitStack, port: int) -> Egress:
    return await stack.enter_async_context(Egress(Allowance({"model": [f"http://127.0.0.1:{port}"]})))


async def _asks(stack: AsyncExitStack, port: int, data: Path) -> dict[str, Ask]:
    egress = await _egress(stack, port)
    sdk = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, max_retries=0)
    await stack.enter_async_context(sdk)
    asks: dict[str, Ask] = {}
    for wire in WIRES:
        model = _model(egress, wire, "stream-10", port, data)
        for size in HISTORIES:
            if wire == "messages" or size == 200:
                asks[f"models.{wire}_{size}"] = _ours(model, _journal(size))
    asks["models.sdk_200"] = _theirs(sdk, _model(egress, "chat", "stream-10", port, data), _journal(200))
    return asks


def _journal(size: int) -> list[Entry]:
    """So many messages for the model: answers with a call each, and their results."""
    entries: list[Entry] = []

    def add(type: Any, **more: Any) -> None:
        at = len(entries)
        entries.append(Entry(f"rmg_{at}", "run_1", at, at // 3 + 1, type, "2026-11-15T10:00:00Z", **more))

    for n in range(size // 2):
        add("assistant_message", content="I look at what was said about the warehouse and the meeting on Thursday.")
        call = {"call_id": f"call_{n:026}", "tool_name": "tool_1"}
        add("tool_call_message", **call, args=orjson.dumps({"text": rooms.SAYING.format(n)}).decode())
        add("tool_return_message", **call, result=orjson.dumps({"found": [rooms.SAYING] * 2}).decode())
    return entries


def _shown(entries: list[Entry]) -> Transcript:
    turns = [UserTurn("New for you: hello"), *transcript.journal(entries, ROOMY)]
    return Transcript("You are Ada. " * 100, turns, TriggerView("message"))


def _ours(model: RemoteModel, entries: list[Entry]) -> Ask:
    return lambda: model.ask(_shown(entries), TOOLS)


def _theirs(client: openai.AsyncOpenAI, model: RemoteModel, entries: list[Entry]) -> Ask:
    request = DIALECTS["openai-chat"].request(model.spec, _shown(entries), TOOLS)
    body: dict[str, Any] = orjson.loads(conversation.encoded(request))

    async def ask() -> None:
        async for _ in await client.chat.completions.create(**body):
            pass

    return ask


async def _pieces(stack: AsyncExitStack, port: int, data: Path, *, rounds: int) -> Figures:
    """Microseconds for a piece of an answer: a long one, less a short one, by their difference."""
    egress = await _egress(stack, port)
    seen: list[object] = []
    figures: Figures = {}
    for wire in WIRES:
        costs = []
        for _ in range(rounds):
            long, short = (_model(egress, wire, f"stream-{n}", port, data) for n in (PIECES, 10))
            both = []
            for model in (long, short):
                with spent() as used:
                    await model.ask(_shown([]), TOOLS, seen.append)
                both.append(used.cpu)
            costs.append((both[0] - both[1]) / PIECES * 1e6)
            seen.clear()
        figures[f"models.{wire}_piece"] = median(costs)
    return figures


async def _run(port: int, data: Path, *, count: int) -> float:
    """A whole run of three questions, milliseconds of CPU, on SQLite."""
    url = f"http://127.0.0.1:{port}"
    more: dict[str, Any] = {"variables": {"ANTHROPIC_API_KEY": KEY}, "anthropic_base_url": url}
    async with rooms.opened(data / "office", model="anthropic:story", **more) as made:
        (room,) = await made.make("wire", 1)
        for _ in range(3):
            await made.answered([room])
        costs = []
        for _ in range(count):
            with spent() as used:
                await made.answered([room])
            costs.append(used.cpu * 1000)
    return median(costs)
