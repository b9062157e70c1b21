"""What a model is shown and what it answers, whoever provides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

from bullpen.wire.nouns import VariableDefinition

if TYPE_CHECKING:
    from bullpen.net.client import Egress
    from bullpen.variables.actions import Vault
    from bullpen.variables.types import Value


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
class Attachment:
    """A picture or a document as it goes to a model that takes such things. `data` is base64."""

    name: str
    type: str  # image/png, application/pdf, …
    data: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserTurn:
    text: str
    attachments: Sequence[Attachment] = ()
    # The next run will be shown the very same up to and including this, so that a provider may as well remember it.
    stable: bool = False


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought before it spoke, as its provider wants it back: signed or sealed, and never changed.

    Only the model that thought it can read it. `text_before` and `calls_before` say where in the answer it stood.
    """

    provider: str
    model: str
    block: Mapping[str, Any]
    text_before: int = 0  # characters
    calls_before: int = 0
    bound: str = ""  # a digest of all that stood before it, if its provider wants it back behind just that


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    text: str
    calls: Sequence[CallWish] = ()
    thinking: Sequence[Thinking] = ()


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The result of one call, rendered: `content` is what the provider's tool-result block holds."""

    call_id: str
    tool: str
    content: list[dict[str, str]]
    is_error: bool
    attachments: Sequence[Attachment] = ()


Turn: TypeAlias = UserTurn | AssistantTurn | ToolTurn


@dataclass(frozen=True, slots=True)
class TriggerView:
    """The newest inbox item of the run, for scripts and traces."""

    kind: str
    text: str = ""
    message_id: str = ""
    space_id: str = ""
    attachments: Sequence[Mapping[str, Any]] = ()  # what it shows


@dataclass(frozen=True, slots=True)
class Transcript:
    system: str
    turns: Sequence[Turn]
    trigger: TriggerView
    # This run's own story so far: how many answers it got from the model, and the bare results of its calls.
    steps: int = 0
    results: Sequence[Any] = ()


class _Growing:
    """A text that comes in pieces. They are joined when somebody looks, so a piece costs the same at any length."""

    __slots__ = ("_pieces",)

    def __init__(self, text: str = "") -> None:
        self._pieces = [text]

    def add(self, piece: str) -> None:
        if not isinstance(piece, str):
            raise TypeError("a piece of a text is no text")
        self._pieces.append(piece)

    @property
    def so_far(self) -> str:
        if len(self._pieces) > 1:
            self._pieces[:] = ("".join(self._pieces),)
        return self._pieces[0]


class TextDelta(_Growing):
    """The text of an answer. The same object is shown again whenever it has grown."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return self.so_far


class CallDelta(_Growing):
    """The arguments of one call. The same object is shown again whenever they have grown."""

    __slots__ = ("index", "name")

    def __init__(self, index: int, name: str, arguments: str = "") -> None:
        super().__init__(arguments)
        if not isinstance(name, str):
            raise TypeError("the name of a tool is no text")
        self.index = index
        self.name = name

    @property
    def arguments(self) -> str:
        return self.so_far


class Discarded:
    """What has been shown of the answer does not count: another one begins."""

    __slots__ = ()

    @property
    def so_far(self) -> str:
        return ""


Delta: TypeAlias = TextDelta | CallDelta | Discarded
OnDelta: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    input_tokens: int = 0  # all of them
    output_tokens: int = 0  # thinking included
    cached_tokens: int = 0  # of the input: read from the provider's cache
    cost: float = 0.0
    written_tokens: int = 0  # of the input: written to the provider's cache

    @classmethod
    def counted(cls, input: Any, output: Any, cached: Any = 0, written: Any = 0) -> TokenUsage:
        """Out of what a server says, which may be anything."""
        counts = [n if isinstance(n, int) and 0 <= n <= 1 << 40 else 0 for n in (input, output, cached, written)]
        return cls(counts[0], counts[1], counts[2], written_tokens=counts[3])


# `length`: the answer reached the most tokens it may have. What it wanted to do was cut off, so it wants nothing.
Stop: TypeAlias = Literal["end", "length"]


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: Sequence[CallWish] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop: Stop = "end"
    thinking: Sequence[Thinking] = ()
    model: str = ""  # who answered, as `provider:name`; '' if that is who was asked


class Model(Protocol):
    async def ask(self, transcript: Transcript, tools: Sequence[ToolSpec], on_delta: OnDelta | None = None) -> Reply:
        """One answer. `on_delta` sees it grow, if given; nothing is acted on before the whole is there.

        Raises ModelUnavailable (worth asking again) or ModelRefused (not).
        """


def takes_pictures(model: Model) -> bool:
    """Is it worth while to show it some? One that says nothing about it takes none."""
    return bool(getattr(model, "takes_pictures", False))


class NeedsValues(Model, Protocol):
    """A model that must be given the values of variables before it can be asked: its key."""

    @property
    def variables(self) -> Sequence[VariableDefinition]: ...

    def given(self, values: Mapping[str, Value]) -> Self:
        """The same model with these values. They stay sealed until a request is written."""


def needs_values(model: Model) -> TypeGuard[NeedsValues]:
    """Asked before every question to a model, where `isinstance` with a protocol takes longer than a query does."""
    return hasattr(model, "variables") and hasattr(model, "given")


@runtime_checkable
class ShowsRequest(Protocol):
    """A model that can show what it would send."""

    def request(self, transcript: Transcript, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        """What `ask` sends, without the key."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a model elsewhere is reached with: the way out, what opens keys, and the operator's own base URLs."""

    egress: Callable[[], Egress]
    vault: Vault
    base_urls: Mapping[str, str] = field(default_factory=dict)  # by the name of the provider
