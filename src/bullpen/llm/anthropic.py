"""The Messages API: a request out of a transcript, and an answer out of its events. Pure.

What stays the same from step to step and from run to run comes first and is marked for the provider's cache: tools and
system together, the stable part of what was said, and the last two things said, so that each step reads what the one
before it has written. Thinking goes back as it came, signature included, to the model that thought it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from bullpen.errors import ContextTooLong
from bullpen.llm import conversation, failures
from bullpen.llm.conversation import EMPTY, Conversation, Result, Said, Step
from bullpen.llm.failures import About
from bullpen.llm.spec import ModelSpec
from bullpen.llm.types import (
    Attachment,
    CallDelta,
    CallWish,
    Delta,
    Reply,
    TextDelta,
    Thinking,
    TokenUsage,
    ToolSpec,
    Transcript,
)

PROVIDER: Final = "anthropic"
BASE: Final = "https://api.anthropic.com"
PATH: Final = "/v1/messages"
KEY: Final = "ANTHROPIC_API_KEY"
QUIET: Final = 60.0  # it sends a ping every few seconds
MAX_TOKENS: Final = 8192  # it must be said
ROOM: Final = 4096  # for the answer itself, beside what may be thought

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_CACHED: Final = {"type": "ephemeral"}


def headers(key: str) -> dict[str, str]:
    named = {"Content-Type": "application/json", "Accept": "text/event-stream", "anthropic-version": "2023-06-01"}
    return {**named, "x-api-key": key} if key else named


# ── the request ─────────────────────────────────────────────────────────────────────────────────────────────────────


def request(spec: ModelSpec, transcript: Transcript, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    said = conversation.conversation(transcript.turns)
    thinking = _thinking(spec, said)
    settings = spec.settings
    made: dict[str, Any] = {"model": spec.name, "max_tokens": _most(spec), "stream": True}
    if tools:
        made["tools"] = [_tool(tool) for tool in tools]
    if transcript.system.strip():
        made["system"] = [{"type": "text", "text": transcript.system, "cache_control": _CACHED}]
    if thinking is not None:
        made["thinking"] = thinking
    elif settings.temperature is not None:  # a model that thinks takes none
        made["temperature"] = settings.temperature
    if settings.effort is not None:
        made["output_config"] = {"effort": settings.effort}
    made["messages"] = _messages(spec, said, thoughts=thinking is not None)
    return made


def _most(spec: ModelSpec) -> int:
    most, thinking = spec.settings.max_tokens or MAX_TOKENS, spec.settings.thinking
    return max(most, thinking + ROOM) if thinking and thinking is not True else most


def _thinking(spec: ModelSpec, said: Conversation) -> dict[str, Any] | None:
    wanted = spec.settings.thinking
    if not wanted or not _may_think(spec, said):
        return None
    return {"type": "adaptive"} if wanted is True else {"type": "enabled", "budget_tokens": wanted}


def _may_think(spec: ModelSpec, said: Conversation) -> bool:
    """Where calls are under way, the first of those answers must begin with a thought; another model's has none."""
    first: Step | None = None
    for each in reversed(said):
        if isinstance(each, Said):
            break
        first = each
    return first is None or isinstance(next(conversation.pieces(first, PROVIDER, spec.name)), Thinking)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": conversation.name_for(tool.name),
        "description": tool.description,
        "input_schema": conversation.schema_for(tool.input_schema),
    }


def _messages(spec: ModelSpec, said: Conversation, *, thoughts: bool) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    ours: list[list[dict[str, Any]]] = []  # what the model is told
    stable: dict[str, Any] | None = None
    for each in said:
        if isinstance(each, Said):
            blocks = _told(each, takes_files=spec.settings.images is not False)
            if ours and messages[-1]["role"] == "user":  # results come first, then what was said since
                ours[-1] += blocks
            else:
                messages.append({"role": "user", "content": blocks})
                ours.append(blocks)
            if each.stable:
                stable = blocks[each.stable - 1 - len(each.texts)]
            continue
        messages.append({"role": "assistant", "content": _answered(spec, each, thoughts=thoughts)})
        if each.results:
            results = [_result(result) for result in each.results]
            messages.append({"role": "user", "content": results})
            ours.append(results)
    for block in [stable, *(blocks[-1] for blocks in ours[-2:])]:
        if block is not None:
            block["cache_control"] = _CACHED
    return messages


def _told(said: Said, *, takes_files: bool) -> list[dict[str, Any]]:
    files = [block for file in said.attachments if takes_files and (block := _file(file)) is not None]
    return [*files, *({"type": "text", "text": text} for text in said.texts or [EMPTY])]


