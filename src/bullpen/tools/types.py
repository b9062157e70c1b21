"""A tool, what it is given, and every way a call can end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import orjson
from pydantic import BaseModel

from bullpen.access.types import Grant
from bullpen.errors import Broken
from bullpen.llm.types import ToolSpec
from bullpen.storage import Transaction
from bullpen.wire import Agent, Limits

# What becomes of a call that was under way at a crash: see docs/internals/tools.md.
Effect = Literal["tx", "pure", "idempotent", "once"]
# What a successful call makes of its run; None: it only looked, or chose silence.
Act = Literal["spoke", "reacted", "acted", "silence"]

DEFAULT_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    function: Callable[..., Awaitable[Any]]
    parameters: type[BaseModel]
    input_schema: dict[str, Any]
    # Every spelling of an argument that is accepted, and the field it means.
    spellings: Mapping[str, str]
    effect: Effect = "once"
    act: Act | None = "acted"
    visible: bool = False
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    # Arguments that name what the call changes (left out: the space it is in); such calls take turns.
    changes: tuple[str, ...] = ()
    # The right it takes, which the run must hold. None: it touches nothing that is anybody else's.
    grant: Grant | None = None
    spec: ToolSpec = field(init=False)  # made once: every question to a model shows it

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", ToolSpec(self.name, self.description, self.input_schema))


@dataclass(frozen=True, slots=True)
class RunView:
    """What a tool may know of the run it is called in. Identity is bound here, never taken from arguments."""

    id: str
    thread_id: str
    agent: Agent
    grants: str
    cause_kind: str
    cause_id: str
    depth: int
    chain_id: str
    message_count: int
    limits: Limits
    chain_limit: int
    group_wait_ms: int
    agents_per_minute: int = 0  # how much the agents of a space may say together; 0: as much as they like


@dataclass(slots=True)
class Effects:
    """What a call did to its run, kept in the same transaction as the call's result."""

    message_id: str | None = None
    end_run: bool = False
    moved: bool = False  # the agent is in `space_id` now, or in no space
    space_id: str | None = None
    silence_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Means:
    """What the office lends to its tools, besides the transaction."""


@dataclass(slots=True)
class ToolContext:
    """Handed to a tool's function. A `tx` tool changes the world through `tx`, and through nothing else."""

    transaction: Transaction | None  # only a `tx` tool runs inside one
    run: RunView
    call_id: str
    space_id: str | None
    means: Means
    effects: Effects = field(default_factory=Effects)

    @property
    def tx(self) -> Transaction:
        if self.transaction is None:
            raise Broken("Only a tool whose effect is `tx` may use the transaction.")
        return self.transaction

    @property
    def agent(self) -> Agent:
        return self.run.agent


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the journal holds it: `arguments` is what the model wrote."""

    id: str
    tool: str
    arguments: str
    started: bool = False

    @property
    def shown(self) -> Any:
        """The arguments as people see them: parsed if they are JSON, else the text."""
        try:
            return orjson.loads(self.arguments)
        except orjson.JSONDecodeError:
            return self.arguments


@dataclass(frozen=True, slots=True)
class Done:
    result: Any
    act: Act | None


@dataclass(frozen=True, slots=True)
class Failed:
    message: str


@dataclass(frozen=True, slots=True)
class Denied:
    message: str


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """The process died while an effect outside our database was under way; it may or may not have happened."""

    message: str


Outcome: TypeAlias = Done | Failed | Denied | OutcomeUnknown


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call: the bare value for the journal, and its rendering for the model."""

    call: ToolCall
    outcome: Outcome
    args: Any
    effects: Effects

    @property
    def is_error(self) -> bool:
        return not isinstance(self.outcome, Done)

    @property
    def value(self) -> Any:
        match self.outcome:
            case Done(result=result):
                return result
            case OutcomeUnknown(message=message):
                return {"error": message, "outcome": "unknown"}
            case Failed(message=message) | Denied(message=message):
                return {"error": message}


def rendered(value: Any) -> list[dict[str, str]]:
    """A result as the model reads it."""
    return [{"type": "text", "text": orjson.dumps(value).decode()}]


class Journal(Protocol):
    """Where calls and results are kept. Each method runs inside the transaction it is given."""

    async def check(self, tx: Transaction) -> None:
        """Raise Fenced unless this driver still holds the thread."""

    async def started(self, tx: Transaction, call: ToolCall, args: Any, tool: Tool) -> None: ...

    async def settled(self, tx: Transaction, result: ToolResult, tool: Tool | None) -> None: ...
