"""Chat Completions, and so every server that speaks it: requests out of transcripts, answers out of chunks. Pure.

Such servers differ in small things, so only what nearly all of them know is sent, and what they send is read kindly:
calls without a number, the same number for several calls, a name in every chunk, arguments as an object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from bullpen.llm import conversation, failures
from bullpen.llm.conversation import EMPTY, Result, Said, Step
from bullpen.llm.failures import About
from bullpen.llm.openai_responses import BASE, KEY, headers
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

__all__ = ["BASE", "KEY", "PATH", "PROVIDER", "QUIET", "ChatAnswer", "headers", "request"]

PROVIDER: Final = "openai-chat"
PATH: Final = "/chat/completions"
MOST_DOLLARS: Final = 1000.0  # for one answer
QUIET: Final = 180.0  # a small machine thinks long about a long prompt

# What models think, under the names that servers give it.
_THOUGHTS: Final = ("reasoning_content", "reasoning")
# And in pieces that whoever sells the models of many wants back as they came.
_DETAILS: Final = "reasoning_details"
_WRITTEN: Final = frozenset({"text", "summary", "data"})  # of a piece: it grows
PICTURE: Final = "The picture that {} gave (call {}):"
# Why an answer is over, the last three as some servers have it. Any other reason is one to break off in the middle.
_ENDS: Final = frozenset(
    {"stop", "tool_calls", "length", "content_filter", "function_call", "eos", "eos_token", "stop_sequence"}
)


# ── the request ─────────────────────────────────────────────────────────────────────────────────────────────────────


def request(spec: ModelSpec, transcript: Transcript, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    settings = spec.settings
    made: dict[str, Any] = {"model": spec.name, "stream": True, "stream_options": {"include_usage": True}}
    if tools:
        made["tools"] = [_tool(tool) for tool in tools]
    if settings.max_tokens is not None:
        # Their own models take the new name alone; most other servers know the old one.
        made["max_completion_tokens" if spec.base_url is None else "max_tokens"] = settings.max_tokens
    if settings.temperature is not None:
        made["temperature"] = settings.temperature
    if settings.effort is not None:
        made["reasoning_effort"] = settings.effort
    messages: list[dict[str, Any]] = []
    if transcript.system.strip():
        messages.append({"role": "system", "content": transcript.system})
    takes_files = spec.base_url is None if settings.images is None else settings.images
    shown: list[dict[str, Any]] = []  # pictures of results: what stands there is text alone, so they follow it
    for each in conversation.conversation(transcript.turns):
        if isinstance(each, Said):
            messages.append({"role": "user", "content": _told(each, shown, takes_files=takes_files)})
        else:
            messages += [*_show(shown), *_step(spec, each, takes_files=takes_files)]
        shown = [] if isinstance(each, Said) else _pictures(each) if takes_files else []
    made["messages"] = [*messages, *_show(shown)]
    return made


def _pictures(step: Step) -> list[dict[str, Any]]:
    """Those of a step's results, each under the name of its call."""
    found: list[dict[str, Any]] = []
    for result in step.results:
        files = [block for file in result.attachments if (block := _file(file)) is not None]
        if files:
            found += [{"type": "text", "text": PICTURE.format(result.call.name, result.call.id)}, *files]
    return found


def _show(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": shown}] if shown else []


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": conversation.name_for(tool.name),
            "description": conversation.description_for(tool),
            "parameters": conversation.schema_for(tool.input_schema),
        },
    }


def _told(said: Said, shown: list[dict[str, Any]], *, takes_files: bool) -> str | list[dict[str, Any]]:
    """A plain text wherever it will do: many servers take nothing else. `shown` comes before it."""
    files = [block for file in said.attachments if takes_files and (block := _file(file)) is not None]
    text = "\n\n".join(said.texts) or EMPTY
    return [*shown, *files, {"type": "text", "text": text}] if shown or files else text


def _file(file: Attachment) -> dict[str, Any] | None:
    url = f"data:{file.type};base64,{file.data}"
    if file.type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    if file.type == "application/pdf":
        return {"type": "file", "file": {"filename": file.name, "file_data": url}}
    return None


