"""The Responses API: a request out of a transcript, and an answer out of its events. Pure.

Nothing is stored there (`store: false`): the journal is ours, and what a model reasoned goes back sealed, as it came,
in its place among the items. The provider remembers beginnings by itself, so all that is asked of us is that a longer
request begins with the bytes of a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bullpen.llm import conversation, failures
from bullpen.llm.conversation import EMPTY, Result, Said, Step
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

PROVIDER: Final = "openai"
BASE: Final = "https://api.openai.com/v1"
PATH: Final = "/responses"
KEY: Final = "OPENAI_API_KEY"
QUIET: Final = 180.0  # while it reasons it says nothing

# Models that reason; others refuse to be asked for it.
_REASONS: Final = re.compile(r"(?:o\d|gpt-[5-9]|codex)(?!.*chat)")


def headers(key: str) -> dict[str, str]:
    named = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    return {**named, "Authorization": f"Bearer {key}"} if key else named


def reasons(spec: ModelSpec) -> bool:
    wanted = spec.settings.thinking
    return bool(wanted) if wanted is not None else _REASONS.match(spec.name) is not None


# ── the request ─────────────────────────────────────────────────────────────────────────────────────────────────────


def request(spec: ModelSpec, transcript: Transcript, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    settings = spec.settings
    made: dict[str, Any] = {"model": spec.name, "stream": True, "store": False}
    if tools:
        made["tools"] = [_tool(tool) for tool in tools]
    if transcript.system.strip():
        made["instructions"] = transcript.system
    if settings.max_tokens is not None:
        made["max_output_tokens"] = settings.max_tokens
    if settings.temperature is not None:
        made["temperature"] = settings.temperature
    if settings.effort is not None:
        made["reasoning"] = {"effort": settings.effort}
    if reasons(spec):
        made["include"] = ["reasoning.encrypted_content"]
    items: list[dict[str, Any]] = []
    takes_files = settings.images is not False
    for each in conversation.conversation(transcript.turns):
        if isinstance(each, Said):
            items.append({"role": "user", "content": _told(each, takes_files=takes_files)})
        else:
            items += _step(spec, each, takes_files=takes_files)
    made["input"] = items
    return made


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": conversation.name_for(tool.name),
        "description": conversation.description_for(tool),
        "parameters": conversation.schema_for(tool.input_schema),
        "strict": False,
    }


def _told(said: Said, *, takes_files: bool) -> list[dict[str, Any]]:
    files = [block for file in said.attachments if takes_files and (block := _file(file)) is not None]
    return [*files, *({"type": "input_text", "text": text} for text in said.texts or [EMPTY])]


def _file(file: Attachment) -> dict[str, Any] | None:
    url = f"data:{file.type};base64,{file.data}"
    if file.type.startswith("image/"):
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if file.type == "application/pdf":
        return {"type": "input_file", "filename": file.name, "file_data": url}
    return None


def _step(spec: ModelSpec, step: Step, *, takes_files: bool) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    phase: dict[str, str] = {}
    for piece in conversation.pieces(step, PROVIDER, spec.name):
        if isinstance(piece, str):
            items.append({"role": "assistant", "content": piece, **phase})
            phase = {}
        elif isinstance(piece, Result):
            call = piece.call
            wish = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
            items.append({"type": "function_call", **wish})
        elif piece.block["type"] == "message":
            phase = {"phase": piece.block["phase"]}
        else:
            items.append(dict(piece.block))
    for result in step.results:
        output = {"call_id": result.call.id, "output": _output(result, takes_files=takes_files)}
        items.append({"type": "function_call_output", **output})
    return items


def _output(result: Result, *, takes_files: bool) -> str | list[dict[str, Any]]:
    said = "\n".join(result.told(takes_files=takes_files))
    files = [block for file in result.attachments if takes_files and (block := _file(file)) is not None]
    return [{"type": "input_text", "text": said}, *files] if files else said


# ── the answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


class ResponsesAnswer:
    def __init__(self, spec: ModelSpec, about: About, names: Mapping[str, str]) -> None:
        self.whole = False
        self._model = spec.name
        self._about = about
        self._names = names
        self._text = TextDelta()
        self._calls: dict[int, CallDelta] = {}  # by where they stand in the output
        self._items: dict[int, dict[str, Any]] = {}
        self._open: set[int] = set()
        self._response: dict[str, Any] = {}

    def feed(self, event: Any) -> Delta | None:
        match event["type"]:
            case "response.output_text.delta":
                self._text.add(event["delta"])
                return self._text
            case "response.function_call_arguments.delta":
                call = self._calls[event["output_index"]]
                call.add(event["delta"])
                return call
            case "response.output_item.added":
                self._begin(event["output_index"], event["item"])
            case "response.output_item.done":
                self._items[event["output_index"]] = event["item"]
                self._open.discard(event["output_index"])
            case "response.completed" | "response.incomplete":
                self._response = event["response"]
                # An answer that was cut at its limit may leave its last item open.
                self.whole = not self._open or event["type"] == "response.incomplete"
            case "response.failed":
                raise failures.of_event(failures.told_in(event["response"]), self._about)
            case "error":
                raise failures.of_event(_told_of(event), self._about)
        return None

    def end(self) -> None:
        """It says itself when it is whole."""

    def _begin(self, index: int, item: dict[str, Any]) -> None:
        self._open.add(index)
        if item["type"] == "function_call":
            name = self._names.get(item["name"], item["name"])
            self._calls[index] = CallDelta(len(self._calls), name)

    def reply(self) -> Reply:
        why = (self._response.get("incomplete_details") or {}).get("reason")
        if why == "content_filter":
            raise failures.declined(self._about)
        items = self._response.get("output") or [self._items[index] for index in sorted(self._items)]
        text, calls, thinking = self._read(items)
        usage = _usage(self._response.get("usage") or {})
        if self._response.get("status") == "incomplete" or why:
            return Reply(text or self._text.text, (), usage, "length")
        return Reply(text, calls, usage, thinking=thinking)

    def _read(self, items: Sequence[dict[str, Any]]) -> tuple[str, list[CallWish], list[Thinking]]:
        text, calls, thinking = "", list[CallWish](), list[Thinking]()
        for item in items:
            match item["type"]:
                case "message":
                    if phase := item.get("phase"):  # said by the way, or as the answer: it wants to know again
                        marked = {"type": "message", "phase": phase}
                        thinking.append(Thinking(PROVIDER, self._model, marked, len(text), len(calls)))
                    text += self._said(item["content"])
                case "function_call":
                    name = self._names.get(item["name"], item["name"])
                    calls.append(CallWish(item["call_id"], name, item["arguments"] or "{}"))
                case "reasoning" if item.get("encrypted_content"):
                    kept = {name: item[name] for name in _KEPT if item.get(name) is not None}
                    thinking.append(Thinking(PROVIDER, self._model, kept, len(text), len(calls)))
        return text, calls, thinking

    def _said(self, parts: Sequence[dict[str, Any]]) -> str:
        for part in parts:
            if part["type"] == "refusal":
                raise failures.declined(self._about, part["refusal"])
        return "".join(part["text"] for part in parts if part["type"] == "output_text")


_KEPT: Final = ("type", "id", "summary", "content", "encrypted_content")


def _told_of(event: Mapping[str, Any]) -> failures.Told:
    if isinstance(event.get("error"), Mapping):
        return failures.told_in(event)
    return failures.Told(str(event.get("code") or ""), str(event.get("message") or ""))


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    details = usage.get("input_tokens_details") or {}
    return TokenUsage.counted(
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        details.get("cached_tokens"),
        details.get("cache_write_tokens"),
    )
