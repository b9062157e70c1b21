"""The offline model: it plays written turns.

A turn is chosen by its `when` (a regex searched in the newest inbox text) and `kind`; the first that fits plays. It has
one step per model call of the run, so the n-th answer is the n-th step. Nothing matching, or no step left, answers ''.
Text and arguments grow in pieces, as a real provider's do. Strings may hold `{{trigger.text}}` and
`{{results[0].messageId}}`; an unknown path is ''. A `when` is searched for in linear time: see patterns.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from bullpen import patterns
from bullpen.errors import ModelUnavailable
from bullpen.llm.types import (
    CallDelta,
    CallWish,
    OnDelta,
    Reply,
    TextDelta,
    TokenUsage,
    ToolSpec,
    Transcript,
)
from bullpen.patterns import BadPattern

PIECE = 48  # characters per delta
MAX_PATTERNS = 50_000  # letters of all `when`s together: see patterns.py
_PLACE = re.compile(r"\{\{\s*([a-zA-Z_][\w.\[\]]*)\s*\}\}")
_PART = re.compile(r"[a-zA-Z_]\w*|\[\d+\]")


def _readable(pattern: str) -> str:
    patterns.measure(pattern)
    return pattern


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class ScriptCall(_Strict):
    tool: str
    # A string is sent as it stands, so that bad JSON can be rehearsed too.
    args: dict[str, Any] | str = Field(default_factory=dict)


class ScriptUsage(_Strict):
    """What the answer is said to have used; without it, about what its length would."""

    input_tokens: int = Field(default=0, ge=0, le=1 << 40)
    output_tokens: int = Field(default=0, ge=0, le=1 << 40)
    cached_tokens: int = Field(default=0, ge=0, le=1 << 40)
    written_tokens: int = Field(default=0, ge=0, le=1 << 40)
    cost: float = Field(default=0.0, ge=0, le=1_000_000)  # dollars


class ScriptStep(_Strict):
    text: str = ""
    calls: list[ScriptCall] = Field(default_factory=list)
    delay_ms: int = Field(default=0, ge=0, le=600_000)  # how long the model "thinks"
    usage: ScriptUsage | None = None
    away_seconds: float | None = Field(default=None, ge=0, le=86_400)  # nobody is there, and wants to be left alone


class ScriptTurn(_Strict):
    when: Annotated[str, AfterValidator(_readable)] | None = None
    kind: str | None = None
    steps: list[ScriptStep] = Field(default_factory=list)


class Script(_Strict):
    provider: Literal["script"] = "script"
    name: str | None = None
    turns: list[ScriptTurn] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_patterns(self) -> Script:
        whens = [turn.when for turn in self.turns if turn.when is not None]
        # Before any of them is compiled: each could take a tenth of a second.
        if sum(map(patterns.measure, whens)) > MAX_PATTERNS:
            raise BadPattern("the `when`s of a script are too large together: repeat less, or write fewer turns")
        for when in whens:
            try:
                patterns.compile_linear(when)
            except BadPattern as error:
                raise BadPattern(f"when {when[:80]!r} {error}") from None
        return self


class ScriptModel:
    def __init__(self, script: Script) -> None:
        self._turns = [(None if t.when is None else patterns.compile_linear(t.when), t) for t in script.turns]

    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        step = self._step(transcript)
        if step is None:
            return Reply("")
        if step.delay_ms:
            await asyncio.sleep(step.delay_ms / 1000)
        if step.away_seconds is not None:
            raise ModelUnavailable("The script says that nobody is there.", retry_after=step.away_seconds)
        known = _known(transcript)
        text = fill(step.text, known)
        calls = [
            CallWish(f"script_{transcript.steps}_{n}", call.tool, _arguments(call.args, known))
            for n, call in enumerate(step.calls)
        ]
        if on_delta is not None:
            await _stream(text, calls, on_delta)
        usage = _usage(transcript, text, calls) if step.usage is None else TokenUsage(**step.usage.model_dump())
        return Reply(text, calls, usage)

    def _step(self, transcript: Transcript) -> ScriptStep | None:
        trigger = transcript.trigger
        for when, turn in self._turns:
            if turn.kind is not None and turn.kind != trigger.kind:
                continue
            if when is None or when(trigger.text):
                return turn.steps[transcript.steps] if transcript.steps < len(turn.steps) else None
        return None


async def _stream(text: str, calls: Sequence[CallWish], on_delta: OnDelta) -> None:
    said = TextDelta()
    for start in range(0, len(text), PIECE):
        said.add(text[start : start + PIECE])
        on_delta(said)
        await asyncio.sleep(0)
    for index, call in enumerate(calls):
        wanted = CallDelta(index, call.name)
        if len(call.arguments) <= PIECE:
            continue  # it is whole at once, so nobody could watch it grow
        for start in range(0, len(call.arguments), PIECE):
            wanted.add(call.arguments[start : start + PIECE])
            on_delta(wanted)
            await asyncio.sleep(0)


def _usage(transcript: Transcript, text: str, calls: Sequence[CallWish]) -> TokenUsage:
    """About four characters a token, so that budgets and reports have something to show offline."""
    said = len(text) + sum(len(call.arguments) for call in calls)
    return TokenUsage(input_tokens=len(transcript.system) // 4, output_tokens=(said + 3) // 4)


def _known(transcript: Transcript) -> dict[str, Any]:
    trigger = transcript.trigger
    return {
        "trigger": {
            "kind": trigger.kind,
            "text": trigger.text,
            "messageId": trigger.message_id,
            "spaceId": trigger.space_id,
            "attachments": list(trigger.attachments),
        },
        "results": transcript.results,
    }


def _arguments(args: dict[str, Any] | str, known: Mapping[str, Any]) -> str:
    return fill(args, known) if isinstance(args, str) else orjson.dumps(_filled(args, known)).decode()


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return fill(value, known)
    if isinstance(value, dict):
        return {key: _filled(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, known) for inner in value]
    return value


def fill(text: str, known: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda match: _text(_look_up(match[1], known)), text) if "{{" in text else text


def _look_up(path: str, known: Mapping[str, Any]) -> Any:
    value: Any = known
    for part in _PART.findall(path):
        try:
            value = value[int(part[1:-1])] if part.startswith("[") else value[part]
        except (KeyError, IndexError, TypeError):
            return ""
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
