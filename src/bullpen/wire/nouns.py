"""The nouns as they go over the wire. See docs/glossary.md for what each means."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

AuthorKind = Literal["person", "agent", "system"]
MemberKind = Literal["person", "agent"]
MessageType = Literal["text", "tool", "file", "voice", "system"]
MessageStatus = Literal["streaming", "requires_action", "complete", "error", "expired", "cancelled"]
SpaceKind = Literal["channel", "dm", "group"]
WakePolicy = Literal["all", "mention", "trigger", "none"]
ThreadScope = Literal["space", "agent", "fresh", "child"]
AgentState = Literal["idle", "queued", "running", "waiting", "paused"]
RunStatus = Literal["queued", "thinking", "acting", "waiting", "completed", "failed", "cancelled"]
Outcome = Literal["spoke", "reacted", "acted", "silent", "unsent_text"]
StopReason = Literal[
    "done",  # the model had nothing more to do
    "skipped",  # the agent called skip
    "max_steps",
    "max_seconds",
    "max_cost",
    "cancelled",
    "model_unavailable",
    "model_refused",
    "agent_deleted",
    "broken",  # our bug; the error says more
]
RunMessageType = Literal["user_message", "assistant_message", "tool_call_message", "tool_return_message"]
InboxKind = Literal["message", "tool_result", "task", "skill", "subagent", "trigger", "expired"]
Role = Literal["member", "admin", "owner"]


class Wire(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class Wake(Wire):
    """Who wakes the agents of a space: for what people say, and for what agents say."""

    people: WakePolicy
    agents: WakePolicy


class Member(Wire):
    id: str
    kind: MemberKind
    name: str
    joined_at: str


class Space(Wire):
    id: str
    kind: SpaceKind
    name: str
    private: bool = False
    members: list[str] = Field(default_factory=list)
    member_details: list[Member] = Field(default_factory=list)
    wake: Wake
    trigger: str | None = None
    main: bool = False
    folder: str | None = None
    provider: str | None = None
    model: Any = None
    timezone: str | None = None
    bridge: str | None = None
    last_seq: int = 0
    read_seq: int = 0
    unread: int = 0
    mentions: int = 0
    created_at: str


class Reaction(Wire):
    emoji: str
    member_ids: list[str]


class Message(Wire):
    id: str
    space_id: str
    seq: int
    author_id: str
    author_kind: AuthorKind
    type: MessageType = "text"
    text: str = ""
    status: MessageStatus = "complete"
    reply_to: str | None = None
    attachments: list[Any] = Field(default_factory=list)
    reactions: list[Reaction] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    client_message_id: str | None = None
    run_id: str | None = None
    depth: int = 0
    created_at: str
    edited_at: str | None = None
    deleted_at: str | None = None


class Limits(Wire):
    max_steps: int = Field(default=20, ge=1, le=1000)
    max_messages: int = Field(default=5, ge=0, le=1000)
    max_chain_depth: int | None = Field(default=None, ge=0, le=100)
    max_seconds: float = Field(default=600, gt=0, le=86_400)
    max_cost_per_day: float | None = Field(default=None, ge=0)


class Agent(Wire):
    id: str
    name: str
    description: str = ""
    instructions: str = ""
    model: Any
    tools: list[str] = Field(default_factory=list)
    scope: Literal["space", "agent"] = "space"
    auto_enter: bool = True
    limits: Limits = Field(default_factory=Limits)
    on_unsent_text: Literal["drop", "deliver"] = "drop"
    avatar: str | None = None
    blocks: dict[str, str] | None = None  # where memory is asked for together with the agent
    state: AgentState = "idle"
    waiting_for: list[str] = Field(default_factory=list)
    cost_today: float = 0.0
    created_at: str
    updated_at: str


class Usage(Wire):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0


class Trigger(Wire):
    """What woke the run: the newest inbox item it drained, and how many there were."""

    kind: InboxKind
    message_id: str | None = None
    space_id: str | None = None
    author_id: str | None = None
    items: int = 1


class Run(Wire):
    id: str
    agent_id: str
    thread_id: str
    space_id: str | None = None
    trigger: Trigger
    depth: int = 0
    status: RunStatus
    outcome: Outcome | None = None
    stop_reason: StopReason | None = None
    silence_reason: str | None = None
    message_ids: list[str] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)
    error: str | None = None
    started_at: str
    finished_at: str | None = None


class RunMessage(Wire):
    id: str
    run_id: str
    step: int
    type: RunMessageType
    call_id: str | None = None
    tool_name: str | None = None
    args: Any = None
    result: Any = None
    is_error: bool | None = None
    content: str | None = None
    at: str


class NewToken(Wire):
    """The only answer that ever holds a token's value."""

    id: str
    token: str


class Person(Wire):
    id: str
    name: str
    role: Role
    created_at: str


class Me(Wire):
    id: str
    kind: Literal["person", "agent", "tools"]
    name: str
    grants: list[str]


class InboxItem(Wire):
    id: str
    thread_id: str
    kind: InboxKind
    space_id: str | None = None
    depth: int = 0
    payload: dict[str, Any]
    created_at: str


class Woken(Wire):
    item_id: str


class Block(Wire):
    label: str
    content: str
    updated_at: str | None = None


class Passage(Wire):
    id: str
    content: str
    tags: list[str]
    metadata: dict[str, Any]
    created_at: str
    score: float | None = None


class Span(Wire):
    span_id: str
    parent_id: str | None = None
    name: str
    started_at: str
    finished_at: str | None = None
    attributes: dict[str, Any]


class Trace(Wire):
    spans: list[Span]


class Change(Wire):
    id: str
    change: Literal["created", "updated", "unchanged"]


class Applied(Wire):
    agents: list[Change]
    spaces: list[Change]


class Problem(Wire):
    """What is wrong: a code for machines, a sentence for people, and which fields."""

    code: str
    message: str
    fields: dict[str, str]


class Refusal(Wire):
    """The one shape of every answer that is not what was asked for."""

    error: Problem


class Token(Wire):
    """A token as it is listed: never its value, which is shown once."""

    id: str
    name: str
    kind: Literal["owner", "person", "agent", "tools"]
    person_id: str | None = None
    agent_id: str | None = None
    tools: list[str] | None = None
    created_at: str
