"""What the real providers refuse, refused here too: the checks that a request of ours must pass. Pure.

Each function answers with what is wrong with a request, in words; nothing wrong is an empty list. They are stricter
than the providers where those mend things silently, so that what passes here is right and not merely tolerated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bullpen.testing.wires import Wire

Json = Mapping[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BINDS = re.compile(r"(?:opus|sonnet|haiku)-5-5|fable-5-1")
_BOTH = frozenset({"model", "stream", "tools", "temperature"})
_KEYS: Mapping[Wire, frozenset[str]] = {
    "messages": _BOTH | {"max_tokens", "system", "thinking", "output_config", "messages"},
    "responses": _BOTH | {"store", "instructions", "max_output_tokens", "reasoning", "include", "input"},
    "chat": _BOTH | {"stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort", "messages"},
}


def problems(wire: Wire, request: Json, seals: Mapping[str, str]) -> list[str]:
    """What is wrong. `seals` are those that the server has given out for thoughts, with the thoughts."""
    found = [f"{name}: extra inputs are not permitted" for name in sorted(set(request) - _KEYS[wire])]
    if not request.get("model") or request.get("stream") is not True:
        found.append("model and stream are required")
    found += _CHECKS[wire](request, seals)
    return found


def _blank(value: Any) -> bool:
    return not isinstance(value, str) or not value.strip()


def _schema(where: str, schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        yield f"{where}: a schema is an object with properties"
    elif {"oneOf", "anyOf", "allOf"} & set(schema):
        yield f"{where}: no oneOf, allOf or anyOf at the top level"


def _definitions(tools: Sequence[Json], schema: str, longest: int) -> Iterator[str]:
    names = [tool.get("name", "") for tool in tools]
    if len(set(names)) != len(names):
        yield "tools: names must be unique"
    if len(tools) > 128:
        yield "tools: at most 128"
    for tool in tools:
        if not _NAME.fullmatch(str(tool.get("name"))):
            yield f"tools: {tool.get('name')!r} is no name"
        if not isinstance(tool.get("description"), str) or len(tool["description"]) > longest:
            yield f"tools: the description of {tool.get('name')} is too long"
        yield from _schema(f"tools.{tool.get('name')}", tool.get(schema))


# ── Messages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _messages(request: Json, seals: Mapping[str, str]) -> Iterator[str]:
    messages = request.get("messages") or []
    if not isinstance(request.get("max_tokens"), int):
        yield "max_tokens: field required"
    yield from _definitions(request.get("tools", ()), "input_schema", 10_000)
    roles = [message["role"] for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        yield f"messages: roles must alternate, from user to user, not {roles}"
    blocks = [block for message in messages for block in message["content"]]
    system = request.get("system") or []
    marked = [block for block in [*system, *blocks, *request.get("tools", ())] if "cache_control" in block]
    if len(marked) > 4 or any(block.get("type") in ("thinking", "redacted_thinking") for block in marked):
        yield "at most 4 blocks may have cache_control, and no thinking"
    if any(_blank(block["text"]) for block in [*system, *blocks] if block["type"] == "text"):
        yield "text content blocks must contain non-whitespace text"
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if len(set(ids)) != len(ids):
        yield "tool_use ids must be unique"
    for number, message in enumerate(messages):
        yield from _message(f"messages.{number}", message, messages[number - 1] if number else None, seals)
    for message in messages[-1:]:
        if message["role"] == "user" and any(block["type"] == "tool_use" for block in message["content"]):
            yield "a person calls no tools"
    yield from _thinking(request, messages)


def _message(where: str, message: Json, before: Json | None, seals: Mapping[str, str]) -> Iterator[str]:
    content = message["content"]
    if not content:
        yield f"{where}: content must not be empty"
    wanted = [block["id"] for block in (before or {"content": ()})["content"] if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    if message["role"] == "user" and results != wanted:
        yield f"{where}: tool_use {wanted} without tool_result blocks immediately after, in order; found {results}"
    if any(block["type"] == "tool_result" for block in content[len(results) :]):
        yield f"{where}: tool_result blocks come first"
    for block in content:
        match block["type"]:
            case "tool_use":
                if not _ID.fullmatch(block["id"]) or not _NAME.fullmatch(block["name"]):
                    yield f"{where}: {block['id']!r} or {block['name']!r} does not match its pattern"
                if not isinstance(block["input"], dict):
                    yield f"{where}: input should be a valid dictionary"
            case "tool_result":
                texts = block.get("content", ())
                if not texts or any(_blank(part.get("text")) for part in texts if part["type"] == "text"):
                    yield f"{where}: a result has no empty block"
            case "thinking":
                if seals.get(block["signature"]) != block["thinking"]:
                    yield f"{where}: invalid signature in thinking block"
            case "redacted_thinking":
                if seals.get(block["data"]) != "":
                    yield f"{where}: invalid data in redacted_thinking block"
            case "text" | "image" | "document":
                pass
            case other:
                yield f"{where}: there is no block {other}"


def _thinking(request: Json, messages: Sequence[Json]) -> Iterator[str]:
    thinking = request.get("thinking")
    if not thinking or thinking["type"] not in ("enabled", "adaptive"):
        return
    if thinking.get("budget_tokens", 0) >= request["max_tokens"]:
        yield "max_tokens must be greater than thinking.budget_tokens"
    if "temperature" in request:
        yield "temperature may only be set to 1 when thinking is enabled"
    first = None
    for message in reversed(messages):
        if message["role"] == "user" and message["content"][-1]["type"] != "tool_result":
            break
        first = message
    is_told = thinking["type"] == "enabled"
    if is_told and first is not None and not first["content"][0]["type"].endswith("thinking"):
        yield "calls that are under way must begin with a thinking block"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer with thoughts, as a server of Messages gave it: to whom, after what, and what it thought and wanted."""

    model: str
    after: bytes
    seals: frozenset[str]
    calls: list[tuple[str, Any]]


