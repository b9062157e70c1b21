"""A run and its journal, as the server keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bullpen.events.types import Audience
from bullpen.tools.types import Streamed
from bullpen.wire.nouns import Outcome, RunMessageType, RunStatus, StopReason


@dataclass(frozen=True, slots=True)
class Mark:
    """Something is done for a call that could kill the process. Whoever finds this knows that it has."""

    call_id: str
    owner: str | None  # the process that does it; None: found, and not tried again yet
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of an answer that is not kept yet. Its `tool.started` is committed, or is about to be."""

    call_id: str
    tool_name: str
    told_in: str | None = None  # the space whose people were told; None: only owners


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """The same once the answer is whole, with what people saw of it."""

    call: OpenCall
    words_in: str | None = None  # the space in which its words were shown


@dataclass(frozen=True)  # no slots: copies are many, and cheaper without (replacing.py)
class Run:
    """A row of `runs`. Passes make a changed copy and write it; nothing is changed in place."""

    id: str
    thread_id: str
    agent_id: str
    space_id: str | None
    status: RunStatus
    outcome: Outcome | None
    stop_reason: StopReason | None
    silence_reason: str | None
    error: str | None
    cause_kind: str
    cause_id: str
    grants: str
    trigger: dict[str, Any]
    payload: dict[str, Any]
    chain_id: str
    depth: int
    addressed: bool
    corrected: bool
    cancel_requested: bool
    ordinal: int
    step: int
    position: int
    message_ids: tuple[str, ...]
    acts: frozenset[str]
    active_ms: int
    window_seq: int
    prompt_hash: str | None
    summary: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    started_at: str
    finished_at: str | None
    retry_at: int | None = None  # its provider is not there: when it is asked again, in milliseconds
    retries: int = 0  # how often it has waited for that
    outside: tuple[str, ...] = ()  # where text came from that it has read, if from outside the office
    paused_reason: str | None = None  # it is put aside: which budget is used up
    seen_in: tuple[str, ...] = ()  # whose text of this office it was shown: see tools/outward.py
    unpriced: int = 0  # steps that were answered by models without a price
    mark: Mark | None = None  # every commit of the run takes it away
    retry_of: str | None = None  # the run that it does once more
    stopped_by: str | None = None  # who wanted it to end
    streamed: tuple[OpenCall, ...] = ()  # calls that the model is writing; kept or ended before it is asked again


@dataclass(frozen=True)  # as above
class Entry:
    """A row of the journal."""

    id: str
    run_id: str
    position: int
    step: int
    type: RunMessageType
    at: str
    token: int = 0
    call_id: str | None = None
    provider_call_id: str | None = None
    tool_name: str | None = None
    args: str | None = None  # what the model wrote
    result: str | None = None  # JSON
    is_error: bool | None = None
    content: str | None = None
    started: bool = False
    outside: str | None = None  # JSON: where a result came from, if that is outside the office
    usage: str | None = None  # JSON, of an answer: see runs/steps.py
    streamed: Streamed | None = None  # of a call: who saw it while the model wrote it
    shows: str | None = None  # SHA-256 of a picture that belongs to a result, which says where it is


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where the events of a call belong, and whether everybody in that space may see the call."""

    space_id: str | None
    agent_id: str
    run_id: str
    visible: bool

    @property
    def audience(self) -> Audience:
        return "space" if self.visible else "owners"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is told of a finished run in later ones."""

    text: str
    outside: tuple[str, ...]  # what the run had read from outside the office
    run_id: str


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A finished run whose journal may be shown in later ones."""

    id: str
    ordinal: int
    outside: tuple[str, ...]  # as above


@dataclass(frozen=True, slots=True)
class Concerned:
    """Where a run was and for whom it worked: whose secrets may be in its words."""

    thread_id: str
    agent_id: str
    space_id: str | None
    cause_kind: str
    cause_id: str


@dataclass(frozen=True)  # as above
class WindowMessage:
    """A message of a space, as a run is shown it."""

    seq: int
    id: str
    author_id: str
    author_kind: str
    type: str
    text: str
    created_at: str
    deleted_at: str | None
    files: int = 0  # how many it shows
    metadata: dict[str, Any] = field(default_factory=dict)  # of a card: what is kept to be read (wire/cards.py)
    run_id: str | None = None
    status: str = "complete"
    edited_at: str | None = None


@dataclass(frozen=True, slots=True)
class MessageState:
    """What became of a message that a run was told of."""

    id: str
    space_id: str
    text: str
    edited_at: str | None
    deleted_at: str | None
