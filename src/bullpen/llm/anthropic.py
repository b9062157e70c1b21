"""The Messages API: a request out of a transcript, and an answer out of its events. Pure.

What stays the same from step to step and from run to run comes first and is marked for the provider's cache: tools and
system together, the stable part of what was said, and the last two things said, so that each step reads what the one
before it has written. Thinking goes back as it came, signature included, to the model that thought it: whether or not
it was asked to think, and, if the model is particular about that, only behind the very words it was thought behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import orjson

from bullpen.errors import ContextTooLong
from bullpen.llm import claude, conversation, failures
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
MAX_WITH_THOUGHTS: Final = 32_000  # where what it thinks unasked counts as well
BUDGET: Final = 8192  # tokens, for a model that has to be given some to think
ROOM: Final = 4096  # for the answer itself, beside what may be thought

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_CACHED: Final = {"type": "ephemeral"}
_MARK: Final = b',"cache_control":{"type":"ephemeral"}'


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
    elif settings.temperature is not None and claude.takes_budget(spec.name):  # a model that thinks takes none
        made["temperature"] = settings.temperature
    if settings.effort is not None:
        made["output_config"] = {"effort": settings.effort}
    made["messages"] = _messages(spec, said, made if _goes_back(spec, thinking) else None)
    return made


def _most(spec: ModelSpec) -> int:
    default = MAX_WITH_THOUGHTS if claude.is_claude(spec.name) and claude.decides(spec.name) else MAX_TOKENS
    budget = _budget(spec)
    most = spec.settings.max_tokens or default
    return max(most, budget + ROOM) if budget else most


def _budget(spec: ModelSpec) -> int:
    """For how many tokens it is told to think, if that is how it is told."""
    wanted, name = spec.settings.thinking, spec.name
    if wanted is True:
        return 0 if claude.decides(name) else BUDGET
    return wanted if wanted and claude.takes_budget(name) else 0


def _thinking(spec: ModelSpec, said: Conversation) -> dict[str, Any] | None:
    wanted = spec.settings.thinking
    if wanted is False:
        return claude.off(spec.name)
    if budget := _budget(spec):
        return {"type": "enabled", "budget_tokens": budget} if _may_think(spec, said) else None
    return {"type": "adaptive"} if wanted else None


def _goes_back(spec: ModelSpec, thinking: Mapping[str, Any] | None) -> bool:
    """Is it sent what it thought before? Always, unless it is not to think now."""
    if thinking is not None:
        return bool(thinking["type"] != "disabled")
    return claude.thinks_unasked(spec.name)


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


def _messages(spec: ModelSpec, said: Conversation, head: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """`head` is what comes before, where thoughts go back; else None."""
    words = None if head is None else _Words(head, bound=claude.binds(spec.name))
    messages: list[dict[str, Any]] = []
    ours: list[list[dict[str, Any]]] = []  # what the model is told
    stable: dict[str, Any] | None = None
    takes_files = spec.settings.images is not False
    for each in said:
        if isinstance(each, Said):
            blocks = _told(each, takes_files=takes_files)
            if ours and messages[-1]["role"] == "user":  # results come first, then what was said since
                ours[-1] += blocks
            else:
                messages.append({"role": "user", "content": blocks})
                ours.append(blocks)
            if each.stable:
                stable = blocks[each.stable - 1 - len(each.texts)]
            continue
        thoughts = words is not None and words.led_to(each, messages)
        messages.append({"role": "assistant", "content": _answered(spec, each, thoughts=thoughts)})
        if each.results:
            results = [_result(result, takes_files=takes_files) for result in each.results]
            messages.append({"role": "user", "content": results})
            ours.append(results)
    for block in [stable, *(blocks[-1] for blocks in ours[-2:])]:
        if block is not None:
            block["cache_control"] = _CACHED
    return messages


class _Words:
    """All that stands before a thought, as far as a request has been written."""

    def __init__(self, head: Mapping[str, Any], *, bound: bool) -> None:
        self._bound = bound
        self._hash = blake2b(digest_size=16)
        self._seen = 0
        for part in (head.get("system"), head.get("tools")) if bound else ():
            self._hash.update(_unmarked({"head": part}))

    def led_to(self, step: Step, messages: Sequence[Mapping[str, Any]]) -> bool:
        """May the thoughts of this answer stand behind these messages?"""
        if not self._bound or not step.thinking:
            return True
        digest = self.digest(messages)
        return all(thought.bound == digest for thought in step.thinking)

    def digest(self, messages: Sequence[Mapping[str, Any]]) -> str:
        for message in messages[self._seen :]:
            self._hash.update(_unmarked(message))
        self._seen = len(messages)
        return self._hash.hexdigest()


def _unmarked(part: Mapping[str, Any]) -> bytes:
    """The marks for the cache move on from step to step, and mean nothing to the model."""
    return conversation.encoded(part).replace(_MARK, b"")


def bound_to(spec: ModelSpec, made: Mapping[str, Any]) -> str:
    """What the thoughts of an answer to this request are bound to, if to anything."""
    return _Words(made, bound=True).digest(made["messages"]) if claude.binds(spec.name) else ""


def _told(said: Said, *, takes_files: bool) -> list[dict[str, Any]]:
    return [*_files(said.attachments, takes_files=takes_files), *_texts(said.texts or [EMPTY])]


def _texts(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


def _files(attachments: Sequence[Attachment], *, takes_files: bool) -> list[dict[str, Any]]:
    return [block for file in attachments if takes_files and (block := _file(file)) is not None]


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


def _result(result: Result, *, takes_files: bool) -> dict[str, Any]:
    content = [
        *_texts(result.told(takes_files=takes_files)),
        *_files(result.attachments, takes_files=takes_files),
    ]
    made = {"type": "tool_result", "tool_use_id": result.call.id, "content": content}
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
