"""What a model server got, as its provider would read it: tools, then the system text, then what was said."""

from __future__ import annotations

from typing import Any

import orjson

from bullpen.testing.model_server import Asked
from bullpen.testing.wires import Wire

Json = dict[str, Any]


def system_of(asked: Asked) -> str:
    match asked.wire:
        case "messages":
            return "".join(block["text"] for block in asked.json["system"])
        case "responses":
            return str(asked.json["instructions"])
        case _:
            return str(asked.json["messages"][0]["content"])


def told_of(asked: Asked) -> str:
    """Everything that was said, by whomever, in order."""
    said = asked.json["input" if asked.wire == "responses" else "messages"]
    return "\n".join(_strings(said if asked.wire != "chat" else said[1:]))


def _strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _strings(each)]
        case dict():
            return [text for each in value.values() for text in _strings(each)]
    return []


def cached_share(asked: list[Asked]) -> float:
    """How much of all that was sent a provider that remembers prefixes has read before."""
    total = cached = 0
    before: list[tuple[list[bytes], list[int]]] = []
    for each in asked:
        blocks, marks = _blocks(each)
        total += sum(map(len, blocks))
        cached += max((_shared(each.wire, blocks, *earlier) for earlier in before), default=0)
        before.append((blocks, marks))
    return cached / total


def _blocks(asked: Asked) -> tuple[list[bytes], list[int]]:
    """What was sent, block by block, and behind which of them the provider was told to remember."""
    sent = asked.json
    said = sent["input" if asked.wire == "responses" else "messages"]
    found = [*sent["tools"], *([sent["instructions"]] if asked.wire == "responses" else sent.get("system", []))]
    for each in said:
        content = each.get("content")
        found += [{"role": each["role"]}, *content] if asked.wire == "messages" else [each]
    marks = [number for number, each in enumerate(found) if isinstance(each, dict) and "cache_control" in each]
    plain = [
        {name: value for name, value in each.items() if name != "cache_control"} if isinstance(each, dict) else each
        for each in found
    ]
    return [orjson.dumps(each) for each in plain], marks


def _shared(wire: Wire, blocks: list[bytes], earlier: list[bytes], marks: list[int]) -> int:
    same = 0
    while same < min(len(blocks), len(earlier)) and blocks[same] == earlier[same]:
        same += 1
    if wire == "messages":  # it remembers up to a mark, and nothing in between
        same = max((mark + 1 for mark in marks if mark < same), default=0)
        return sum(map(len, blocks[:same]))
    whole = sum(map(len, blocks[:same]))
    if same < min(len(blocks), len(earlier)):
        pairs = zip(blocks[same], earlier[same], strict=False)
        whole += next((at for at, (one, two) in enumerate(pairs) if one != two), 0)
    return whole