def said_before(request: Json, number: int) -> bytes:
    """All that stands before a message, without the marks for the cache."""
    before = [request.get("system"), request.get("tools"), *request["messages"][:number]]
    return orjson.dumps(_plain(before), option=orjson.OPT_SORT_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def unreturned(request: Json, given: Sequence[Given]) -> Iterator[str]:
    """Thoughts come back with the calls that they led to; to models that are particular about that, and only then,
    behind the very words that they were thought behind."""
    if request.get("thinking", {}).get("type") == "disabled":
        return
    for number, message in enumerate(request["messages"]):
        if message["role"] != "assistant":
            continue
        returned = {block.get("signature") or block.get("data") for block in message["content"]}
        calls = [(block["name"], block["input"]) for block in message["content"] if block["type"] == "tool_use"]
        for answer in (each for each in given if each.model == request["model"]):
            moved = _BINDS.search(answer.model) is not None and said_before(request, number) != answer.after
            if moved and answer.seals & returned:
                yield f"messages.{number}: a thinking block is bound to another conversation"
            elif not moved and calls and calls == answer.calls and not answer.seals <= returned:
                yield f"messages.{number}: the thinking blocks of these calls must come back"


# ── Responses ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _responses(request: Json, seals: Mapping[str, str]) -> Iterator[str]:
    yield from _definitions(request.get("tools", ()), "parameters", 1024)
    if request.get("store") is not False:
        yield "store must be false: nothing of ours is kept there"
    waiting: list[str] = []
    seen: set[str] = set()
    items = request.get("input") or []
    if not items or items[0].get("role") != "user":
        yield "input: begins with what somebody said"
    last_role = None
    for number, item in enumerate(items):
        where = f"input.{number}"
        kind = item.get("type", "message")
        role = item.get("role") if kind == "message" else None
        if waiting and kind == "message":
            yield f"{where}: no tool output found for function calls {waiting}"
        if role is not None and role == last_role and "phase" not in item:
            yield f"{where}: two messages of {role} in a row"
        last_role = role
        match kind:
            case "message":
                yield from _said(where, item)
            case "function_call":
                if item["call_id"] in seen or not _ID.fullmatch(item["call_id"]) or not _NAME.fullmatch(item["name"]):
                    yield f"{where}: {item['call_id']!r} or {item['name']!r} is not valid"
                if not isinstance(orjson.loads(item["arguments"]), dict):
                    yield f"{where}: arguments are an object"
                seen.add(item["call_id"])
                waiting.append(item["call_id"])
            case "function_call_output":
                if not waiting or waiting.pop(0) != item["call_id"]:
                    yield f"{where}: no tool call found for function call output with call_id {item['call_id']}"
                yield from _output(where, item["output"])
            case "reasoning":
                yield from _reasoning(where, item, items[number + 1 : number + 2], seals)
            case other:
                yield f"{where}: there is no item {other}"
    if waiting:
        yield f"input: no tool output found for function calls {waiting}"


def _said(where: str, item: Json) -> Iterator[str]:
    content = item["content"]
    texts = [content] if isinstance(content, str) else [p["text"] for p in content if p["type"] == "input_text"]
    if not content or any(_blank(text) for text in texts):
        yield f"{where}: empty content"
    if item["role"] == "assistant" and not isinstance(content, str):
        yield f"{where}: an assistant's message without id is a plain text"


def _output(where: str, output: Any) -> Iterator[str]:
    """A text, or texts, pictures and files."""
    for part in output if isinstance(output, list) else [{"type": "input_text", "text": output}]:
        if part["type"] == "input_text" and _blank(part["text"]):
            yield f"{where}: an empty output"
        elif part["type"] not in ("input_text", "input_image", "input_file"):
            yield f"{where}: there is no output {part['type']}"


def _reasoning(where: str, item: Json, after: Sequence[Json], seals: Mapping[str, str]) -> Iterator[str]:
    summary = "".join(part["text"] for part in item["summary"])
    if seals.get(item["encrypted_content"]) != summary or item["id"] != f"rs_{item['encrypted_content']}":
        yield f"{where}: the encrypted content could not be verified"
    if not after or after[0].get("role") == "user" or after[0].get("type") == "function_call_output":
        yield f"{where}: reasoning was provided without its required following item"


# ── Chat Completions ────────────────────────────────────────────────────────────────────────────────────────────────


def _chat(request: Json, seals: Mapping[str, str]) -> Iterator[str]:
    tools = request.get("tools", ())
    if any(tool.get("type") != "function" for tool in tools):
        yield "tools: type must be function"
    yield from _definitions([tool["function"] for tool in tools], "parameters", 1024)
    waiting: list[str] = []
    seen: set[str] = set()
    last = ""
    messages = request.get("messages") or []
    for number, message in enumerate(messages):
        where, role = f"messages.{number}", message["role"]
        if role != "tool" and waiting:
            yield f"{where}: tool_call_ids {waiting} did not have response messages"
            waiting = []
        if role == last and role != "tool":
            yield f"{where}: two messages of {role} in a row"
        last = role
        content = message.get("content")
        if (content is None or (isinstance(content, str) and _blank(content))) and not message.get("tool_calls"):
            yield f"{where}: empty content"
        match role:
            case "system" if number:
                yield f"{where}: the system comes first"
            case "tool":
                if not waiting or waiting.pop(0) != message["tool_call_id"]:
                    yield f"{where}: role tool must be a response to a preceding message with tool_calls, in order"
            case "assistant":
                for call in message.get("tool_calls", ()):
                    yield from _call(where, call, seen)
                    waiting.append(call["id"])
                if "tool_calls" in message and not message["tool_calls"]:
                    yield f"{where}: tool_calls must not be empty"
    if waiting:
        yield f"messages: tool_call_ids {waiting} did not have response messages"
    if not messages or messages[-1]["role"] not in ("user", "tool"):
        yield "messages: ends with what the model is to answer"


def _call(where: str, call: Json, seen: set[str]) -> Iterator[str]:
    function = call["function"]
    if call["id"] in seen or not _ID.fullmatch(call["id"]) or not _NAME.fullmatch(function["name"]):
        yield f"{where}: {call['id']!r} or {function['name']!r} is not valid"
    if call["type"] != "function" or not isinstance(orjson.loads(function["arguments"]), dict):
        yield f"{where}: a call is a function with an object of arguments"
    seen.add(call["id"])


_CHECKS: Mapping[Wire, Callable[[Json, Mapping[str, str]], Iterator[str]]] = {
    "messages": _messages,
    "responses": _responses,
    "chat": _chat,
}
