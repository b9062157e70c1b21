"""Models of the three wire formats for tests: how each is asked, and how the official SDK would have asked it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from bullpen.llm import conversation
from bullpen.llm.elsewhere import DIALECTS, RemoteModel
from bullpen.llm.spec import ModelSpec
from bullpen.llm.types import Delta, Reach, Reply, ToolSpec, Transcript, TriggerView, Turn, UserTurn
from bullpen.net.allowance import Allowance
from bullpen.net.client import Egress
from bullpen.testing.model_server import KEY, ModelServer
from bullpen.testing.wires import Wire
from bullpen.variables.actions import Vault
from bullpen.variables.keys import Keys
from bullpen.variables.types import SETTINGS, SecretRef

PROVIDERS: Mapping[Wire, str] = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}
WIRES: Sequence[Wire] = list(PROVIDERS)
# On PostgreSQL for the first one only: what is stored is the same in all of them.
EVERY_WIRE = pytest.mark.parametrize(
    "wire", [WIRES[0], *(pytest.param(wire, marks=pytest.mark.one_database) for wire in WIRES[1:])]
)
KEY_NAME = "A_MODEL_KEY"

SEND = ToolSpec(
    "send_message",
    "Say something in a space.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


def shown(*turns: Turn, system: str = "You are Ada.") -> Transcript:
    return Transcript(system, turns or [UserTurn("hello")], TriggerView("message"))


def spec(wire: Wire, *, name: str = "a-model", base_url: str | None = None, **settings: Any) -> ModelSpec:
    written = {"provider": PROVIDERS[wire], "name": name, "baseUrl": base_url, "apiKeyVariable": KEY_NAME}
    return ModelSpec.model_validate({**written, "settings": settings})


def request(wire: Wire, transcript: Transcript, tools: Sequence[ToolSpec] = (SEND,), **settings: Any) -> dict[str, Any]:
    """What goes over the wire, decoded."""
    made = DIALECTS[PROVIDERS[wire]].request(spec(wire, **settings), transcript, tools)
    decoded: dict[str, Any] = orjson.loads(conversation.encoded(made))
    return decoded


def base_of(server: ModelServer, wire: Wire) -> str:
    return server.url if wire == "messages" else f"{server.url}/v1"


@dataclass
class World:
    """An Egress that may reach one server, and the key for it."""

    egress: Egress
    vault: Vault
    seen: list[tuple[type[Delta], str]] = field(default_factory=list)

    def model(self, server: ModelServer, wire: Wire, **more: Any) -> RemoteModel:
        self.egress.allowance.set("model", [server.url])
        made = spec(wire, base_url=base_of(server, wire), **more)
        values = {KEY_NAME: SecretRef(KEY_NAME, SETTINGS)}
        return RemoteModel(DIALECTS[PROVIDERS[wire]], made, Reach(lambda: self.egress, self.vault), values)

    async def ask(self, server: ModelServer, wire: Wire, transcript: Transcript | None = None, **more: Any) -> Reply:
        self.seen.clear()
        model = self.model(server, wire, **more)
        return await model.ask(transcript or shown(), [SEND], self._keep)

    def _keep(self, delta: Delta) -> None:
        self.seen.append((type(delta), delta.so_far))


def world(folder: Path) -> World:
    vault = Vault(Keys(folder / "keys.json"), {KEY_NAME: KEY})
    return World(Egress(Allowance()), vault)


# ── the oracles ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Read:
    """An answer as somebody read it."""

    text: str
    calls: list[tuple[str, str, Any]]
    thoughts: list[tuple[dict[str, Any], int, int]]
    tokens: tuple[int, int, int]


def ours(reply: Reply) -> Read:
    return Read(
        reply.text,
        [(call.id, call.name, orjson.loads(call.arguments)) for call in reply.calls],
        [(dict(thought.block), thought.text_before, thought.calls_before) for thought in reply.thinking],
        (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens),
    )


async def by_anthropic(server: ModelServer, body: dict[str, Any]) -> Read:
    import anthropic  # takes two seconds, and not every run of tests gets here

    body = {name: value for name, value in body.items() if name != "stream"}
    async with (
        anthropic.AsyncAnthropic(base_url=server.url, api_key=KEY, max_retries=0) as client,
        client.messages.stream(**body) as stream,
    ):
        message = await stream.get_final_message()
    text, calls, thoughts = "", list[Any](), list[Any]()
    for block in message.content:
        match block.type:
            case "text":
                text += block.text
            case "tool_use":
                calls.append((block.id, block.name, block.input))
            case "thinking" | "redacted_thinking":
                thoughts.append((block.model_dump(exclude_none=True), len(text), len(calls)))
    usage = message.usage
    cached = usage.cache_read_input_tokens or 0
    return Read(text, calls, thoughts, (usage.input_tokens + cached, usage.output_tokens, cached))


async def by_responses(server: ModelServer, body: dict[str, Any]) -> Read:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        events = [event async for event in await client.responses.create(**body)]
    response: Any = events[-1].response
    text, calls, thoughts = "", list[Any](), list[Any]()
    for item in response.output:
        match item.type:
            case "message":
                text += "".join(part.text for part in item.content)
            case "function_call":
                calls.append((item.call_id, item.name, orjson.loads(item.arguments)))
            case "reasoning":
                thoughts.append((item.model_dump(exclude_none=True), len(text), len(calls)))
    usage = response.usage
    return Read(
        text, calls, thoughts, (usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens)
    )


async def by_chat(server: ModelServer, body: dict[str, Any]) -> Read:
    import openai
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state: Any = ChatCompletionStreamState()
    thought = ""
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0) as client:
        async for chunk in await client.chat.completions.create(**body):
            state.handle_chunk(chunk)
            for choice in chunk.choices:
                thought += getattr(choice.delta, "reasoning_content", None) or ""
    whole = state.get_final_completion()
    message = whole.choices[0].message
    calls = [(call.id, call.function.name, orjson.loads(call.function.arguments)) for call in message.tool_calls or ()]
    usage = whole.usage
    return Read(
        message.content or "",
        calls,
        [({"reasoning_content": thought}, 0, 0)] if thought else [],
        (usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details.cached_tokens),
    )


SDKS: Mapping[Wire, Callable[[ModelServer, dict[str, Any]], Any]] = {
    "messages": by_anthropic,
    "responses": by_responses,
    "chat": by_chat,
}
