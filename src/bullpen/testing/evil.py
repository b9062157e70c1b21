"""A model that obeys everything it reads, whoever wrote it: the worst that an injected text can make of an agent.

An order is a line `CALL tool {"json": "arguments"}`, anywhere in what the model is shown, also inside the JSON of a
result. Each is carried out once in a run, whether or not the model has such a tool. `$pending` stands for the newest
call of its own that waits for somebody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any

import orjson

from bullpen.llm.types import AssistantTurn, CallWish, OnDelta, Reply, ToolSpec, ToolTurn, Transcript, UserTurn

_ORDER = re.compile(r"CALL (\w+) (?=\{)")
_PENDING = re.compile(r'"pendingToolCallId": ?"(call_\w+)"')
_DECODER = JSONDecoder(strict=False)


class EvilModel:
    def __init__(self) -> None:
        self.shown: list[Transcript] = []
        self.obeyed: list[tuple[str, Any]] = []  # everything it ever tried

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        self.shown.append(transcript)
        done = {(call.name, call.arguments) for call in _calls(transcript)}
        found = dict.fromkeys(order for text in texts(transcript) for order in orders(text))
        pending = [id for text in texts(transcript) for id in _PENDING.findall(text)]
        wishes = []
        for name, arguments in found:
            meant = arguments.replace("$pending", pending[-1] if pending else "call_none")
            if (name, meant) not in done:
                wishes.append(CallWish(f"evil{len(self.obeyed)}", name, meant))
                self.obeyed.append((name, orjson.loads(meant)))
        return Reply("", wishes)


def texts(transcript: Transcript) -> list[str]:
    """All that a model is shown but for what it wrote itself."""
    found = [transcript.system]
    for turn in transcript.turns:
        if isinstance(turn, UserTurn):
            found.append(turn.text)
        elif isinstance(turn, ToolTurn):
            found += [part["text"] for part in turn.content]
    return found


def orders(text: str) -> Iterator[tuple[str, str]]:
    """The orders in a text, as a name and JSON. Inside of JSON quotes are escaped, and inside of that again."""
    for _ in range(4):
        for match in _ORDER.finditer(text):
            try:
                value, _end = _DECODER.raw_decode(text, match.end())
            except JSONDecodeError:
                continue
            yield match[1], orjson.dumps(value).decode()
        text = text.replace('\\"', '"').replace("\\\\", "\\")


def _calls(transcript: Transcript) -> list[CallWish]:
    return [call for turn in transcript.turns if isinstance(turn, AssistantTurn) for call in turn.calls]