def _file(file: Attachment) -> dict[str, Any] | None:
    source = {"type": "base64", "media_type": file.type, "data": file.data}
    if file.type in _PICTURES:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source, "title": file.name} if file.type == "application/pdf" else None


def _answered(spec: ModelSpec, step: Step, *, thoughts: bool) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for piece in conversation.pieces(step, PROVIDER, spec.name):
        if isinstance(piece, str):
            blocks.append({"type": "text", "text": piece})
        elif isinstance(piece, Result):
            call = piece.call
            written = orjson.Fragment(call.arguments)
            blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": written})
        elif thoughts:
            blocks.append(dict(piece.block))
    return blocks


def _result(result: Result) -> dict[str, Any]:
    texts = [{"type": "text", "text": text} for text in result.texts or [EMPTY]]
    made = {"type": "tool_result", "tool_use_id": result.call.id, "content": texts}
    return {**made, "is_error": True} if result.is_error else made


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


class MessagesAnswer:
    def __init__(self, spec: ModelSpec, about: About, names: Mapping[str, str]) -> None:
        self.whole = False
        self._model = spec.name
        self._about = about
        self._names = names
        self._text = TextDelta()
        self._calls: list[tuple[str, CallDelta]] = []
        self._thinking: list[Thinking] = []
        self._block: dict[str, Any] | None = None  # the one that is being written
        self._thought: list[str] = []
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None

    def feed(self, event: Any) -> Delta | None:
        match event["type"]:
            case "content_block_delta":
                return self._grow(event["delta"])
            case "content_block_start":
                self._begin(event["content_block"])
            case "content_block_stop":
                self._finish()
            case "message_start":
                self._count(event["message"].get("usage"))
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._count(event.get("usage"))
                if self._stop == "refusal":
                    details = event["delta"].get("stop_details") or {}
                    raise failures.declined(self._about, details.get("explanation") or "")
            case "message_stop":
                self.whole = self._stop is not None and self._block is None
            case "error":
                raise failures.of_event(failures.told_in(event), self._about)
        return None

    def end(self) -> None:
        """It says itself when it is whole."""

    def _begin(self, block: dict[str, Any]) -> None:
        if self._block is not None:
            raise ValueError("a block begins inside another")
        self._block = block
        match block["type"]:
            case "text":
                self._text.add(block.get("text") or "")
            case "tool_use":
                name = self._names.get(block["name"], block["name"])
                self._calls.append((block["id"], CallDelta(len(self._calls), name)))
            case "thinking":
                self._thought = [block.get("thinking") or ""]

    def _grow(self, delta: dict[str, Any]) -> Delta | None:
        match delta["type"]:
            case "text_delta":
                self._text.add(delta["text"])
                return self._text
            case "input_json_delta" if self._block is not None and self._block["type"] == "tool_use":
                call = self._calls[-1][1]
                call.add(delta["partial_json"])
                return call
            case "thinking_delta":
                self._thought.append(delta["thinking"])
            case "signature_delta" if self._block is not None:
                self._block["signature"] = delta["signature"]
        return None

    def _finish(self) -> None:
        block, self._block = self._block, None
        if block is None:
            raise ValueError("a block ends that never began")
        if block["type"] == "thinking":
            kept = {"type": "thinking", "thinking": "".join(self._thought), "signature": block.get("signature", "")}
        elif block["type"] == "redacted_thinking":
            kept = {"type": "redacted_thinking", "data": block["data"]}
        else:
            if block["type"] == "tool_use" and block.get("input") and not self._calls[-1][1].arguments:
                self._calls[-1][1].add(orjson.dumps(block["input"]).decode())
            return
        self._thinking.append(Thinking(PROVIDER, self._model, kept, len(self._text.text), len(self._calls)))

    def _count(self, usage: dict[str, Any] | None) -> None:
        """Counts are of all so far. What is not said stays."""
        self._usage.update({name: count for name, count in (usage or {}).items() if isinstance(count, int)})

    def reply(self) -> Reply:
        if self._stop == "model_context_window_exceeded":
            raise ContextTooLong(f"{self._about} had no room left to finish its answer.")
        count = self._usage.get
        cached, written = count("cache_read_input_tokens", 0), count("cache_creation_input_tokens", 0)
        shown = count("input_tokens", 0) + cached + written
        usage = TokenUsage.counted(shown, count("output_tokens"), cached, written)
        if self._stop == "max_tokens":
            return Reply(self._text.text, (), usage, "length")
        calls = [CallWish(id, call.name, call.arguments or "{}") for id, call in self._calls]
        return Reply(self._text.text, calls, usage, thinking=tuple(self._thinking))
