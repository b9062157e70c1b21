"""What a model is shown and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it: the very schema its arguments are checked against."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallWish:
    """A tool call the model asks for. `arguments` is the text it wrote, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserTurn:
    text: str


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    text: str
    calls: Sequence[CallWish] = ()


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The result of one call, rendered: `content` is what the provider's tool-result block holds."""

    call_id: str
    tool: str
    content: list[dict[str, str]]
    is_error: bool


Turn: TypeAlias = UserTurn | AssistantTurn | ToolTurn


@dataclass(frozen=True, slots=True)
class TriggerView:
    """The newest inbox item of the run, for scripts and traces."""

    kind: str
    text: str = ""
    message_id: str = ""
    space_id: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    system: str
    turns: Sequence[Turn]
    trigger: TriggerView
    # This run's own story so far: how many answers it got from the model, and the bare results of its calls.
    steps: int = 0
    results: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """All of the text so far."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """All of one call's arguments so far."""

    index: int
    name: str
    arguments: str


Delta: TypeAlias = TextDelta | CallDelta
OnDelta: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: Sequence[CallWish] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)


class Model(Protocol):
    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        """One answer. `on_delta` sees it grow, if given; nothing is acted on before the whole is there.

        Raises ModelUnavailable (worth asking again) or ModelRefused (not).
        """