def _step(spec: ModelSpec, step: Step, *, takes_files: bool) -> list[dict[str, Any]]:
    answer: dict[str, Any] = {"role": "assistant"}
    if step.text:
        answer["content"] = step.text
    calls = []
    for piece in conversation.pieces(step, PROVIDER, spec.name):
        if isinstance(piece, Result):
            function = {"name": piece.call.name, "arguments": piece.call.arguments}
            calls.append({"id": piece.call.id, "type": "function", "function": function})
        elif isinstance(piece, Thinking) and (spec.settings.thinking or _DETAILS in piece.block):
            # Some servers want it back and others refuse it, so it goes back where `thinking` is set.
            answer |= piece.block
    if calls:
        answer["tool_calls"] = calls
    results = [
        {"role": "tool", "tool_call_id": result.call.id, "content": "\n".join(result.told(takes_files=takes_files))}
        for result in step.results
    ]
    return [answer, *results]


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


class ChatAnswer:
    def __init__(self, spec: ModelSpec, about: About, names: Mapping[str, str]) -> None:
        self.whole = False
        self._model = spec.name
        self._about = about
        self._names = names
        self._text = TextDelta()
        self._calls: list[tuple[str, CallDelta]] = []
        self._places: dict[Any, int] = {}  # the server's number of a call, to ours
        self._thought: dict[str, list[str]] = {}
        self._details: dict[tuple[Any, Any], dict[str, Any]] = {}
        self._refusal: list[str] = []
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None

    def feed(self, event: Any) -> Delta | None:
        if event.get("error"):
            raise failures.of_event(failures.told_in(event), self._about)
        if usage := event.get("usage"):
            self._usage = usage
        grown: Delta | None = None
        for choice in event.get("choices") or ():
            if choice.get("index"):
                continue  # one answer was asked for
            self._stop = choice.get("finish_reason") or self._stop
            if delta := choice.get("delta"):
                grown = self._grow(delta) or grown
        return grown

    def _grow(self, delta: dict[str, Any]) -> Delta | None:
        grown: Delta | None = None
        if content := delta.get("content"):
            self._text.add(content)
            grown = self._text
        for call in delta.get("tool_calls") or ():
            grown = self._grow_call(call) or grown
        for name in _THOUGHTS:
            if thought := delta.get(name):
                self._thought.setdefault(name, []).append(thought)
        for detail in delta.get(_DETAILS) or ():
            self._keep(detail)
        if refusal := delta.get("refusal"):
            self._refusal.append(refusal)
        return grown

    def _keep(self, detail: dict[str, Any]) -> None:
        kept = self._details.setdefault((detail.get("index"), detail.get("type")), {})
        for name, value in detail.items():
            if name in _WRITTEN and isinstance(value, str):
                kept[name] = kept.get(name, "") + value
            elif value is not None:
                kept[name] = value

    def _grow_call(self, call: dict[str, Any]) -> CallDelta | None:
        function = call.get("function") or {}
        growing = self._calls[self._place(call, function)][1]
        written = function.get("arguments")
        if not written:
            return None
        growing.add(written if isinstance(written, str) else orjson.dumps(written).decode())
        return growing

    def _place(self, call: dict[str, Any], function: dict[str, Any]) -> int:
        number, id = call.get("index"), call.get("id") or ""
        place = self._places.get(number)
        if place is None or (id and function.get("name") and self._calls[place][0] != id):
            name = function["name"]
            place = self._places[number] = len(self._calls)
            self._calls.append((id, CallDelta(place, self._names.get(name, name))))
        return place

    def end(self) -> None:
        self.whole = self._stop in _ENDS

    def reply(self) -> Reply:
        text = self._text.text
        if self._stop == "content_filter" or self._refusal:
            raise failures.declined(self._about, "".join(self._refusal))
        usage = _usage(self._usage)
        if self._stop == "length":
            return Reply(text, (), usage, "length")
        calls = [CallWish(id or f"call_{call.index}", call.name, call.arguments or "{}") for id, call in self._calls]
        return Reply(text, calls, usage, thinking=[Thinking(PROVIDER, self._model, each) for each in self._thoughts()])

    def _thoughts(self) -> list[dict[str, Any]]:
        if self._details:  # the same again, and more of it
            return [{_DETAILS: list(self._details.values())}]
        return [{name: "".join(pieces)} for name, pieces in self._thought.items()]


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    details = usage.get("prompt_tokens_details") or {}
    counted = TokenUsage.counted(
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        details.get("cached_tokens"),
        details.get("cache_write_tokens"),
    )
    return replace(counted, cost=_cost(usage.get("cost")))


def _cost(said: Any) -> float:
    """Dollars, where whoever sells the models of many says what an answer came to."""
    is_sum = isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said <= MOST_DOLLARS
    return float(said) if is_sum else 0.0
