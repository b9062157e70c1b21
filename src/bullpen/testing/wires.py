"""Answers of models, written in the three streaming formats that providers speak: as their documentation has them.

An answer is a list of parts; what comes out are the frames of the stream, one for each event, pings and envelopes
included. `ModelServer` sends them, and a test may cut them wherever it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import orjson

Wire: TypeAlias = Literal["messages", "responses", "chat"]
PATHS: Mapping[str, Wire] = {
    "/v1/messages": "messages",
    "/v1/responses": "responses",
    "/v1/chat/completions": "chat",
}
PIECE = 8  # characters in one delta


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    phase: str = ""  # in Responses: by the way, or as the answer


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool call."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Thought:
    """`seal` is the signature of a thought that can be read, or all there is of one that cannot."""

    text: str
    seal: str


Part: TypeAlias = Text | Wanted | Thought


@dataclass(frozen=True, slots=True)
class Answer:
    parts: Sequence[Part] = ()
    stop: Literal["end", "length", "refused"] = "end"
    input_tokens: int = 100
    cached_tokens: int = 60
    output_tokens: int = 20
    piece: int = PIECE
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> list[Wanted]:
        return [part for part in self.parts if isinstance(part, Wanted)]


def frames(wire: Wire, answer: Answer, model: str = "a-model") -> list[bytes]:
    return list(_WRITERS[wire](answer, model))


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _frame(data: Mapping[str, Any], *, named: bool = True) -> bytes:
    name = f"event: {data['type']}\n".encode() if named else b""
    return name + b"data: " + orjson.dumps(data) + b"\n\n"


# ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _messages(answer: Answer, model: str) -> Iterator[bytes]:
    fresh = answer.input_tokens - answer.cached_tokens
    usage = {"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": answer.cached_tokens}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield _frame({"type": "message_start", "message": message})
    yield _frame({"type": "ping"})
    for index, part in enumerate(answer.parts):
        yield from _block(index, part, answer.piece)
    reasons = {"end": "tool_use" if answer.calls else "end_turn", "length": "max_tokens", "refused": "refusal"}
    delta = {"stop_reason": reasons[answer.stop], "stop_sequence": None}
    yield _frame({"type": "message_delta", "delta": delta, "usage": {"output_tokens": answer.output_tokens}})
    yield _frame({"type": "message_stop"})


def _block(index: int, part: Part, size: int) -> Iterator[bytes]:
    def begin(**block: Any) -> bytes:
        return _frame({"type": "content_block_start", "index": index, "content_block": block})

    def grow(**delta: Any) -> bytes:
        return _frame({"type": "content_block_delta", "index": index, "delta": delta})

    match part:
        case Text(text):
            yield begin(type="text", text="")
            yield from (grow(type="text_delta", text=piece) for piece in _pieces(text, size))
        case Wanted(id, name, arguments):
            yield begin(type="tool_use", id=id, name=name, input={})
            yield grow(type="input_json_delta", partial_json="")
            written = "" if arguments == "{}" else arguments
            yield from (grow(type="input_json_delta", partial_json=piece) for piece in _pieces(written, size))
        case Thought("", seal):
            yield begin(type="redacted_thinking", data=seal)
        case Thought(text, seal):
            yield begin(type="thinking", thinking="", signature="")
            yield from (grow(type="thinking_delta", thinking=piece) for piece in _pieces(text, size))
            yield grow(type="signature_delta", signature=seal)
    yield _frame({"type": "content_block_stop", "index": index})


# ── Responses ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _responses(answer: Answer, model: str) -> Iterator[bytes]:
    numbers = iter(range(1_000_000))

    def event(type: str, **more: Any) -> bytes:
        return _frame({"type": type, "sequence_number": next(numbers), **more})

    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }
    yield event("response.created", response=response)
    yield event("response.in_progress", response=response)
    output = []
    for index, part in enumerate(answer.parts):
        at = {"output_index": index, "item_id": f"item_{index}"}
        item = _item(index, part, whole=False, refused=answer.stop == "refused")
        yield event("response.output_item.added", output_index=index, item=item)
        for type, more in _growth(part, answer):
            yield event(type, **at, **more)
        done = _item(index, part, whole=True, refused=answer.stop == "refused")
        yield event("response.output_item.done", output_index=index, item=done)
        output.append(done)
    usage = {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    if answer.stop == "length":
        cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        yield event("response.incomplete", response={**response, "output": output, "usage": usage, **cut})
    else:
        yield event(
            "response.completed", response={**response, "output": output, "usage": usage, "status": "completed"}
        )


def _item(index: int, part: Part, *, whole: bool, refused: bool) -> dict[str, Any]:
    status = "completed" if whole else "in_progress"
    id = f"item_{index}"
    match part:
        case Text(text):
            said: dict[str, Any] = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            if refused:
                said = {"type": "refusal", "refusal": text}
            content = [said] if whole else []
            message = {"id": id, "type": "message", "role": "assistant", "status": status, "content": content}
            return {**message, "phase": part.phase} if part.phase else message
        case Wanted(call_id, name, arguments):
            written = arguments if whole else ""
            call = {"call_id": call_id, "name": name, "arguments": written}
            return {"id": id, "type": "function_call", "status": status, **call}
        case Thought(text, seal):
            summary = [{"type": "summary_text", "text": text}] if text and whole else []
            return {"id": f"rs_{seal}", "type": "reasoning", "summary": summary, "encrypted_content": seal}


def _growth(part: Part, answer: Answer) -> Iterator[tuple[str, dict[str, Any]]]:
    match part:
        case Text(text) if answer.stop != "refused":
            for piece in _pieces(text, answer.piece):
                yield "response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []}
            yield "response.output_text.done", {"content_index": 0, "text": text, "logprobs": []}
        case Text(text):
            for piece in _pieces(text, answer.piece):
                yield "response.refusal.delta", {"content_index": 0, "delta": piece}
        case Wanted(_, name, arguments):
            for piece in _pieces(arguments, answer.piece):
                yield "response.function_call_arguments.delta", {"delta": piece}
            yield "response.function_call_arguments.done", {"arguments": arguments, "name": name}
        case Thought(text, _):
            for piece in _pieces(text, answer.piece):
                yield "response.reasoning_summary_text.delta", {"summary_index": 0, "delta": piece}


# ── Chat Completions ────────────────────────────────────────────────────────────────────────────────────────────────


def _chat(answer: Answer, model: str) -> Iterator[bytes]:
    def chunk(delta: Mapping[str, Any] | None, reason: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        return _frame({**head, "choices": choices, "usage": None, **more}, named=False)

    yield chunk({"role": "assistant", "content": "" if not answer.calls else None, "refusal": None})
    calls = 0
    for part in answer.parts:
        match part:
            case Text(text):
                name = "refusal" if answer.stop == "refused" else "content"
                yield from (chunk({name: piece}) for piece in _pieces(text, answer.piece))
            case Wanted(id, name, arguments):
                first = {"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
                yield chunk({"tool_calls": [first]})
                for piece in _pieces(arguments, answer.piece):
                    yield chunk({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
                calls += 1
            case Thought(text, _):
                yield from (chunk({"reasoning_content": piece}) for piece in _pieces(text, answer.piece))
    reason = {"end": "tool_calls" if calls else "stop", "length": "length", "refused": "stop"}[answer.stop]
    yield chunk({}, reason)
    usage = {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
    }
    yield chunk(None, usage=usage)
    yield b"data: [DONE]\n\n"


_WRITERS: Mapping[Wire, Any] = {"messages": _messages, "responses": _responses, "chat": _chat}
